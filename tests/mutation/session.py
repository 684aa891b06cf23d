"""One pytest session that runs its tests once as they are, then in a forked process for every mutant."""

import gc
import importlib.util
import os
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest

from tests.mutation.mutants import Mutant, mutants
from tests.mutation.table import ON_IMPORT

ROOT = Path(__file__).resolve().parents[2]
_OUR_FAULT = 70
_PACKAGE = ROOT / "layers/common/redeliver"


class Mutation:
    """The plugin: tests that were collected and imported once serve all mutants."""

    def __init__(self, modules: Mapping[str, Sequence[str]], explained: str, *, on_import: bool) -> None:
        self._modules = modules
        self._on_import = on_import
        self._explained = explained
        self._took: dict[pytest.Item, float] = {}
        self._reached: dict[tuple[str, str], set[pytest.Item]] = defaultdict(set)

    def pytest_sessionstart(self) -> None:
        from hypothesis import Phase, settings  # pytest wants to be the first to import it

        # A failure is enough; its smallest example is not asked for.
        settings.register_profile("mutation", phases=[Phase.explicit, Phase.generate], database=None, derandomize=True)
        settings.load_profile("mutation")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        session.items = [item for item in session.items if "[memory" not in item.name]  # the other store's
        for item in session.items:
            self._took[item] = self._run_once(item)
        if session.testsfailed:
            raise session.Failed("the tests are not green to begin with")
        for module, only in self._modules.items():
            session.testsfailed += self._mutate(session, module, only)
        return True

    def _run_once(self, item: pytest.Item) -> float:
        """Run a test and note which functions it reaches; return the seconds it took."""

        def note(frame: FrameType, event: str, _: Any) -> None:
            if event == "call" and frame.f_code.co_filename.startswith(str(_PACKAGE)):
                self._reached[frame.f_code.co_filename, frame.f_code.co_qualname].add(item)

        began = time.monotonic()
        sys.setprofile(note)
        try:
            _run(item)
        finally:
            sys.setprofile(None)
        return time.monotonic() - began

    def _mutate(self, session: pytest.Session, module: str, only: Sequence[str]) -> int:
        path, began = _PACKAGE / f"{module}.py", time.monotonic()
        count = explained = survived = 0
        for mutant in mutants(path.read_text(), only):
            if not (mutant.function or self._on_import):
                continue
            count += 1
            if not self._survives(session, module, path, mutant):
                continue
            name = f"`{module}` {mutant.function} `{mutant.fault}`"
            known = name in self._explained
            explained, survived = explained + known, survived + (not known)
            _say(f"{'explained' if known else 'SURVIVED '} {name} in line {mutant.line}")
        _say(
            f"{module}: {count} mutants, {count - explained - survived} killed, {explained} explained, "
            f"{survived} survived, {time.monotonic() - began:.0f} s"
        )
        return survived

    def _survives(self, session: pytest.Session, module: str, path: Path, mutant: Mutant) -> bool:
        items = self._of(path, mutant.function) if mutant.function else session.items
        limit = 30 + 5 * int(sum(self._took[item] for item in items))
        child = os.fork()
        if child == 0:
            signal.alarm(limit)  # ends a mutant that never does
            code = _OUR_FAULT
            try:
                code = _tried(session, items, mutant, module, path)
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code == _OUR_FAULT:
            raise session.Failed(f"could not be tried: {mutant.fault} in line {mutant.line} of {module}")
        return code == 0

    def _of(self, path: Path, function: str) -> Sequence[pytest.Item]:
        """Return the tests that reach a function, or one inside it, the shortest first."""
        found: set[pytest.Item] = set()
        for (file, name), items in self._reached.items():
            if file == str(path) and (name == function or name.startswith(f"{function}.")):
                found |= items
        return sorted(found, key=self._took.__getitem__)


class _Loader(SourceFileLoader):
    """Gives one module with its fault, and is its own finder."""

    def __init__(self, module: str, path: Path, code: CodeType) -> None:
        super().__init__(f"redeliver.{module.replace('/', '.')}", str(path))
        self._code = code

    def get_code(self, fullname: str) -> CodeType:
        return self._code

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return importlib.util.spec_from_file_location(name, self.path, loader=self) if name == self.name else None


def _tried(session: pytest.Session, items: Sequence[pytest.Item], mutant: Mutant, module: str, path: Path) -> int:
    code: CodeType = compile(mutant.tree, str(path), "exec")
    if mutant.function:
        _exchange(code, path)
        for item in items:
            _run(item)
            if session.testsfailed:
                return 1
        return 0
    # What a module does when it is imported: all that has come of it goes, and everything is imported again.
    for name in [name for name in sys.modules if name.split(".")[0] in ("redeliver", "tests", "functions")]:
        del sys.modules[name]
    sys.meta_path.insert(0, _Loader(module, path, code))
    return int(pytest.main(["-x", "-s", "-p", "no:terminal", *ON_IMPORT[module]]))


def _exchange(code: CodeType, path: Path) -> None:
    """Give every living function of a module the code that it has in the mutant."""
    codes: dict[tuple[str, int], CodeType] = {}
    waiting = [code]
    for each in waiting:
        codes[each.co_qualname, each.co_firstlineno] = each
        waiting += [inner for inner in each.co_consts if isinstance(inner, CodeType)]
    for found in gc.get_objects():
        if isinstance(found, FunctionType) and found.__code__.co_filename == str(path):
            found.__code__ = codes[found.__code__.co_qualname, found.__code__.co_firstlineno]


def _run(item: pytest.Item) -> None:
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
