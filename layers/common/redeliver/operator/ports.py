"""What the operator's use cases ask of the outside, beside `redeliver.ports`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from redeliver.core.finding import Finding
from redeliver.core.hold import Hold
from redeliver.core.notification import Row


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time, both ends included; None is without end."""

    since: datetime | None = None
    until: datetime | None = None

    def holds(self, moment: datetime) -> bool:
        """Tell whether a moment lies in it."""
        return (self.since is None or self.since <= moment) and (self.until is None or moment <= self.until)


class Archive(Protocol):
    """The records as an operator looks for them: page by page, read consistently, each page when it is asked for."""

    def dead_letters_of(self, channel: str, span: Span, *, newest_first: bool) -> Iterator[Sequence[Row]]:
        """Return what died in that span, in the order of its death; unreadable rows that were parked are among it."""

    def waiting_in(self, channel: str) -> Iterator[Sequence[Row]]:
        """Return what waits, longest due first."""

    def of_channel(self, channel: str) -> Iterator[Sequence[Row]]:
        """Return all records of a channel, by dedup key."""

    def pages(self, finding_id: str) -> Iterator[Sequence[Row]]:
        """Return the records of a finding."""

    def everything(self) -> Iterator[Sequence[Row]]:
        """Return every row of the table, in no order."""


class Register(Protocol):
    """The findings, one at a time."""

    def get(self, finding_id: str) -> Finding | None:
        """Return what is known of a finding, read consistently."""

    def all(self) -> Iterator[Finding]:
        """Return every finding that can be read."""


class Holds(Protocol):
    """The holds of channels, by hand."""

    def impose(self, channel: str, hold: Hold, note: str) -> None:
        """Hold a channel, whatever held it before."""

    def release(self, channel: str) -> bool:
        """End a channel's hold and forget its failures; tell whether it was held."""
