"""Make the environments the project works in: its own, the local stack's, and SAM's; others if they are named.

They cannot share one: ministack and aws-sam-cli each pin botocore. All are made from one interpreter, because
functions built for it run on the stack's. Only the standard library is used here, in words that an old Python
still understands, so that the message about its age can be read.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = ("3.13", "3.12", "3.11")
ENVIRONMENTS = {
    "project": (ROOT / ".venv", ROOT / "requirements" / "dev.txt"),
    "stack": (ROOT / ".tools" / "stack", ROOT / "requirements" / "stack.txt"),
    "sam": (ROOT / ".tools" / "sam", ROOT / "requirements" / "sam.txt"),
    # Only `make security` needs these.
    "security": (ROOT / ".tools" / "security", ROOT / "requirements" / "security.txt"),
    "checkov": (ROOT / ".tools" / "checkov", ROOT / "requirements" / "checkov.txt"),
}
USUAL = ["project", "stack", "sam"]
# Of an active virtual environment, the interpreter it was made from.
PROBE = "import sys; import ensurepip, venv; print('%d.%d' % sys.version_info[:2], sys.base_prefix)"
NO_PYTHON = """\
No usable Python was found. redeliver needs one of {versions}, with venv and pip:
  Debian, Ubuntu:  apt-get install python3 python3-venv
  others:          python.org, Homebrew, pyenv
Name another one with PYTHON=/path/to/python3. Tried:
{tried}"""


class SetupError(Exception):
    """What a person has to put right first."""


def main(names: list[str]) -> int:
    """Bring environments up to date, at once, and say what was done."""
    try:
        with _one_at_a_time():
            python, version = choose_interpreter()
            stale = [name for name in names if not _is_fresh(name, python, version)]
            if stale:
                _say(f"making {', '.join(stale)} with Python {version} (about a minute)")
                _make_all(stale, python, version)
    except SetupError as error:
        _say(str(error))
        return 1
    return 0


def choose_interpreter() -> tuple[str, str]:
    """The interpreter's path and version: the newest supported one that really runs and can make environments.

    It is asked, not believed: a `python3.13` on PATH can be a version manager's stub that only prints an error.
    """
    tried = []
    for candidate in _candidates():
        found = _run(candidate, "-c", PROBE)
        version, _, prefix = found.stdout.strip().partition(" ")
        if found.returncode == 0 and version in VERSIONS:
            return str(Path(prefix, "bin", "python" + version)), version
        last_line = (found.stderr.strip().splitlines() or ["not supported: " + (version or "no version")])[-1]
        tried.append(f"  {candidate}: {last_line}")
    raise SetupError(NO_PYTHON.format(versions=", ".join(VERSIONS), tried="\n".join(tried)))


def _candidates() -> list[str]:
    if os.environ.get("PYTHON"):
        return [os.environ["PYTHON"]]
    found = []
    for version in VERSIONS:
        found.append("python" + version)
        prefix = _run("pyenv", "prefix", version)
        if prefix.returncode == 0:
            found.append(str(Path(prefix.stdout.strip(), "bin", "python3")))
    return [*found, "python3", sys.executable]


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        return subprocess.CompletedProcess(command, 127, "", error.strerror or str(error))


def _is_fresh(name: str, python: str, version: str) -> bool:
    stamp = ENVIRONMENTS[name][0] / "redeliver.stamp"
    return stamp.is_file() and stamp.read_text() == _fingerprint(name, python, version)


def _fingerprint(name: str, python: str, version: str) -> str:
    lock = ENVIRONMENTS[name][1].read_bytes()
    # The folder is part of it: environments hold absolute paths and break when the tree is moved.
    return hashlib.sha256(b"\0".join([lock, python.encode(), version.encode(), str(ROOT).encode()])).hexdigest()


def _make_all(names: list[str], python: str, version: str) -> None:
    errors: list[str] = []

    def make(name: str) -> None:
        try:
            _make(name, python, version)
            _say(f"{name} is ready")
        except SetupError as error:
            errors.append(str(error))

    threads = [threading.Thread(target=make, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise SetupError("\n".join(errors))


def _make(name: str, python: str, version: str) -> None:
    folder, lock = ENVIRONMENTS[name]
    bin_python = str(folder / "bin" / "python")
    # Locks are complete, so pip resolves nothing; modules are compiled when first used, which halves the time.
    pip = [bin_python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--disable-pip-version-check"]
    steps = [[python, "-m", "venv", "--clear", str(folder)], [*pip, "--requirement", str(lock)]]
    if name == "project":
        steps.append([*pip, "--no-build-isolation", "--editable", str(ROOT)])
    for step in steps:
        done = _run(*step)
        if done.returncode != 0:
            raise SetupError(f"making {name} failed at: {' '.join(step)}\n{done.stdout}{done.stderr}")
    (folder / "redeliver.stamp").write_text(_fingerprint(name, python, version))


class _one_at_a_time:
    """A lock between programs: two `make` at once must not build the same environment."""

    def __enter__(self) -> None:
        tools = ROOT / ".tools"
        tools.mkdir(exist_ok=True)
        self._file = (tools / "setup.lock").open("w")
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _say(text: str) -> None:
    sys.stderr.write(f"setup: {text}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or USUAL))
