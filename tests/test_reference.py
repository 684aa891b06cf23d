"""The documents of the channels are what the code says, and the schema agrees with how documents are read."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from infra.reference import GUIDE, SCHEMA, guide, marked, schema, schema_text
from redeliver.channels import TYPES
from redeliver.channels.document import COMMON, InvalidDocument, read_document
from tests.contract.channel_cases import all_described

RENEW = "run `python -m infra.reference`"
WHOLE = schema()
VALID = {
    f"{name} {look}".strip(): each.document("https://example.com", **changes)
    for name, each in all_described().items()
    for look, changes in each.looks.items()
}
# Spoiled values that no rule takes, for every field of every type.
NEVER: tuple[Any, ...] = ({"a": {}}, [[]], 1.5, "\x00")
SPOILED = {
    f"{name}: {field} = {value!r}": {**document, field: value}
    for name, document in VALID.items()
    for field in (*TYPES[document["type"]].fields, *COMMON)
    for value in NEVER
}
MISSING = {
    f"{name} without {field}": {other: value for other, value in document.items() if other != field}
    for name, document in VALID.items()
    for field in document
}


def test_the_guide_is_current() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    assert guide(text) == text, RENEW


@pytest.mark.parametrize("type_", TYPES)
def test_the_guide_has_a_section_of_each_type(type_: str) -> None:
    text = GUIDE.read_text(encoding="utf-8")
    assert f"\n## {type_}\n" in text
    assert type_ in marked(text), f"<!-- answers: {type_} --> and <!-- end --> are missing"


@pytest.mark.parametrize("type_", TYPES)
def test_the_guide_names_every_field(type_: str) -> None:
    section = GUIDE.read_text(encoding="utf-8").partition(f"\n## {type_}\n")[2].partition("\n## ")[0]
    assert [field for field in TYPES[type_].fields if f"`{field}`" not in section] == []


def test_the_schema_is_current() -> None:
    assert SCHEMA.read_text(encoding="utf-8") == schema_text(), RENEW


def reads(document: object) -> bool:
    try:
        read_document(document, TYPES)
    except InvalidDocument:
        return False
    return True


def agrees(document: dict[str, Any]) -> bool:
    return fits(document, WHOLE) == reads(document)


@pytest.mark.parametrize("document", VALID.values(), ids=VALID)
def test_valid_documents(document: dict[str, Any]) -> None:
    assert reads(document)
    assert fits(document, WHOLE)


@pytest.mark.parametrize("document", SPOILED.values(), ids=SPOILED)
def test_spoiled_documents(document: dict[str, Any]) -> None:
    assert agrees(document)


@pytest.mark.parametrize("document", MISSING.values(), ids=MISSING)
def test_a_missing_field(document: dict[str, Any]) -> None:
    assert agrees(document)


@pytest.mark.parametrize("name", VALID)
def test_what_all_have_in_common(name: str) -> None:
    document = VALID[name]
    for changes in (
        {"mode": "digest", "digest_seconds": 86_400, "enabled": True},
        {"digest_seconds": 86_401},
        {"digest_seconds": True},
        {"mode": "weekly"},
        {"mode": "digest"},
        {"mode": None, "digest_seconds": ""},
        {"unknown": 1},
        {"allow_private_network": False},
        {"allow_private_network": "yes"},
        {"type": "pigeon"},
        {"type": None},
    ):
        assert agrees({**document, **changes}), changes


EXAMPLES: Mapping[str, dict[str, Any]] = {
    "plain http": {"type": "webhook", "url": "http://example.com"},
    "plain http, private": {"type": "webhook", "url": "http://example.com", "allow_private_network": True},
    "user and password": {"type": "webhook", "url": "https://me:pw@example.com"},
    "capitals": {"type": "webhook", "url": " HTTPS://example.com?x "},
    "a secret": {"type": "webhook", "url": "https://example.com", "secret": f"whsec_{'A' * 32}"},
    "63 bytes": {"type": "webhook", "url": "https://example.com", "secret": f"whsec_{'A' * 84}"},
    "64 bytes": {"type": "webhook", "url": "https://example.com", "secret": f"whsec_{'A' * 84}AA=="},
    "65 bytes": {"type": "webhook", "url": "https://example.com", "secret": f"whsec_{'A' * 84}AAA="},
    "25 bytes": {"type": "webhook", "url": "https://example.com", "secret": f"whsec_{'A' * 32}AA=="},
    "23 bytes": {"type": "webhook", "url": "https://example.com", "secret": f"whsec_{'A' * 28}AAA="},
    "two": {"type": "webhook", "url": "https://example.com", "secret": [f"whsec_{'A' * 32}", f"whsec_{'B' * 32}"]},
    "five": {"type": "webhook", "url": "https://example.com", "secret": [f"whsec_{'A' * 32}"] * 5},
    "headers": {"type": "webhook", "url": "https://example.com", "headers": {"X-A": "b", "content-typ": "c"}},
    "ours": {"type": "webhook", "url": "https://example.com", "headers": {"Content-Type": "c"}},
    "bad name": {"type": "webhook", "url": "https://example.com", "headers": {"X A": "b"}},
    "bad value": {"type": "webhook", "url": "https://example.com", "headers": {"X-A": "é"}},
    "chat number": {"type": "telegram", "bot_token": "123:abcdefgh", "chat_id": -100},
    "chat flag": {"type": "telegram", "bot_token": "123:abcdefgh", "chat_id": True},
}


@pytest.mark.parametrize("document", EXAMPLES.values(), ids=EXAMPLES)
def test_examples(document: dict[str, Any]) -> None:
    assert agrees(document)


TYPE_NAMES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "null": (type(None),),
}


def fits(value: Any, rule: Mapping[str, Any]) -> bool:
    """Tell whether a value is valid: as much of JSON Schema as ours uses, and it fails on more."""
    known = {name: check for name, check in CHECKS.items() if name in rule}
    assert set(rule) <= {*CHECKS, "$schema", "$defs", "title", "description", "default", "then", "else"}
    return all(check(value, rule) for check in known.values())


def of_type(value: Any, rule: Mapping[str, Any]) -> bool:
    return isinstance(value, TYPE_NAMES[rule["type"]]) and not (isinstance(value, bool) and rule["type"] == "integer")


def members(value: Any, rule: Mapping[str, Any]) -> bool:
    known = rule.get("properties", {})
    others = rule.get("additionalProperties", True)
    return not isinstance(value, dict) or all(
        fits(each, known[name]) if name in known else (others is True or (others is not False and fits(each, others)))
        for name, each in value.items()
    )


def same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


CHECKS: Mapping[str, Callable[[Any, Mapping[str, Any]], bool]] = {
    "type": of_type,
    "enum": lambda value, rule: any(same(value, each) for each in rule["enum"]),
    "const": lambda value, rule: same(value, rule["const"]),
    "pattern": lambda value, rule: not isinstance(value, str) or bool(re.search(rule["pattern"], value, re.ASCII)),
    "minimum": lambda value, rule: not isinstance(value, int) or value >= rule["minimum"],
    "maximum": lambda value, rule: not isinstance(value, int) or value <= rule["maximum"],
    "minItems": lambda value, rule: not isinstance(value, list) or len(value) >= rule["minItems"],
    "maxItems": lambda value, rule: not isinstance(value, list) or len(value) <= rule["maxItems"],
    "items": lambda value, rule: not isinstance(value, list) or all(fits(each, rule["items"]) for each in value),
    "required": lambda value, rule: not isinstance(value, dict) or set(rule["required"]) <= set(value),
    "properties": members,
    "additionalProperties": members,
    "propertyNames": lambda value, rule: all(fits(each, rule["propertyNames"]) for each in value),
    "anyOf": lambda value, rule: any(fits(value, each) for each in rule["anyOf"]),
    "allOf": lambda value, rule: all(fits(value, each) for each in rule["allOf"]),
    "if": lambda value, rule: fits(value, rule.get("then" if fits(value, rule["if"]) else "else", {})),
    "$ref": lambda value, rule: fits(value, WHOLE["$defs"][rule["$ref"].rpartition("/")[2]]),
}
