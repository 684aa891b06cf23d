"""Every command line in the documents is one that the program takes."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from redeliver_cli.program import main

ROOT = Path(__file__).parents[2]
DOCUMENTS = ("README.md", "docs/operate.md", "docs/runbook.md")
_LINE = re.compile(r"^(?:\$ )?redeliver (.+)$")
_INLINE = re.compile(r"`redeliver\s([^`]+)`")


def typed(text: str) -> Iterator[str]:
    """Return what is typed behind `redeliver`, in blocks and in sentences."""
    for line in text.splitlines():
        if match := _LINE.match(line):
            yield match.group(1)
    yield from (" ".join(found.split()) for found in _INLINE.findall(text))


def words_of(line: str) -> list[str]:
    words = shlex.split(line.replace("…", "x"), comments=True)
    return words[: words.index("<")] if "<" in words else words


LINES = [(name, line) for name in DOCUMENTS for line in typed((ROOT / name).read_text())]


@pytest.mark.parametrize(("name", "line"), LINES, ids=str)
def test_it_is_taken(name: str, line: str) -> None:
    words = words_of(line)
    command: click.Command = main
    while words and isinstance(command, click.Group) and words[0] in command.commands:
        command = command.commands[words.pop(0)]
    assert command is not main or words == ["COMMAND", "--help"], f"{name}: no such command: {line}"
    known = {
        option for each in command.get_params(click.Context(command)) for option in (*each.opts, *each.secondary_opts)
    }
    given = {word.partition("=")[0] for word in words if word.startswith("--")}
    assert given <= known, f"{name}: {given - known}"


def test_there_are_some_and_a_wrong_one_is_found() -> None:
    assert len(LINES) > 25
    with pytest.raises(AssertionError, match="no such command"):
        test_it_is_taken("here", "stauts")
    with pytest.raises(AssertionError, match="--now"):
        test_it_is_taken("here", "status --now")
