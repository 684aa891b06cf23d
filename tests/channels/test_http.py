import math
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs

import pytest

from redeliver.channels import http
from redeliver.channels.transport import Answer
from tests.contract.channel_cases import NOW


def test_json() -> None:
    post = http.json_post("https://x", {"a": "é\ud800"}, {"K": "v"}, allow_private=True, repeatable=True)
    assert post.body == b'{"a":"\\u00e9\\ud800"}'
    assert post.headers == {"K": "v", "Content-Type": "application/json"}
    assert (post.url, post.allow_private, post.repeatable) == ("https://x", True, True)


def test_a_form() -> None:
    post = http.form_post("https://x", {"a": "é & =\ud800"}, allow_private=False)
    assert parse_qs(post.body.decode()) == {"a": ["é & =?"]}
    assert post.headers == {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.mark.parametrize("body", [b"", b"[1]", b"{", b"\xff", b"[" * 60_000, b"7", b"null"])
def test_what_is_no_object_is_an_empty_one(body: bytes) -> None:
    assert http.reply(Answer(200, body)) == {}


def test_parts_of_a_reply() -> None:
    parsed = http.reply(Answer(200, b'{"a": {"b": 1}, "c": [1]}'))
    assert http.inner(parsed, "a") == {"b": 1}
    assert http.inner(parsed, "c") == http.inner(parsed, "d") == {}


@pytest.mark.parametrize(
    ("value", "text"), [("a", "a"), (7, "7"), (True, ""), (None, ""), ([], ""), ({}, ""), (1.5, "")]
)
def test_codes(value: Any, text: str) -> None:
    assert http.text(value) == text


@pytest.mark.parametrize("value", [None, "x", "64.57", True, math.nan, -1, [], {}])
def test_what_is_no_wait_in_milliseconds(value: Any) -> None:
    assert http.milliseconds(value, NOW) is None


def test_waits() -> None:
    assert http.seconds(64.57, NOW) == timedelta(seconds=65)
    assert http.seconds("0.3", NOW) == timedelta(seconds=1)
    assert http.milliseconds(1500, NOW) == timedelta(seconds=2)
    assert http.milliseconds(10**400, NOW) == http.seconds(10**400, NOW)
