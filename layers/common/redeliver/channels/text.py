"""Notifications as text: bold subjects, digests by kind, and cuts that never go through a character or its escape."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from redeliver.channels.graphemes import characters
from redeliver.channels.links import addresses
from redeliver.core.notification import Dispatch, Notification

MARK = "…"

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


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text: from outside and still to be escaped, or `ours`; bold or not; an address to be linked."""

    text: str
    bold: bool = False
    ours: bool = False
    link: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How one place writes: its limit in its own unit, its escaping (character by character), its bold, its links.

    Everything that is written is counted, escapes and tags included: never less than what a provider counts. Without
    `link` an address is text like any other: the place finds it, or shows no links. A link is never bold, and is left
    out if it does not fit whole: the beginning of an address is another address.
    """

    longest: int
    unit: Unit = len
    escape: Callable[[str], str] = as_it_is
    bold: tuple[str, str] = ("", "")
    link: Callable[[str], str] | None = None
    bullet: str = "• "
    line_end: str = "\n"

    def write(self, dispatch: Dispatch) -> str:
        """Return the text of a dispatch: its subject and body, or a digest's entries by kind."""
        return self.digest(dispatch.members) if dispatch.digest else self.single(dispatch.members[0])

    def single(self, record: Notification) -> str:
        """Return the subject, a blank line and the body."""
        return self.compose(below(record.subject, [Piece(record.body)] if record.body else []))

    def digest(self, members: Sequence[Notification]) -> str:
        """Return the entries of each kind below their heading."""
        return self.compose(self.entries(members))

    def entries(self, members: Sequence[Notification]) -> list[Piece]:
        """Return the pieces of a digest."""
        pieces: list[Piece] = []
        for kind, records in by_kind(members):
            pieces += [Piece("\n\n" if pieces else "", ours=True), Piece(heading(kind, len(records)), bold=True)]
            for record in records:
                pieces += self._entry(record)
        return pieces

    def weigh(self, record: Notification) -> int:
        """Return the units of a digest's entry, with a heading as if no other record shared it."""
        head = Piece(heading(record.kind, self.longest), bold=True)  # no count is wider
        pieces = [Piece("\n\n", ours=True), head, *self._entry(record)]
        return min(sum(self.unit(self._written(part)) for part in self._parts(pieces)), self.longest)

    def compose(self, pieces: Sequence[Piece]) -> str:
        """Return the pieces one after the other, cut within the first that does not fit."""
        parts = list(self._parts(pieces))
        written = [self._written(part) for part in parts]
        sizes = [self.unit(text) for text in written]
        if sum(sizes) <= self.longest:
            return "".join(written)
        room = self.longest - self.unit(MARK)
        for index, size in enumerate(sizes):
            if size > room:
                return "".join(written[:index]) + self._cut(parts[index], room)
            room -= size
        raise AssertionError("what is longer than allowed has a piece that does not fit")

    def _entry(self, record: Notification) -> list[Piece]:
        entry = [Piece(f"\n{self.bullet}", ours=True), Piece(record.subject, bold=bool(record.body))]
        return [*entry, Piece("\n", ours=True), Piece(record.body)] if record.body else entry

    def _parts(self, pieces: Sequence[Piece]) -> Iterator[Piece]:
        """Yield the pieces, those from outside divided into text and addresses."""
        for piece in pieces:
            end = 0
            for start, after in addresses(piece.text) if self.link and not piece.ours else ():
                yield replace(piece, text=piece.text[end:start])
                yield Piece(piece.text[start:after], link=True)
                end = after
            yield replace(piece, text=piece.text[end:])

    def _written(self, piece: Piece) -> str:
        if piece.link and self.link:
            return self.link(piece.text)
        if not piece.text:
            return ""
        text = piece.text.replace("\n", self.line_end) if piece.ours else self._escaped(piece.text)
        return f"{self.bold[0]}{text}{self.bold[1]}" if piece.bold else text

    def _escaped(self, text: str) -> str:
        escaped = self.escape(text)
        return escaped if self.line_end == "\n" else escaped.replace("\n", self.line_end)

    def _cut(self, piece: Piece, room: int) -> str:
        if piece.ours or piece.link:
            return MARK
        before, after = self.bold if piece.bold else ("", "")
        room -= self.unit(before) + self.unit(after)
        if room < 0:
            return MARK
        return f"{before}{_beginning(piece.text, room, self.unit, self._escaped)}{MARK}{after}"


def below(subject: str, pieces: Sequence[Piece]) -> list[Piece]:
    """Return a bold subject, a blank line, and what stands below it, if there is anything."""
    head = Piece(subject, bold=True)
    return [head, Piece("\n\n", ours=True), *pieces] if pieces else [head]


def by_kind(members: Sequence[Notification]) -> list[tuple[str, list[Notification]]]:
    """Return the members of each kind together, kinds in the order of their names, members as they came."""
    ordered = sorted(members, key=lambda record: record.kind)
    return [(kind, list(records)) for kind, records in groupby(ordered, key=lambda record: record.kind)]


def heading(kind: str, count: int) -> str:
    """Return what stands above the entries of a kind."""
    return f"{kind} ({count})"
