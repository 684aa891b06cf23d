import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redeliver.core.request import InvalidRequest, identifier, parse
from tests.builders import at, raw, request

NOT_STRINGS = [5, True, ["x"], {"a": 1}]
SURROGATE = "a\ud800"
BAD: list[tuple[str, Any, str]] = [
    *[(field, value, "must be a string") for field in raw() for value in NOT_STRINGS],
    *[
        (field, value, "must be a string")
        for field in ("recipient", "finding_id", "suppress", "deliver_by")
        for value in NOT_STRINGS
    ],
    *[(field, None, "is required") for field in raw()],
    *[(field, ..., "is required") for field in raw()],
    *[(field, SURROGATE, "surrogate") for field in (*raw(), "recipient", "finding_id", "suppress", "deliver_by")],
    *[
        ("channel", value, "1 to 64 of A-Z a-z 0-9 _ . -")
        for value in ("", "a" * 65, "a b", "a/b", "a#0", "ä", "a\n", "٣")
    ],
    *[("kind", value, "1 to 64 of a-z 0-9 _ . -") for value in ("", "a" * 65, "Upper", "a b", "é", "a\n")],
    *[
        (field, value, "1 to 1024 bytes")
        for field in ("dedup_key", "finding_id")
        for value in ("", "a" * 1025, "é" * 513)
    ],
    *[("subject", value, "1 to 1024 bytes") for value in ("", "x" * 1025)],
    *[("subject", f"two{sep}lines", "one line") for sep in ("\n", "\r", "\x00", "\x85", "\u2028", "\u2029", "\x7f")],
    ("body", "x" * (64 * 1024 + 1), "0 to 65536 bytes"),
    ("recipient", "", "1 to 256 bytes"),
    ("recipient", "x" * 257, "1 to 256 bytes"),
    ("recipient", "https://evil.example/x", "never a URL"),
    ("recipient", "a\nb", "one line"),
    ("suppress", "", "1 to 1024 bytes"),
    ("suppress", "a\nb", "one line"),
    ("payload", {"x": "y" * 64 * 1024}, "0 to 65536 bytes"),
    ("payload", {"x": float("nan")}, "must be JSON"),
    ("payload", {"x": float("inf")}, "must be JSON"),
    ("payload", {"x": {1, 2}}, "must be JSON"),
    ("payload", {"x": SURROGATE}, "surrogate"),
    ("deliver_by", "tomorrow", "RFC 3339"),
    ("deliver_by", "2026-11-30T12:00:00", "RFC 3339"),
    ("deliver_by", "2026-02-30T12:00:00Z", "calendar"),
    ("priority", 1, "unknown field; allowed are channel, dedup_key"),
]


@pytest.mark.parametrize(("field", "value", "allowed"), BAD, ids=[f"{f}={str(v)[:20]!a}" for f, v, _ in BAD])
def test_bad_field_is_named_with_what_is_allowed(field: str, value: object, allowed: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse(raw(**{field: value}))
    assert field in str(caught.value).split(":")[0]
    assert allowed in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("value", [None, 5, "text", [raw()], True, 1.5])
def test_what_is_no_object_says_what_is_needed(value: object) -> None:
    with pytest.raises(InvalidRequest, match="a JSON object with channel, dedup_key, kind, subject, body"):
        parse(value)


def test_payload_nested_too_deeply_is_refused() -> None:
    deep: list[object] = []
    for _ in range(200_000):
        deep = [deep]
    with pytest.raises(InvalidRequest, match="payload: must be JSON"):
        parse(raw(payload=deep))


@pytest.mark.parametrize(
    "changes",
    [
        {"channel": "a"}, {"channel": "A" * 64}, {"channel": "ops_1.x-y"},
        {"kind": "a"}, {"kind": "z" * 64},
        {"dedup_key": "k"}, {"dedup_key": "k" * 1024}, {"dedup_key": "é" * 512}, {"dedup_key": "a|b/c#d:e f\n"},
        {"subject": "s"}, {"subject": "x" * 1024},
        {"body": ""}, {"body": "x" * 64 * 1024}, {"body": "two\nlines"},
        {"recipient": "-100123"}, {"recipient": "x" * 256}, {"recipient": None},
        {"payload": "x" * (64 * 1024 - 2)}, {"payload": []}, {"payload": 0}, {"payload": False},
        {"deliver_by": "2026-11-30T12:00:00+01:00"}, {"suppress": "not wanted"}, {"finding_id": "f" * 1024},
    ],
    ids=lambda changes: str(changes)[:30],
)  # fmt: skip
def test_what_is_just_allowed(changes: dict[str, object]) -> None:
    (field,) = changes
    assert (getattr(request(**changes), field) is None) == (changes[field] is None)


@pytest.mark.parametrize("field", ["dedup_key", "finding_id"])
def test_the_same_text_in_nfd_is_the_same_name(field: str) -> None:
    composed, decomposed = unicodedata.normalize("NFC", "Café"), unicodedata.normalize("NFD", "Café")
    assert composed != decomposed
    assert getattr(request(**{field: composed}), field) == getattr(request(**{field: decomposed}), field) == composed


def test_bytes_are_counted_after_composition() -> None:
    assert len(identifier(unicodedata.normalize("NFD", "é" * 512)).encode()) == 1024


@settings(max_examples=40)
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8")), st.lists))
def test_payload_is_kept_as_json(value: object) -> None:
    payload = request(payload=value).payload
    assert (None if payload is None else json.loads(payload)) == value


def test_deliver_by_is_a_moment_in_utc() -> None:
    assert request(deliver_by="2026-11-30T13:00:01.9+01:00").deliver_by == at(1)


@given(st.dictionaries(st.text(), st.none() | st.integers() | st.text() | st.floats()) | st.integers() | st.binary())
def test_total(value: object) -> None:
    with pytest.raises(InvalidRequest):
        parse(value)


@pytest.mark.parametrize(
    ("value", "named"),
    [({}, "an object"), ([], "an array"), (True, "a boolean"), (1, "a number"), (1.5, "a number"), (b"x", "bytes")],
    ids=str,
)
def test_what_was_given_instead_is_named(value: object, named: str) -> None:
    with pytest.raises(InvalidRequest, match=f"^subject: must be a string; got {named}$"):
        parse(raw(subject=value))


@pytest.mark.parametrize(("value", "named"), [("x", "a string"), (None, "null"), ([], "an array")], ids=str)
def test_what_is_no_request_at_all_is_named(value: object, named: str) -> None:
    with pytest.raises(InvalidRequest, match=f"; got {named}$"):
        parse(value)


@pytest.mark.parametrize(
    ("name", "shown"), [("!" * 80, "!" * 80), ("!" * 81, "!" * 79 + "\\u2026"), ("!é", "!\\xe9")], ids=len
)
def test_what_is_wrong_is_shown_in_ascii_and_in_bounds(name: str, shown: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse(raw(channel=name))
    assert str(refused.value).endswith(f"; got '{shown}'")


def test_the_first_of_unknown_fields_is_named() -> None:
    with pytest.raises(InvalidRequest, match=r"^'zzz': unknown field"):
        parse({**raw(), "zzz": 1, "aaa": 2})
