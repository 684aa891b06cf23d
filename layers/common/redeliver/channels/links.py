"""Addresses in running text: where a link begins and ends."""

import re
import unicodedata
from collections.abc import Iterator

# RFC 3986, 3.1: schemes know no case. `git+https:` is another scheme, and RFC 9110, 4.2.1 wants a host.
_START = re.compile(r"(?<![a-z0-9+.-])https?://(?=[^/?#:@])", re.IGNORECASE | re.ASCII)
_CLOSING = {"(": ")", "[": "]"}
_NEVER = frozenset(' "<>\\^`{|}\x7f')  # and what controls something: in no rule of RFC 3986
_NOT_LAST = ".,:;!?'%"  # more likely the sentence's than the address's; a percent sign is followed by digits


def addresses(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each http and https address of a text begins, and where it has ended.

    What belongs to one is what RFC 3986 lists (2.1-2.3: percent-encoded, reserved and unreserved) and, as readers
    write them, letters, digits and symbols beyond ASCII (RFC 3987). A bracket belongs to it if its partner does;
    a quote or a mark of emphasis before it encloses it; punctuation behind it is the sentence's.
    """
    end = 0
    while found := _START.search(text, end):
        start, host = found.span()
        before = text[start - 1 : start]
        end = _end(text, host, before)
        address = text[host:end].rstrip(_NOT_LAST + before if before and before in "*_~" else _NOT_LAST)
        if address:
            end = host + len(address)
            yield start, end


def _end(text: str, host: int, before: str) -> int:
    """Return where the first character stands that cannot belong to the address."""
    expected: list[str] = []
    for position in range(host, len(text)):
        character = text[position]
        if character in _CLOSING:
            expected.append(_CLOSING[character])
        elif character in ")]":
            if not expected or expected.pop() != character:
                return position
        elif _outside(character) or character == before == "'":
            return position
    return len(text)


def _outside(character: str) -> bool:
    if character.isascii():
        return character < "\x20" or character in _NEVER
    return unicodedata.category(character)[0] in "CPZ"  # controls, punctuation, spaces
