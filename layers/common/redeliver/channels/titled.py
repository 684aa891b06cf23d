"""Messages for places that show a title of their own above the text."""

from dataclasses import dataclass

from redeliver.channels.text import Layout, Piece, cut
from redeliver.core.notification import Dispatch, Notification


@dataclass(frozen=True, slots=True)
class Titled:
    """How one place writes: its layout of the text, and the longest title in the same unit, escaped the same way."""

    layout: Layout
    longest_title: int

    def write(self, dispatch: Dispatch) -> tuple[str, str]:
        """Return the title and the text, which is never blank; a title of "" leaves it to the place."""
        if dispatch.digest:
            count = len(dispatch.members)
            return f"{count} notification{'' if count == 1 else 's'}", self.layout.digest(dispatch.members)
        record = dispatch.members[0]
        if not record.body.strip():  # a text is required everywhere, a title is not
            return "", self._text(record.subject)
        title = cut(record.subject, self.longest_title, self.layout.unit, self.layout.escape)
        return title, self._text(record.body)

    def weigh(self, record: Notification) -> int:
        """Return the units of a digest's entry."""
        return self.layout.weigh(record)

    def _text(self, text: str) -> str:
        return self.layout.compose([Piece(text)])
