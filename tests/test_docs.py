"""Every JSON and every command in the documents: what is said there can be typed."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from botocore.validate import ParamValidator

from redeliver.channels import TYPES
from redeliver.channels.document import read_document
from redeliver.core.request import parse
from redeliver.retain import parse_finding
from tests.builders import NOW

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?:^    .*\n)+", re.MULTILINE)
# Secrets that the guide shows by their beginning.
FILLED = {
    "123456789:AA…": "123456789:AAxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "xoxb-…": "xoxb-123456789012-abcdef",
    "https://discord.com/api/webhooks/…/…": "https://discord.com/api/webhooks/123456789012345678/abcdef",
    "A…": "AbCdEfGhIjKlMnO",
    "whsec_…": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
}
SESSION = botocore.session.get_session()


def blocks(*languages: str) -> Iterator[tuple[str, str]]:
    """Return the blocks of some languages, each with where it is."""
    for path in DOCUMENTS:
        text = path.read_text(encoding="utf-8")
        for found in BLOCK.finditer(text):
            if found[1] in languages:
                yield f"{path.relative_to(ROOT)}:{text[: found.start()].count(chr(10)) + 1}", found[2]


def documents_in_the_guide() -> Iterator[tuple[str, str]]:
    """Return the indented JSON objects of the guide to the channels, each with its line."""
    text = (ROOT / "docs" / "channels.md").read_text(encoding="utf-8")
    for found in INDENTED.finditer(text):
        line = text[: found.start()].count("\n") + 1
        yield from ((f"channels.md:{line}", each) for each in _objects(found[0]))


def _objects(text: str) -> Iterator[str]:
    """Return the JSON objects in a text, one after the other."""
    decoder, at = json.JSONDecoder(), text.find("{")
    while at != -1:
        try:
            _, end = decoder.raw_decode(text, at)
        except ValueError:
            end = at + 1
        else:
            yield text[at:end]
        at = text.find("{", end)


def commands() -> Iterator[tuple[str, list[str]]]:
    """Return the commands of the documents, word by word; what is in <> stands for a name."""
    for where, block in blocks("sh"):
        joined = re.sub(r"\\\n\s*", " ", re.sub(r"(^|\s)#.*$", "", block, flags=re.MULTILINE))
        for line in _lines(joined):
            for part in re.split(r"\s+&&\s+|\s+\|\s+", line):
                words = shlex.split(re.sub(r"<(\w+)>", r"\1", part), comments=True)
                if words:
                    yield where, words


def _lines(text: str) -> Iterator[str]:
    """Return the lines of a shell's text; one goes on while a quote is open."""
    held = ""
    for line in text.splitlines():
        held = f"{held}\n{line}" if held else line
        if held.count("'") % 2 == 0:
            yield held
            held = ""


ALL = list(commands())


def of(program: str) -> list[Any]:
    """Return the commands of a program as a test's parameters."""
    return [pytest.param(words, id=f"{where} {' '.join(words[1:3])}") for where, words in ALL if words[0] == program]


@pytest.mark.parametrize(("where", "text"), list(blocks("json")), ids=lambda value: value if ".md" in value else "")
def test_json_is_json(where: str, text: str) -> None:
    values = [json.loads(line) for line in text.splitlines()] if where.startswith("lines") else [json.loads(text)]
    for value in values:
        if isinstance(value, dict) and {"channel", "dedup_key", "kind"} <= value.keys():
            parse(value)


@pytest.mark.parametrize("text", [text for _, text in documents_in_the_guide()])
def test_what_the_guide_to_the_channels_shows_is_valid(text: str) -> None:
    value = json.loads(text)
    if value.get("type") in TYPES:
        filled = {name: FILLED.get(str(given), given) for name, given in value.items()}
        read_document(filled, TYPES)
    elif {"channel", "dedup_key"} <= value.keys():
        parse(value)


@pytest.mark.parametrize("words", of("make"))
def test_make_has_the_target(words: list[str]) -> None:
    targets = re.findall(r"^([a-z-]+):.*?## ", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert {word for word in words[1:] if "=" not in word} <= set(targets)


@pytest.mark.parametrize("words", of("aws"))
def test_aws_has_the_operation_and_takes_its_arguments(words: list[str]) -> None:
    """As the AWS command line does it: options are an operation's parameters, JSON where they are structures."""
    model = SESSION.get_service_model(words[1])
    operations = {_kebab(name): name for name in model.operation_names}
    shape = model.operation_model(operations[words[2]]).input_shape
    assert shape is not None
    members = {_kebab(name): (name, member) for name, member in shape.members.items()}
    params = {}
    for option, value in _options(words[3:]):
        if option in ("query", "output", "cli-binary-format"):
            continue
        name, member = members[option.removeprefix("no-")] if option not in members else members[option]
        params[name] = _value(value, member.type_name)
    report = ParamValidator().validate(params, shape)
    assert not report.has_errors(), report.generate_report()


def _options(words: list[str]) -> Iterator[tuple[str, str | None]]:
    at = 0
    while at < len(words):
        if not words[at].startswith("--"):
            at += 1  # the file that `lambda invoke` writes to
            continue
        has_value = at + 1 < len(words) and not words[at + 1].startswith("--")
        yield words[at][2:], words[at + 1] if has_value else None
        at += 2 if has_value else 1


def _value(text: str | None, kind: str) -> Any:
    if kind == "boolean":
        return True
    assert text is not None
    if kind == "list" and not text.startswith("["):
        return [text]
    if kind in ("structure", "map", "list"):
        return json.loads(text)
    if kind in ("integer", "long"):
        return int(text)
    return text


def _kebab(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()


def test_the_finding_in_the_readme_is_one() -> None:
    text = (ROOT / "README.md").read_text()
    (example,) = re.findall(r'`(\{"finding_id".*?\})`', text)
    parse_finding(json.loads(example.replace('"active" | "resolved" | "deleted"', '"active"')), NOW)


def test_every_link_leads_somewhere() -> None:
    broken = []
    for path in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
            if not target.startswith(("http://", "https://")) and not (path.parent / target).exists():
                broken.append(f"{path.name}: {target}")
    assert broken == []


def test_every_kind_of_command_is_looked_at() -> None:
    """Those that are looked at elsewhere: redeliver in tests/cli, sam by `make validate` and the local stack."""
    known = {"make", "pip", "aws", "redeliver", "sam", "git", "python3", "python", "export", "curl"}
    assert {words[0] for _, words in ALL} <= known
