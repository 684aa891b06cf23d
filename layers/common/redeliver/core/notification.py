"""The record of one notification, its states, and the small words that go with it."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Status(StrEnum):
    """Where a notification is; the comment says who moves it on."""

    PENDING = "pending"  # a sweep, or the send that holds its first claim
    RETRYING = "retrying"  # a sweep, once its backoff has passed
    SENT = "sent"  # nobody: retention forgets it
    SUPPRESSED = "suppressed"  # nobody: retention forgets it
    DEAD_LETTERED = "dead_lettered"  # an operator, by a redrive


OPEN = frozenset({Status.PENDING, Status.RETRYING})
FINAL = frozenset(Status) - OPEN

# Why a record became a dead letter without an endpoint having said so.
EXPIRED = "expired"
INTERRUPTED = "interrupted"
UNREADABLE = "unreadable"
OUT_OF_ATTEMPTS = "out_of_attempts"


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """The identity of a notification (SPEC 2)."""

    channel: str
    dedup_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """One thing to tell one channel, as the table holds it (SPEC 2).

    Times are aware UTC datetimes of whole seconds. `payload` is JSON text; so is `resolve_with`, the payload of the
    notification that follows when the finding is resolved. `history` is for `core.history` to read.
    """

    channel: str
    dedup_key: str
    kind: str
    subject: str
    body: str
    created_at: datetime
    updated_at: datetime
    requested_at: datetime
    status: Status
    attempt_count: int = 0
    redrive_count: int = 0
    recipient: str | None = None
    payload: str | None = None
    finding_id: str | None = None
    next_attempt_at: datetime | None = None
    claimed_until: datetime | None = None
    last_error: str | None = None
    last_reason: str | None = None
    maybe_delivered: bool = False
    history: str | None = None
    dispatch_batch_id: str | None = None
    resolve_with: str | None = None
    deliver_by: datetime | None = None
    sent_at: datetime | None = None
    dead_lettered_at: datetime | None = None
    expires_at: datetime | None = None

    @property
    def key(self) -> Key:
        """Return the identity of this notification."""
        return Key(self.channel, self.dedup_key)

    @property
    def lane(self) -> str:
        """Return the partition of the `due` index in which the record waits."""
        return lane_of(self.channel)

    def expired(self, now: datetime) -> bool:
        """Tell whether the record counts as absent, deleted by DynamoDB or not (SPEC 2)."""
        return self.expires_at is not None and self.expires_at <= now


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An item of the table that is no record: which one, and what is wrong with it."""

    key: Key
    problem: str
    parked: bool = False


Row = Notification | Unreadable


def lane_of(channel: str) -> str:
    """Return the lane of a channel; a place to shard a busy one later."""
    return f"{channel}#0"


@dataclass(frozen=True, slots=True)
class Dispatch:
    """What goes out in one call to an endpoint: one notification, or the members of a digest."""

    members: tuple[Notification, ...]
    digest: bool = False

    @property
    def channel(self) -> str:
        """Return the channel that all members share."""
        return self.members[0].channel

    @property
    def recipient(self) -> str | None:
        """Return the recipient that all members share; None is the channel's own target."""
        return self.members[0].recipient

    @property
    def batch_id(self) -> str:
        """Return the dispatch batch id, made of the members and which attempt of each this is.

        The same over the in-request retries of one attempt, another for each later attempt or other set of members.
        """
        return _digest_of([part for member in self.members for part in _attempt_of(member)])


def _attempt_of(member: Notification) -> Sequence[str]:
    created = str(int(member.created_at.timestamp()))
    return (member.channel, member.dedup_key, created, str(member.redrive_count), str(member.attempt_count))


def message_id(record: Notification) -> str:
    """Return the id by which a receiver knows this notification again over attempts and redrives (SPEC 9)."""
    return _digest_of([record.channel, record.dedup_key, str(int(record.created_at.timestamp()))])


def _digest_of(parts: Sequence[str]) -> str:
    # Each part carries its length: no choice of parts can imitate another by containing the separator.
    hashed = hashlib.sha256()
    for part in parts:
        data = part.encode()
        hashed.update(f"{len(data)}:".encode() + data)
    return hashed.hexdigest()[:32]
