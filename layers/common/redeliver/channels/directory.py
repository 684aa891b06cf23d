"""The channels by name: documents from where they are kept, cached, and renewed when credentials are refused."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from threading import Lock

from redeliver.channels import TYPES
from redeliver.channels.attempt import Attempt, Attempts
from redeliver.channels.document import Document, InvalidDocument, read_document
from redeliver.channels.patient import SPARED, Patient
from redeliver.channels.sender import Sender, SenderType
from redeliver.channels.sources import Source, SourceUnavailable
from redeliver.core.notification import Dispatch, Notification
from redeliver.core.outcome import CREDENTIALS_REFUSED, Delivered, Outcome, Retry
from redeliver.core.redaction import redact
from redeliver.ports import Channel, Mode, NotConfigured, Unavailable

FRESH = timedelta(minutes=5)
STALE = timedelta(hours=1)  # how old a document may get while its source is unavailable
MOST_ENTRIES = 1000


class Directory:
    """The port `Channels` over a source of documents; used from many threads.

    `recheck` bounds how long the absence of a usable document is believed.
    """

    def __init__(
        self, source: Source, attempts: Attempts, recheck: timedelta, types: Mapping[str, SenderType] = TYPES
    ) -> None:
        """Read nothing yet."""
        self._source = Patient(source, attempts.monotonic)
        self._attempts = attempts
        self._recheck = min(recheck, FRESH)
        self._types = types
        self._entries: dict[str, _Entry] = {}
        self._lock = Lock()

    def look_up(self, name: str, now: datetime) -> Channel | NotConfigured:
        """Return the channel; raises Unavailable when there is no document, old or new, to go by."""
        entry = self._entry(name)
        old = entry.serving(now)
        if old is None:
            entry.lock.acquire()  # of several threads one asks, the others wait for what it finds
        elif not entry.lock.acquire(blocking=False):
            return old  # or go by what they have
        try:
            if entry.until is None or now >= entry.until:
                return self._refresh(name, entry, now)
            found = entry.found
        finally:
            entry.lock.release()
        if isinstance(found, Unavailable):
            raise Unavailable(str(found))
        return found

    def begin(self) -> Attempt:
        """Start the clock of an attempt."""
        return self._attempts.begin()

    def renew(self, name: str, refused: Document, attempt: Attempt) -> "Configured | None":
        """Return the channel if the document has changed since the one whose credentials were refused.

        Reads at most once for all the attempts that were running, and only with the time left for it.
        """
        entry = self._entry(name)
        with entry.lock:
            if entry.reread_at < attempt.began and attempt.left() > self._source.longest_seconds:
                entry.reread_at = self._attempts.monotonic()
                self._reread(name, entry, refused, attempt.now())
            found = entry.found
            if isinstance(found, Configured) and found.document != refused:
                return found
            return None

    def _entry(self, name: str) -> "_Entry":
        with self._lock:
            if name not in self._entries and len(self._entries) >= MOST_ENTRIES:
                del self._entries[next(iter(self._entries))]
            return self._entries.setdefault(name, _Entry())

    def _refresh(self, name: str, entry: "_Entry", now: datetime) -> "Configured | NotConfigured":
        old = entry.serving(now)
        try:
            found = self._fetch(name, now, renewing=old is not None)
        except Unavailable as error:
            if not isinstance(error, SourceUnavailable):  # about this name, which is spared as the source would be
                entry.until, entry.found = now + SPARED, old or error
            if old is None:
                raise
            return old
        entry.found = found
        entry.until = now + (FRESH if isinstance(found, Configured) else self._recheck)
        entry.stale_until = now + STALE if isinstance(found, Configured) else None
        return found

    def _reread(self, name: str, entry: "_Entry", refused: Document, now: datetime) -> None:
        try:
            found = self._fetch(name, now, renewing=True)
        except Unavailable:
            return
        if not isinstance(found, Configured):
            entry.until = None  # for the next look-up to find
        elif found.document != refused:
            entry.found = found

    def _fetch(self, name: str, now: datetime, *, renewing: bool) -> "Configured | NotConfigured":
        raw = self._source.fetch(name, now, renewing=renewing)
        if isinstance(raw, NotConfigured):
            return raw
        try:
            document = read_document(raw, self._types)
            sender = self._types[document.type](document)
        except InvalidDocument as error:
            return NotConfigured(redact(str(error)))
        return Configured(self, name, document, sender)


@dataclass(slots=True)
class _Entry:
    """What is known of one name, believed `until`; a document serves on to `stale_until` while no newer can be read."""

    lock: Lock = field(default_factory=Lock)
    found: "Configured | NotConfigured | Unavailable" = field(default_factory=Unavailable)
    until: datetime | None = None
    stale_until: datetime | None = None
    reread_at: float = float("-inf")

    def serving(self, now: datetime) -> "Configured | None":
        """Return the document to go by if no newer one can be read; needs no lock."""
        found, stale_until = self.found, self.stale_until
        return found if isinstance(found, Configured) and stale_until is not None and now < stale_until else None


@dataclass(frozen=True, slots=True)
class Configured:
    """The port `Channel`: a sender, the clock of its attempts, and the redaction of what it says."""

    directory: Directory
    name: str
    document: Document
    sender: Sender

    @property
    def mode(self) -> Mode:
        """Return how the channel sends."""
        return self.document.mode

    @property
    def digest_seconds(self) -> int:
        """Return the length of the digest window."""
        return self.document.digest_seconds

    @property
    def announce_sent(self) -> bool:
        """Tell whether others are to hear of each delivery."""
        return self.document.announce_sent

    @property
    def max_age(self) -> timedelta | None:
        """Return how old a notification may get; None is any age."""
        return timedelta(seconds=self.document.max_age) if self.document.max_age else None

    @property
    def capacity(self) -> int:
        """Return how much `weigh` may add up to in one digest."""
        return self.sender.capacity

    def weigh(self, record: Notification) -> int:
        """Return what a record takes of a digest's capacity."""
        return self.sender.weigh(record)

    def deliver(self, dispatch: Dispatch) -> Outcome:
        """Make one attempt; refused credentials are read again and tried once more within it."""
        attempt = self.directory.begin()
        outcome = self.sender.send(dispatch, attempt)
        secrets = self.document.secrets
        if isinstance(outcome, Retry) and outcome.reason == CREDENTIALS_REFUSED:
            renewed = self.directory.renew(self.name, self.document, attempt)
            if renewed is not None:
                outcome = renewed.sender.send(dispatch, attempt)
                secrets |= renewed.document.secrets
        return _told(outcome, attempt, secrets)


def _told(outcome: Outcome, attempt: Attempt, secrets: frozenset[str]) -> Outcome:
    """Return the outcome as it may be stored and logged, with what any try of the attempt may have delivered."""
    maybe = outcome.maybe_delivered or attempt.maybe_delivered
    if isinstance(outcome, Delivered):
        return replace(outcome, maybe_delivered=maybe)
    return replace(outcome, error=redact(outcome.error, secrets), maybe_delivered=maybe)
