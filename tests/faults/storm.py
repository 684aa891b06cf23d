"""A run: everything is asked for while everything fails; then the faults end, and what is left is drained."""

import json
import random
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from threading import Event, Lock
from typing import Any

from infra.local.stack import FunctionFailedError
from tests.faults.account import OPEN
from tests.faults.cast import Ask, Key, Way, asks
from tests.faults.killing import Killer
from tests.faults.stage import FUNCTIONS, Stage

CALLERS, SWEEPERS, BATCH = 2, 2, 10
KILL_EVERY, REQUESTS_BETWEEN = 4.0, 150  # seconds, and requests to the store that have to come between two kills
TRIES = 60  # of a caller that gets no answer
PATIENCE = 180.0  # seconds for the drain, most of them leases and a message's time of invisibility
LONGEST = 1800.0  # seconds, however slow the machine


class Storm:
    """One run over a stage; what came of it is in the fields and on the stage."""

    def __init__(self, stage: Stage, seed: int, number: int) -> None:
        self.stage = stage
        self.asks: Sequence[Ask] = asks(seed, number, datetime.now(UTC))
        self.told: dict[Key, list[Mapping[str, Any]]] = defaultdict(list)
        self.killer = Killer(
            [stage.stack.outputs[name] for name in FUNCTIONS], seed, KILL_EVERY, stage.requests, REQUESTS_BETWEEN
        )
        self.seconds: dict[str, float] = {}
        self._end = time.monotonic() + LONGEST
        self._length = max(12.0, number * 0.03)  # seconds in which everything is asked for, if it goes as fast
        self._outage = self._length / 3  # seconds without the store: longer than an invocation in a run of 2,000
        self._chance = random.Random(f"order {seed}")
        self._beside: list[Future[None]] = []  # what goes on until there is nothing left to do
        self._drained = Event()
        self._calm = Event()
        self._lock = Lock()
        self._asked, self._done = 0, 0  # calls and messages: how many there are, and have been answered or put

    def run(self) -> None:
        """Go through it from the first fault to the last record."""
        began = time.monotonic()
        with ThreadPoolExecutor(16) as pool:
            try:
                work = self._start(pool)
                self._storm(began, work)
                self.seconds["storm"] = time.monotonic() - began
                self._drain()
            finally:
                self._calm.set()
                self._drained.set()
        self.seconds["drain"] = time.monotonic() - began - self.seconds["storm"]
        for each in self._beside:
            each.result()

    def _start(self, pool: ThreadPoolExecutor) -> Sequence[Future[None]]:
        """Start all that goes on at once; return what has to end before the faults do."""
        self.stage.begin()
        calls, queued, published = self._calls(), self._batches(Way.QUEUE), self._batches(Way.BUS)
        self._asked = len(calls) + sum(map(len, queued + published))
        self._beside = [pool.submit(self.killer.run, self._calm), *(pool.submit(self._sweep) for _ in range(SWEEPERS))]
        work = [pool.submit(self._call, calls[first::CALLERS]) for first in range(CALLERS)]
        return [*work, pool.submit(self._enqueue, queued), pool.submit(self._publish, published)]

    def _storm(self, began: float, work: Sequence[Future[None]]) -> None:
        """Let the store be out for a while, and the broken channel's endpoint be repaired; until all is asked for."""
        self._await(0.3, work)
        self.stage.outage()
        time.sleep(self._outage)
        self.stage.begin()
        self._await(0.6, work)
        self.stage.repair()
        self._await(0.9, work)
        for each in work:
            each.result()
        time.sleep(max(began + self._length - time.monotonic(), 0))

    def _await(self, share: float, work: Sequence[Future[None]]) -> None:
        """Wait until so much of what is asked for has been answered, or has left the queue; or something failed."""
        while self._done - self.stage.queued() < share * self._asked:
            if any(each.done() and each.exception() for each in work):
                return
            if time.monotonic() > self._end:
                raise TimeoutError(f"{self._done} of {self._asked} were asked for in {LONGEST:.0f} seconds")
            time.sleep(0.3)

    def _drain(self) -> None:
        """Wait until the leases of what was killed are over, the queue is empty, and nothing is open."""
        self._calm.set()
        self.stage.end()
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and (self.stage.queued() or self._open()):
            self.stage.release()
            time.sleep(0.5)

    def _open(self) -> int:
        return sum(record["status"] in OPEN for record in self.stage.records().values())

    def _sweep(self) -> None:
        while not self._drained.wait(0.2):
            self._invoke("RetrySweeperFunction", {})

    def _calls(self) -> list[list[Ask]]:
        """Return what is asked for directly, in calls of one to ten; a notification may be in several."""
        wanted = [ask for ask in self.asks if ask.way is Way.DIRECT for _ in range(ask.times)]
        self._chance.shuffle(wanted)
        calls = []
        while wanted:
            size = self._chance.randint(1, BATCH)
            calls.append(wanted[:size])
            wanted = wanted[size:]
        return calls

    def _call(self, calls: Sequence[Sequence[Ask]]) -> None:
        """Make calls, each until it is answered."""
        for call in self._paced(calls):
            payload = {"notifications": [ask.notification for ask in call]}
            for _ in range(TRIES):
                if self._drained.is_set():
                    return
                if (answer := self._invoke("SendFunction", payload)) is not None:
                    break
                time.sleep(0.5)
            else:
                raise TimeoutError(f"a call was not answered in {TRIES} tries")
            with self._lock:
                self._done += 1
                for ask, result in zip(call, answer["results"], strict=True):
                    self.told[ask.key].append(result)

    def _enqueue(self, batches: Sequence[Sequence[Ask]]) -> None:
        url = self.stage.stack.outputs["SendQueue"]
        for batch in self._paced(batches):
            entries = [{"Id": str(n), "MessageBody": json.dumps(ask.notification)} for n, ask in enumerate(batch)]
            self.stage.stack.client("sqs").send_message_batch(QueueUrl=url, Entries=entries)
            self._put(batch)

    def _publish(self, batches: Sequence[Sequence[Ask]]) -> None:
        usual = {
            "Source": "faults",
            "DetailType": "Notification Requested",
            "EventBusName": self.stage.stack.outputs["NotificationBus"],
        }
        for batch in self._paced(batches):
            entries = [usual | {"Detail": json.dumps(ask.notification)} for ask in batch]
            self.stage.stack.client("events").put_events(Entries=entries)
            self._put(batch)

    def _put(self, batch: Sequence[Ask]) -> None:
        with self._lock:
            self._done += len(batch)

    def _batches(self, way: Way) -> list[list[Ask]]:
        """Return what goes in that way, in any order: the same message twice is two deliveries of a queue."""
        wanted = [ask for ask in self.asks if ask.way is way for _ in range(ask.times)]
        self._chance.shuffle(wanted)
        return [wanted[first : first + BATCH] for first in range(0, len(wanted), BATCH)]

    def _paced(self, parts: Sequence[Sequence[Ask]]) -> Iterator[Sequence[Ask]]:
        """Return the parts, spread over most of the run; late ones at once."""
        began = time.monotonic()
        for number, part in enumerate(parts):
            time.sleep(max(began + 0.9 * self._length * number / len(parts) - time.monotonic(), 0))
            if self._drained.is_set():
                return  # the run has failed elsewhere
            yield part

    def _invoke(self, function: str, payload: object) -> Any:
        """Return a function's answer, None if it failed: its logs say how."""
        try:
            return self.stage.stack.invoke(function, payload)
        except FunctionFailedError:
            return None
