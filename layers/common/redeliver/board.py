"""The work of one sweep, handed out so that neither a big backlog nor a slow endpoint starves another channel."""

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from redeliver.core.notification import Notification
from redeliver.ports import Channel


@dataclass(frozen=True, slots=True)
class Unit:
    """What is attempted in one go: one record, or the members of one digest."""

    name: str
    channel: Channel
    records: tuple[Notification, ...]
    digest: bool


class Board:
    """Units waiting by channel; the next one is of the channel with the fewest in flight, then the first that came."""

    def __init__(self, units: Iterable[Unit]) -> None:
        """Take the units, each channel's in the order in which they are to go."""
        self._waiting: dict[str, deque[Unit]] = {}
        self._in_flight: Counter[str] = Counter()
        self._lock = threading.Lock()
        for unit in units:
            self._waiting.setdefault(unit.name, deque()).append(unit)

    def __len__(self) -> int:
        """Return how many units wait."""
        return sum(len(units) for units in self._waiting.values())

    def take(self) -> Unit | None:
        """Return the next unit, None when none waits."""
        with self._lock:
            if not self._waiting:
                return None
            name = min(self._waiting, key=self._in_flight.__getitem__)  # min keeps the first of equals
            unit = self._waiting[name].popleft()
            if not self._waiting[name]:
                del self._waiting[name]
            self._in_flight[name] += 1
            return unit

    def done(self, unit: Unit) -> None:
        """Say that a unit that was taken is no longer in flight."""
        with self._lock:
            self._in_flight[unit.name] -= 1

    def work(self, handle: Callable[[Unit], None], concurrency: int) -> None:
        """Handle all units on up to that many threads; returns when none waits and none is in flight."""
        workers = min(concurrency, len(self))
        if workers == 0:
            return
        with ThreadPoolExecutor(workers, thread_name_prefix="sweep") as pool:
            for finished in [pool.submit(self._drain, handle) for _ in range(workers)]:
                finished.result()

    def _drain(self, handle: Callable[[Unit], None]) -> None:
        while (unit := self.take()) is not None:
            try:
                handle(unit)
            finally:
                self.done(unit)
