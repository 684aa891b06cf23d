"""Layouts for places where an address stays an address only if its characters are not escaped like other text."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from redeliver.channels.text import MARK, Layout, Piece, as_it_is

# Nothing in it can end the address in any of the places, or begin markup: those characters are text again.
_ADDRESS = re.compile(r"https?://[^\s\x00-\x20\x7f<>()\[\]{}\"'`|*~\\^]{1,1000}", re.ASCII)
_NOT_LAST = ".,;:!?_"  # more likely the sentence's than the address's


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked(Layout):
    """A layout whose bodies keep their addresses, written by `address`; one that does not fit whole is left out."""

    address: Callable[[str], str] = as_it_is

    def compose(self, pieces: Sequence[Piece]) -> str:
        """Return the pieces one after the other, cut within the first that does not fit."""
        return Layout.compose(self, [part for piece in pieces for part in self._parts(piece)])

    def _written(self, piece: Piece) -> str:
        return "".join(Layout._written(self, part) for part in self._parts(piece))

    def _cut(self, piece: Piece, room: int) -> str:
        return MARK if piece.ours else Layout._cut(self, piece, room)

    def _parts(self, piece: Piece) -> Iterator[Piece]:
        """Return a body in its text and addresses, anything else as it is."""
        if piece.bold or piece.ours:
            yield piece
            return
        end = 0
        for found in _ADDRESS.finditer(piece.text):
            address = found[0].rstrip(_NOT_LAST)
            if end < found.start():
                yield Piece(piece.text[end : found.start()])
            yield Piece(self.address(address), ours=True)
            end = found.start() + len(address)
        if end < len(piece.text):
            yield Piece(piece.text[end:])
