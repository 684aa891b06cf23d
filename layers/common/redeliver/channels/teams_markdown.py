"""The Markdown of a card of Teams: what a text needs to read like itself, and its addresses as links."""

import re
from collections.abc import Mapping

from redeliver.channels.links import addresses

_MARKS = re.compile(
    r"""[`*\[\]\n] | &(?=\#?\w+;)
    | <(?=[A-Za-z/!?]|[^\s<>]+@)        # a tag, an address, or that of a mailbox: CommonMark 6.5
    | (?<![^\W_])_ | _(?![^\W_])        # within a word it means nothing
    | ~(?=~) | (?<=~)~ | (?<=\{)\{      # strikes through; {{DATE(…)}}
    | \\(?=[!-/:-@\[-`{-~\n]|\Z)        # before anything else it stands for itself""",
    re.VERBOSE,
)
# Its indentation, and a mark of a list, a heading, a quote or a rule: up to the character that is to be escaped.
_LINE_START = re.compile(r"^([^\S\n]*)(?:-(?=\s|--|$)|\+(?=\s|$)|#(?=#*(?:\s|$))|>|[0-9]+[.)])?", re.MULTILINE)
_BEFORE_LINK = "!\\"  # with the bracket behind it, an image or an escape
_DEEPEST = 3  # brackets within brackets of a link's destination that every reader is sure to count: CommonMark 6.3


def written(said: str) -> Mapping[int, str]:
    """Return what a TextBlock needs instead of a code point, by its position.

    As few marks as can be are escaped: some clients show the backslash. An address is one link, at the position where
    it begins, since the backslashes of its marks would become part of what a client links by itself. Indentation would
    make code of a line, and a single line end is a space:
    https://learn.microsoft.com/microsoftteams/platform/task-modules-and-cards/cards/cards-format
    """
    found = {mark.start(): {"&": "&amp;", "\n": "\n\n"}.get(mark[0], f"\\{mark[0]}") for mark in _MARKS.finditer(said)}
    for start in _LINE_START.finditer(said):
        found |= dict.fromkeys(range(*start.span(1)), "\u00a0")
        if start.end() > start.end(1):
            found[start.end() - 1] = f"\\{said[start.end() - 1]}"
    for begin, end in addresses(said):
        if said[begin - 1 : begin] and said[begin - 1] in _BEFORE_LINK:
            found[begin - 1] = f"\\{said[begin - 1]}"
        found |= dict.fromkeys(range(begin, end), "")
        found[begin] = _link(said[begin:end])
    return found


def _link(address: str) -> str:
    text = re.sub(r"([\[\]*_~])", r"\\\1", _entities(address))
    destination = _entities(address)
    if not _balanced(address):
        destination = re.sub(r"([()])", r"\\\1", destination)
    return f"[{text}]({destination})"


def _entities(address: str) -> str:
    return re.sub(r"&(?=#?\w+;)", "&amp;", address)


def _balanced(address: str) -> bool:
    """Tell whether the round brackets may stand as they are: in pairs, and few within each other."""
    open_ = 0
    for character in address:
        open_ += {"(": 1, ")": -1}.get(character, 0)
        if not 0 <= open_ <= _DEEPEST:
            return False
    return open_ == 0
