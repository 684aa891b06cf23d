"""Requests and answers in the shapes that most providers use."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from redeliver.channels.transport import Answer, Post
from redeliver.core.outcome import parse_retry_after

_MANY = 10**15  # milliseconds; a larger whole number may be no float
NOTHING: Mapping[str, str] = {}


def json_post(
    url: str,
    fields: Mapping[str, Any],
    headers: Mapping[str, str] = NOTHING,
    *,
    allow_private: bool,
    repeatable: bool = False,
) -> Post:
    """Return a request with a JSON object; pure ASCII, so that a lone surrogate is no obstacle."""
    body = json.dumps(fields, separators=(",", ":")).encode()
    return Post(url, body, {**headers, "Content-Type": "application/json"}, allow_private, repeatable)


def form_post(
    url: str,
    fields: Mapping[str, str],
    headers: Mapping[str, str] = NOTHING,
    *,
    allow_private: bool,
    repeatable: bool = False,
) -> Post:
    """Return a request with form fields, in UTF-8."""
    body = urlencode(fields, errors="replace").encode()
    content = "application/x-www-form-urlencoded"
    return Post(url, body, {**headers, "Content-Type": content}, allow_private, repeatable)


def reply(answer: Answer) -> Mapping[str, Any]:
    """Return the JSON object of an answer; an empty one if it is none."""
    try:
        parsed = json.loads(answer.body)
    except (ValueError, RecursionError):
        return {}
    return parsed if isinstance(parsed, dict) else {}


def inner(parsed: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return an object inside a reply; an empty one if there is none."""
    value = parsed.get(name)
    return value if isinstance(value, dict) else {}


def text(value: object) -> str:
    """Return a code as text: a word, a number, or "" for anything else."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def body_text(answer: Answer) -> str:
    """Return the body as text, trimmed; some providers answer with one word."""
    return answer.body.decode(errors="replace").strip()


def seconds(value: object, now: datetime) -> timedelta | None:
    """Return a wait in seconds, fractions too; None if the value is none. See `parse_retry_after`."""
    return parse_retry_after(value, now)


def milliseconds(value: object, now: datetime) -> timedelta | None:
    """Return a wait in milliseconds; None if the value is none."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return parse_retry_after(min(value, _MANY) / 1000, now)
