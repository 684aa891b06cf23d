"""Files and functions stay small enough to be read at once."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LONGEST_FILE = 250
LONGEST_FUNCTION = 40
SOURCES = [path for folder in ("functions", "layers", "cli", "infra") for path in sorted((ROOT / folder).rglob("*.py"))]


def _too_long(source: str) -> Iterator[str]:
    length = len(source.splitlines())
    if length > LONGEST_FILE:
        yield f"the file has {length} lines"
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > LONGEST_FUNCTION:
                yield f"{node.name} in line {node.lineno} has {length} lines"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_is_short_enough(path: Path) -> None:
    assert not list(_too_long(path.read_text()))


def test_what_is_too_long_is_found() -> None:
    long_function = "def f():\n" + "    x = 1\n" * LONGEST_FUNCTION
    assert list(_too_long(long_function)) == [f"f in line 1 has {LONGEST_FUNCTION + 1} lines"]
    assert list(_too_long("x = 1\n" * (LONGEST_FILE + 1))) == [f"the file has {LONGEST_FILE + 1} lines"]
    assert not list(_too_long("x = 1\n" * LONGEST_FILE))
