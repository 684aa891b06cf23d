"""What the commands have at hand: the ports of one deployed stack."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from redeliver.operator.ports import Archive, Holds, Register
from redeliver.operator.status import Deliveries
from redeliver.ports import ChannelState, ChannelStates, Lanes, Ledger, NotConfigured
from redeliver.settings import Settings


class Unreachable(Exception):
    """The stack cannot be reached, or AWS refused; the message says what, and what to do about it."""


class Documents(Protocol):
    """The channel documents where they are kept."""

    @property
    def longest_seconds(self) -> float:
        """Return how long `fetch` may take."""

    def fetch(self, name: str) -> object:
        """Return a document as parsed JSON, or NotConfigured; raises Unavailable."""

    def names(self) -> Sequence[str]:
        """Return the names of all documents; raises Unavailable."""


class Functions(Protocol):
    """The deployed functions."""

    def call(self, function: str, event: object) -> Any:
        """Return a function's answer, by its logical id; raises Unreachable when it could not answer."""


def present() -> datetime:
    """Return the present."""
    return datetime.now(UTC)


@dataclass(frozen=True, kw_only=True)
class Where:
    """Which stack, and how to reach it; None is what the environment says."""

    stack: str
    profile: str | None = None
    region: str | None = None
    endpoint_url: str | None = None


@dataclass(frozen=True, kw_only=True)
class Desk:
    """One stack at hand."""

    settings: Settings
    ledger: Ledger
    lanes: Lanes
    archive: Archive
    register: Register
    states: ChannelStates
    holds: Holds
    deliveries: Deliveries
    documents: Documents
    functions: Functions
    clock: Callable[[], datetime] = present
    pause: Callable[[float], None] = time.sleep

    def known(self, channel: str | None) -> list[ChannelState]:
        """Return the row of a channel, or of every one; empty if it was never used."""
        return [state for state in self.states.all() if channel in (None, state.channel)]

    def configured(self, channel: str) -> bool:
        """Tell whether there is a document of that name, valid or not."""
        return not isinstance(self.documents.fetch(channel), NotConfigured)


Open = Callable[[Where], Desk]
