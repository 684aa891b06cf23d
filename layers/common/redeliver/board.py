"""The work of one sweep, handed out so that neither a big backlog nor a slow endpoint starves another channel."""

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from redeliver.core import digest
from redeliver.core.notification import Notification
from redeliver.ports import Channel, Mode


@dataclass(frozen=True, slots=True)
class Unit:
    """What is attempted in one go: one record, or the members of one digest."""

    name: str
    channel: Channel
    records: tuple[Notification, ...]
    digest: bool


class Board:
    """Units waiting by channel; the next one is of the channel with the fewest in flight, then the first that came.

    While a channel is to go `alone`, its next unit waits until the one before is done: a probe.
    """

    def __init__(self, units: Iterable[Unit], alone: Callable[[str], bool] = lambda _: False) -> None:
        """Take the units, each channel's in the order in which they are to go."""
        self._alone = alone
        self._shut: set[str] = set()
        self._waiting: dict[str, deque[Unit]] = {}
        self._in_flight: Counter[str] = Counter()
        self._changed = threading.Condition()
        for unit in units:
            self._waiting.setdefault(unit.name, deque()).append(unit)

    def __len__(self) -> int:
        """Return how many units wait."""
        return sum(len(units) for units in self._waiting.values())

    def take(self) -> Unit | None:
        """Return the next unit, None when none waits; waits itself while only a probe can tell."""
        with self._changed:
            while not (open_ones := self._waiting.keys() - self._shut):
                if not self._waiting:
                    return None
                self._changed.wait()  # for a probe
            # The first of equals in the order in which the channels came, which the set has lost.
            name = min((n for n in self._waiting if n in open_ones), key=self._in_flight.__getitem__)
            unit = self._waiting[name].popleft()
            if not self._waiting[name]:
                del self._waiting[name]
            self._in_flight[name] += 1
            if self._alone(name):
                self._shut.add(name)
            return unit

    def done(self, unit: Unit) -> None:
        """Say that a unit that was taken is no longer in flight."""
        with self._changed:
            self._in_flight[unit.name] -= 1
            if unit.name in self._shut:
                self._shut.remove(unit.name)
                self._changed.notify_all()

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


def units(records: Iterable[Notification], channels: Mapping[str, Channel], *, alone: bool = False) -> Iterator[Unit]:
    """Return what is attempted in one go, in the order of the first record of each; `alone`: each record by itself."""
    immediate: list[Notification] = []
    digests: list[Notification] = []
    for record in records:
        (digests if channels[record.channel].mode is Mode.DIGEST else immediate).append(record)
    for group in ([each] for each in digests) if alone else digest.by_recipient(digests):
        channel = channels[group[0].channel]
        for members in digest.split(group, channel.weigh, channel.capacity):
            yield Unit(members[0].channel, channel, members, digest=True)
    for record in immediate:
        yield Unit(record.channel, channels[record.channel], (record,), digest=False)
