"""Texts that a page has to survive, in every field that takes them, and a record of each."""

import json
from typing import Any

from redeliver.core.notification import Notification

HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    '"><svg onload=alert(3)>',
    "' onmouseover='alert(4)",
    "</cwdb-action><b class=injected>out</b>",
    "</bdi></td></tr></table><i class=injected>",
    "</style></pre><u class=injected>",
    "&lt;script&gt; &amp;amp; &#60;",
    '{"do": "redrive", "channel": "x"}',
    '\\u003cscript\\u003e \\" \\',
    "\u202egnp.exe\u2066 \u200f\u05d0\u05d1\u05d2",
    "${alert(5)} {{7*7}} `x`",
    "\u2028\u2029 line ends of JavaScript",
    "a" * 300 + "<b>" + "\U0001f600" * 150,
)


def hostile(text: str) -> dict[str, Any]:
    """Return the changes that put a text into every field of a record that holds text."""
    return {
        "dedup_key": text[:200],
        "kind": text[:64],
        "subject": text,
        "body": f"{text}\n{text}",
        "recipient": text,
        "payload": json.dumps([text]),
        "finding_id": text[:200],
        "last_reason": text,
        "last_error": text,
        "dispatch_batch_id": text,
        "history": f"1796000000,r,{text.replace(',', '').replace(';', '')},500,7",
    }


def strings_of(record: Notification) -> set[str]:
    """Return what a reader has to be able to read of it."""
    return {record.subject, record.dedup_key, record.body, record.kind, str(record.last_error)}
