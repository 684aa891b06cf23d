"""What a reader takes for one character, so that no cut goes through it."""

import unicodedata
from collections.abc import Iterator

MOST_JOINED = 32  # code points taken for one character; nobody writes more of that

# What is no mark by its category but follows what it belongs to: the zero width non-joiner, vowels of Thai and Lao,
# halfwidth voiced marks of Japanese. And what precedes it: signs around numbers, and such.
_FOLLOWING = frozenset("\u200c\u0e33\u0eb3\uff9e\uff9f")
_PRECEDING = frozenset(
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\u0d4e\U000110bd\U000110cd\U000111c2\U000111c3"
    "\U0001193f\U00011941\U00011a3a\U00011a84\U00011a85\U00011a86\U00011a87\U00011a88\U00011a89\U00011d46\U00011f02"
)
_JOINER = "\u200d"
_VIRAMA = 9  # the combining class of what makes one letter of two consonants


def characters(text: str) -> Iterator[str]:
    """Return the text in pieces that a reader takes for one character each, of at most MOST_JOINED code points.

    They are extended grapheme clusters of UAX #29 or, where its tables are not in the standard library, some of them
    together: a cut is never within one.
    """
    start = 0
    for index in range(1, len(text)):
        if index - start >= MOST_JOINED or not _joined(text, start, index):
            yield text[start:index]
            start = index
    if text:
        yield text[start:]


def _joined(text: str, start: int, index: int) -> bool:
    """Tell whether no boundary is before a code point; the numbers are those of UAX #29's rules."""
    before, character = text[index - 1], text[index]
    if before < "\u0300" and character < "\u0300":  # most of all text
        return before == "\r" and character == "\n"  # GB3
    if _regional(before) and _regional(character):
        return _flags(text[start:index]) % 2 == 1  # GB12, GB13
    return (
        _extending(character)  # GB9, GB9a
        or before in _PRECEDING  # GB9b
        or (before == _JOINER and not _regional(character))  # GB11
        or (_leading(before) and _hangul(character))  # GB6
        or (unicodedata.category(character) == "Lo" and _linked(text[start:index]))  # GB9c
    )


def _extending(character: str) -> bool:
    return (
        unicodedata.category(character)[0] == "M"
        or character == _JOINER
        or character in _FOLLOWING
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # a tone of skin
        or "\U000e0020" <= character <= "\U000e007f"  # of the flag of a region
        or "\u1160" <= character <= "\u11ff"  # a vowel or a final consonant of Hangul: GB6 to GB8
        or "\ud7b0" <= character <= "\ud7fb"
    )


def _regional(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _flags(piece: str) -> int:
    return len(piece) - len(piece.rstrip("".join(map(chr, range(0x1F1E6, 0x1F200)))))


def _leading(character: str) -> bool:
    return "\u1100" <= character <= "\u115f" or "\ua960" <= character <= "\ua97c"


def _hangul(character: str) -> bool:
    return _leading(character) or "\uac00" <= character <= "\ud7a3"


def _linked(piece: str) -> bool:
    """Tell whether a virama is among the marks at the end of a piece."""
    for character in reversed(piece):
        if unicodedata.combining(character) == _VIRAMA:
            return True
        if not _extending(character):
            return False
    return False
