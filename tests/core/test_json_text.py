"""JSON from outside, with and without a byte-order mark, and JSON that SQS takes."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redeliver.core.json_text import BYTE_ORDER_MARK, decoded, encoded

ROOT = Path(__file__).parents[2]
# Every one that reads JSON of somebody else's by itself, and whose it is.
BY_THEMSELVES = {
    "layers/common/redeliver/core/json_text.py": "the one place",
    "layers/common/redeliver/core/retention.py": "the payload of a record, which we wrote",
    "layers/common/redeliver/channels/pagerduty.py": "the same",
    "layers/common/redeliver/channels/severity.py": "the same",
    "layers/common/redeliver/store/items.py": "the same",
    "layers/common/redeliver/channels/slack.py": "the elements of a rich text, which its layout wrote",
    "layers/common/redeliver/channels/http.py": "bytes of an endpoint, where json looks for the mark by itself",
    "cli/redeliver_cli/deployed.py": "bytes of a function, which writes none",
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=[])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.parametrize(
    ("text", "value"),
    [('{"a": 1}', {"a": 1}), (BYTE_ORDER_MARK + '{"a": 1}', {"a": 1}), (f'"{BYTE_ORDER_MARK}"', BYTE_ORDER_MARK)],
)
def test_a_byte_order_mark_in_front_is_none_of_the_text(text: str, value: object) -> None:
    assert decoded(text) == value


@pytest.mark.parametrize("text", ["", BYTE_ORDER_MARK, 2 * BYTE_ORDER_MARK + "{}", "{" + BYTE_ORDER_MARK + "}"])
def test_what_is_no_json_stays_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"Expecting|BOM"):
        decoded(text)


@given(JSON)
def test_what_is_written_for_sqs_can_be_sent_and_is_the_same_value(value: object) -> None:
    text = encoded(value)
    assert decoded(text) == value
    # SendMessage: #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF
    assert re.fullmatch("[\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]+", text)


ALLOWED = (0x20, 0x7F, 0xD7FF, 0xE000, 0xFFFD, 0x10000, 0x10FFFF)
NOT_ALLOWED = (0x00, 0x1F, 0xD800, 0xDFFF, 0xFFFE, 0xFFFF)


@pytest.mark.parametrize("code", [*ALLOWED, *NOT_ALLOWED], ids=hex)
def test_only_what_sqs_does_not_take_is_escaped(code: int) -> None:
    assert (chr(code) in encoded(chr(code))) == (code in ALLOWED)
    assert decoded(encoded(chr(code))) == chr(code)


def test_texts_stay_readable() -> None:
    assert encoded({"a": "€ 5"}) == '{"a": "€ 5"}'


def test_what_nobody_could_have_decoded_says_so() -> None:
    value: list[object] = []
    for _ in range(200_000):
        value = [value]
    assert "nested too deeply" in json.loads(encoded(value))


def test_nobody_reads_json_from_outside_in_another_way() -> None:
    found = {
        str(path.relative_to(ROOT))
        for folder in ("layers/common/redeliver", "cli", "functions")
        for path in (ROOT / folder).rglob("*.py")
        if "json.loads(" in path.read_text(encoding="utf-8")
    }
    assert found == set(BY_THEMSELVES)
