"""A source of documents that is not waited for too long: it is spared when it gives no answer, or answers slowly."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import Lock

from redeliver.channels.sources import Source, SourceUnavailable

SPARED = timedelta(seconds=5)  # how long a source that gave no answer is left alone
# So long may be waited for it in one period. A sweep asks for one document after the other and has deliveries to make:
# those that it does not get to are for the next one.
PATIENCE = timedelta(seconds=10)
PERIOD = timedelta(seconds=30)
RENEWING = PATIENCE / 2  # of it: old documents serve on, so that others that are not known yet come first


class Patient:
    """Asks a source, with a moment; used from many threads (ADR 13). `monotonic` is the clock by which it waits."""

    def __init__(self, source: Source, monotonic: Callable[[], float]) -> None:
        """Ask nothing yet."""
        self._source = source
        self._monotonic = monotonic
        self._lock = Lock()
        self._spared_until = self._period_ends = datetime.min.replace(tzinfo=UTC)
        self._why = ""
        self._waited = timedelta()

    @property
    def longest_seconds(self) -> float:
        """Return how long `fetch` may take."""
        return self._source.longest_seconds

    def fetch(self, name: str, now: datetime, *, renewing: bool) -> object:
        """Return the document of a channel; raises Unavailable, at once while the source is spared."""
        self._may_ask(name, now, RENEWING if renewing else PATIENCE)
        began = self._monotonic()
        trouble = None
        try:
            return self._source.fetch(name)
        except SourceUnavailable as error:
            trouble = str(error)
            raise
        finally:
            self._took(timedelta(seconds=self._monotonic() - began), now, trouble)

    def _may_ask(self, name: str, now: datetime, patience: timedelta) -> None:
        with self._lock:
            if now >= self._period_ends:
                self._period_ends, self._waited = now + PERIOD, timedelta()
            if now < self._spared_until:
                raise SourceUnavailable(f"not asked for {name}: {self._why}")
            if self._waited >= patience:
                raise SourceUnavailable(f"not asked for {name}: reading documents has taken {self._waited}")

    def _took(self, took: timedelta, now: datetime, trouble: str | None) -> None:
        with self._lock:
            self._waited += took
            if trouble is not None:
                self._spared_until, self._why = now + took + SPARED, trouble
