"""Notifications as text: bold subjects, digests by kind, and cuts that never go through a character or its escape."""

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from redeliver.core.notification import Dispatch, Notification

MARK = "…"
MOST_JOINED = 32  # code points taken for one character; nobody writes more of that

Unit = Callable[[str], int]  # what a provider counts; of two texts together, the sum


def utf16(text: str) -> int:
    """Return the UTF-16 units of a text."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf8(text: str) -> int:
    """Return the UTF-8 bytes of a text."""
    return len(text.encode("utf-8", "surrogatepass"))


def as_it_is(text: str) -> str:
    """Return the text: it needs no escaping."""
    return text


def cut(text: str, longest: int, unit: Unit = len, escape: Callable[[str], str] = as_it_is) -> str:
    """Return the escaped text, at most `longest` units of it, with a mark where it was cut.

    `escape` takes each character by itself.
    """
    escaped = escape(text)
    if unit(escaped) <= longest:
        return escaped
    return f"{_beginning(text, longest - unit(MARK), unit, escape)}{MARK}" if longest >= unit(MARK) else ""


def _beginning(text: str, longest: int, unit: Unit, escape: Callable[[str], str]) -> str:
    kept: list[str] = []
    for character in characters(text):
        piece = escape(character)
        longest -= unit(piece)
        if longest < 0:
            break
        kept.append(piece)
    return "".join(kept)


def characters(text: str) -> Iterator[str]:
    """Return the text in pieces that a reader takes for one character each, of at most MOST_JOINED code points."""
    start = 0
    for index in range(1, len(text)):
        if index - start >= MOST_JOINED or not _joined(text, start, index):
            yield text[start:index]
            start = index
    if text:
        yield text[start:]


def _joined(text: str, start: int, index: int) -> bool:
    before, character = text[index - 1], text[index]
    if character < "\u0300":  # most of all text
        return before == "\r" and character == "\n"
    if _regional(before) and _regional(character):  # two of them are a flag
        return index - start == 1
    modifier = "\U0001f3fb" <= character <= "\U0001f3ff" or "\U000e0020" <= character <= "\U000e007f"
    return modifier or "\u200d" in (before, character) or unicodedata.category(character)[0] == "M"


def _regional(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text: from outside and still to be escaped, or `ours`; bold or not."""

    text: str
    bold: bool = False
    ours: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How one place writes: its limit in its own unit, its escaping (character by character), its bold.

    Everything that is written is counted, escapes and tags included: never less than what a provider counts.
    """

    longest: int
    unit: Unit = len
    escape: Callable[[str], str] = as_it_is
    bold: tuple[str, str] = ("", "")
    bullet: str = "• "
    line_end: str = "\n"

    def write(self, dispatch: Dispatch) -> str:
        """Return the text of a dispatch: its subject and body, or a digest's entries by kind."""
        return self.digest(dispatch.members) if dispatch.digest else self.single(dispatch.members[0])

    def single(self, record: Notification) -> str:
        """Return the subject, a blank line and the body."""
        pieces = [Piece(record.subject, bold=True)]
        if record.body:
            pieces += [Piece("\n\n", ours=True), Piece(record.body)]
        return self.compose(pieces)

    def digest(self, members: Sequence[Notification]) -> str:
        """Return the entries of each kind below their heading."""
        pieces: list[Piece] = []
        for kind, records in by_kind(members):
            pieces += [Piece("\n\n" if pieces else "", ours=True), Piece(heading(kind, len(records)), bold=True)]
            for record in records:
                pieces += self._entry(record)
        return self.compose(pieces)

    def weigh(self, record: Notification) -> int:
        """Return the units of a digest's entry, with a heading as if no other record shared it."""
        head = Piece(heading(record.kind, self.longest), bold=True)  # no count is wider
        pieces = [Piece("\n\n", ours=True), head, *self._entry(record)]
        return min(sum(self.unit(self._written(piece)) for piece in pieces), self.longest)

    def compose(self, pieces: Sequence[Piece]) -> str:
        """Return the pieces one after the other, cut within the first that does not fit."""
        written = [self._written(piece) for piece in pieces]
        sizes = [self.unit(text) for text in written]
        if sum(sizes) <= self.longest:
            return "".join(written)
        room = self.longest - self.unit(MARK)
        for index, size in enumerate(sizes):
            if size > room:
                return "".join(written[:index]) + self._cut(pieces[index], room)
            room -= size
        raise AssertionError("what is longer than allowed has a piece that does not fit")

    def _entry(self, record: Notification) -> list[Piece]:
        entry = [Piece(f"\n{self.bullet}", ours=True), Piece(record.subject, bold=bool(record.body))]
        return [*entry, Piece("\n", ours=True), Piece(record.body)] if record.body else entry

    def _written(self, piece: Piece) -> str:
        text = piece.text.replace("\n", self.line_end) if piece.ours else self._escaped(piece.text)
        return f"{self.bold[0]}{text}{self.bold[1]}" if piece.bold else text

    def _escaped(self, text: str) -> str:
        escaped = self.escape(text)
        return escaped if self.line_end == "\n" else escaped.replace("\n", self.line_end)

    def _cut(self, piece: Piece, room: int) -> str:
        before, after = self.bold if piece.bold else ("", "")
        room -= self.unit(before) + self.unit(after)
        if room < 0:
            return MARK
        return f"{before}{_beginning(piece.text, room, self.unit, self._escaped)}{MARK}{after}"


def by_kind(members: Sequence[Notification]) -> list[tuple[str, list[Notification]]]:
    """Return the members of each kind together, kinds in the order of their names, members as they came."""
    ordered = sorted(members, key=lambda record: record.kind)
    return [(kind, list(records)) for kind, records in groupby(ordered, key=lambda record: record.kind)]


def heading(kind: str, count: int) -> str:
    """Return what stands above the entries of a kind."""
    return f"{kind} ({count})"
