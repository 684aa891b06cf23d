"""An archive that says on standard error how far the reading has come, when it takes long."""

import time
from collections.abc import Iterator, Sequence

from redeliver.core.notification import Row
from redeliver.operator.ports import Archive, Span
from redeliver_cli.output import Output

_PATIENCE = 2.0  # seconds without a word


class Counted:
    """Port Archive; counts the rows that go through it."""

    def __init__(self, archive: Archive, output: Output) -> None:
        """Count nothing yet."""
        self.rows = 0
        self._archive = archive
        self._output = output
        self._told = time.monotonic()

    def dead_letters_of(self, channel: str, span: Span, *, newest_first: bool) -> Iterator[Sequence[Row]]:
        """Return what the archive does."""
        return self._counted(self._archive.dead_letters_of(channel, span, newest_first=newest_first))

    def waiting_in(self, channel: str) -> Iterator[Sequence[Row]]:
        """Return what the archive does."""
        return self._counted(self._archive.waiting_in(channel))

    def of_channel(self, channel: str) -> Iterator[Sequence[Row]]:
        """Return what the archive does."""
        return self._counted(self._archive.of_channel(channel))

    def pages(self, finding_id: str) -> Iterator[Sequence[Row]]:
        """Return what the archive does."""
        return self._counted(self._archive.pages(finding_id))

    def everything(self) -> Iterator[Sequence[Row]]:
        """Return what the archive does."""
        return self._counted(self._archive.everything())

    def _counted(self, pages: Iterator[Sequence[Row]]) -> Iterator[Sequence[Row]]:
        for page in pages:
            self.rows += len(page)
            if time.monotonic() - self._told >= _PATIENCE:
                self._told = time.monotonic()
                self._output.tell(f"… {self.rows:,} rows read")
            yield page
