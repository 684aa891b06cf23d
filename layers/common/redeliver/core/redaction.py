"""The one place where text from outside becomes text that may be stored, logged or answered."""

import json
import re
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

LONGEST = 1024  # characters of `last_error` (SPEC 2)
MASK = "***"
SHORTEST = 6  # characters; masking a shorter "secret" would blank out half the text and protect nothing

# What looks like a secret even when nobody told us: each keeps what names it and loses what proves it.
_SHAPES = (
    (re.compile(r"\b(bot)\d{3,}:[A-Za-z0-9_-]{8,}"), rf"\1{MASK}"),  # a Telegram token in a URL
    (re.compile(r"\b\d{6,}:[A-Za-z0-9_-]{30,}"), MASK),  # the same, bare
    (re.compile(r"\bwhsec_[A-Za-z0-9+/=_-]+"), MASK),  # a Standard Webhooks secret
    (re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}"), rf"\1 {MASK}"),
    (re.compile(r"(?i)\b(https?://)[^\s/@'\"]+@"), rf"\1{MASK}@"),  # user:password of a URL
    # Providers keep the secret in the path or the query: of an address only the host may be seen.
    (re.compile(r"(?i)\b(https?://[^\s/?#'\"<>]+)[/?#][^\s'\"<>)]*"), rf"\1/{MASK}"),
    (re.compile(r"(?i)\burl: /[^\s'\"<>)]*"), f"url: /{MASK}"),  # urllib3 names the path alone
)
# Each of those shapes has one of these in it: most texts are innocent, and every log line asks about several.
_SUSPICIOUS = re.compile(r"(?i)bot\d|\d:[A-Za-z0-9_-]|whsec_|bearer|basic|://|url: /")


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Return the text without secrets, storable in DynamoDB, at most LONGEST characters.

    `secrets` are the known values of the channel, from SHORTEST characters on; other spellings of them go too.
    """
    clean = storable(text)
    spellings = {spelling for secret in secrets if len(secret) >= SHORTEST for spelling in _spellings(secret)}
    for spelling in sorted(spellings, key=len, reverse=True):  # a secret may contain another
        clean = clean.replace(spelling, MASK)
    if _SUSPICIOUS.search(clean):
        for shape, mask in _SHAPES:
            clean = shape.sub(mask, clean)
    return cut(clean, LONGEST)


def _spellings(secret: str) -> Iterable[str]:
    yield storable(secret)
    yield quote(secret, safe="", errors="replace")
    yield quote_plus(secret, errors="replace")
    for ascii_only in (True, False):
        yield storable(json.dumps(secret, ensure_ascii=ascii_only)[1:-1])


def storable(text: str) -> str:
    """Return the text with what UTF-8 or a log line cannot carry made visible."""
    if text.isprintable():  # which half of a surrogate pair is not
        return text
    encodable = text.encode("utf-8", "backslashreplace").decode()
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in encodable)


def cut(text: str, longest: int) -> str:
    """Return at most `longest` characters of the text, with a mark where it was cut."""
    return text if len(text) <= longest else text[: longest - 1] + "…"
