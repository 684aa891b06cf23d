"""JSON as text from outside, and as text that SQS takes."""

import json
import re
from typing import Any

BYTE_ORDER_MARK = "\ufeff"
# What JSON may hold as it is and a message of SQS may not (SendMessage, MessageBody): JSON escapes control characters.
_NOT_FOR_SQS = re.compile("[\ud800-\udfff\ufffe\uffff]")


def decoded(text: str) -> Any:
    """Return the value of a JSON text, with or without a byte-order mark in front; raises ValueError or RecursionError.

    Who reads JSON may ignore the mark (RFC 8259 8.1); programs on Windows write it.
    """
    return json.loads(text.removeprefix(BYTE_ORDER_MARK))


def encoded(value: object) -> str:
    """Return a value as a JSON text that SQS takes; it decodes to the same value.

    Of what is nested so deeply that nobody could have decoded it, only that is said.
    """
    try:
        text = json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return '"nested too deeply to be written"'
    return _NOT_FOR_SQS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
