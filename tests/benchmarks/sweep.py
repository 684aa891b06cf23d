"""How near a sweep comes to its limit: 1,000 due, an endpoint that takes 50 ms, 32 attempts at once (SPEC 10).

`python -m tests.benchmarks.sweep`. The endpoint is a process of its own, so that what is measured is ours. The
yardstick, in the same run: as many requests from as many threads with one `requests.Session` and no store.
"""

import io
import json
import logging
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from statistics import median

import requests
from aws_lambda_powertools import Logger
from requests.adapters import HTTPAdapter

from infra.local.processes import ROOT, free_port
from redeliver import wiring
from redeliver.channels.attempt import Attempts
from redeliver.channels.directory import Directory
from redeliver.channels.transport import Transport
from redeliver.core.notification import Key, Notification, Row, Unreadable
from redeliver.core.policy import Policy
from redeliver.deliver import Deliver
from redeliver.ports import Ledger
from redeliver.sweep import Sweep
from redeliver.tally import Report
from redeliver.telemetry import EmfTelemetry
from tests.builders import record
from tests.memory import MemoryFindings, MemoryNotifications, MemoryStates

DUE, SECONDS, AT_ONCE, ROUNDS = 1000, 0.05, 32, 3
LIMIT = -(-DUE // AT_ONCE) * SECONDS  # 1.60 s: every thread busy with waiting all the time
HOOK = {"type": "webhook", "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "allow_private_network": True}


@dataclass(frozen=True, slots=True)
class Document:
    """A source of one document."""

    url: str
    longest_seconds: float = 0.0

    def fetch(self, name: str) -> object:
        """Return the document."""
        return {**HOOK, "url": self.url}


@dataclass(frozen=True, slots=True)
class Invocation:
    """A deadline that does not matter here."""

    end: float

    def left(self) -> timedelta:
        """Return the time that is left."""
        return timedelta(seconds=self.end - time.monotonic())


@dataclass(frozen=True, slots=True)
class Distant:
    """A ledger every call of which takes a while."""

    near: MemoryNotifications
    seconds: float

    def replace(self, before: Notification, after: Notification) -> bool:
        """Write as the near one does."""
        time.sleep(self.seconds)
        return self.near.replace(before, after)

    def get(self, key: Key) -> Row | None:
        """Read as the near one does."""
        time.sleep(self.seconds)
        return self.near.get(key)

    def add(self, record: Notification, now: datetime) -> bool:
        """Put as the near one does."""
        time.sleep(self.seconds)
        return self.near.add(record, now)

    def park(self, row: Unreadable, now: datetime) -> bool:
        """Park as the near one does."""
        time.sleep(self.seconds)
        return self.near.park(row, now)


@contextmanager
def slow_endpoint() -> Iterator[str]:
    """The address of an endpoint in a process of its own, each of whose answers takes SECONDS."""
    port = free_port()
    command = [sys.executable, "-m", "infra.local.endpoint", str(port)]
    with subprocess.Popen(command, cwd=ROOT) as child:
        try:
            script = json.dumps({"/hook": {"default": {"delay": SECONDS}}}).encode()
            for _ in range(100):
                try:
                    request = urllib.request.Request(f"http://127.0.0.1:{port}/_script", script, method="PUT")
                    urllib.request.urlopen(request).close()
                    break
                except OSError:
                    time.sleep(0.05)
            yield f"http://127.0.0.1:{port}/hook"
        finally:
            child.terminate()


def sweep_over(url: str, store_seconds: float) -> Callable[[], Report]:
    """Return a sweep over DUE fresh records."""
    near = MemoryNotifications(MemoryFindings())
    states = MemoryStates()
    states.open("hook")
    now = datetime.now(UTC).replace(microsecond=0)
    for number in range(DUE):
        fresh = record(channel="hook", dedup_key=f"k{number}", body="x" * 700, created_at=now, next_attempt_at=now)
        near.add(fresh, now)
    ledger: Ledger = Distant(near, store_seconds) if store_seconds else near
    telemetry = quiet()
    deliver = Deliver(
        ledger=ledger, telemetry=telemetry, policy=Policy(), clock=wiring.now, chance=lambda: 0.5, pause=time.sleep
    )
    recheck = timedelta(minutes=15)
    sweep = Sweep(
        ledger=near,
        lanes=near,
        channels=Directory(Document(url), Attempts(Transport(AT_ONCE)), recheck),
        states=states,
        deliver=deliver,
        telemetry=telemetry,
        clock=wiring.now,
        max_records=DUE,
        concurrency=AT_ONCE,
        recheck=recheck,
    )
    return lambda: sweep(Invocation(time.monotonic() + 60))


def yardstick(url: str) -> None:
    """Make DUE requests from AT_ONCE threads, and nothing else."""
    with requests.Session() as session:
        session.trust_env = False
        session.mount("http://", HTTPAdapter(pool_maxsize=AT_ONCE))
        body = b'{"body":"' + b"x" * 700 + b'"}'
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for answer in pool.map(lambda _: session.post(url, data=body, timeout=10), range(DUE)):
                assert answer.status_code == 200


def measured(work: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds of wall clock and of processor that some work takes."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def quiet() -> EmfTelemetry:
    """Return telemetry that does all its work and writes where nobody reads."""
    os.environ["POWERTOOLS_METRICS_NAMESPACE"] = "redeliver"
    return EmfTelemetry(Logger(service="bench", logger_handler=logging.StreamHandler(io.StringIO()), location=None))


def main() -> None:
    """Measure and tell; medians of ROUNDS, ratios to the limit and to the yardstick of this same run."""
    with slow_endpoint() as url:
        plain = median(measured(lambda: yardstick(url))[0] for _ in range(ROUNDS))
        print(f"threads alone: {plain / LIMIT:.2f} x the limit of {LIMIT:.2f} s")
        for store_seconds, goal in ((0.0, "1.10 x"), (0.005, "1.5 x, 2.0 ms")):
            runs = []
            for _ in range(ROUNDS):
                sweep = sweep_over(url, store_seconds)
                reports: list[Report] = []
                runs.append(measured(partial(_keep, sweep, reports)))
                assert reports[0].sent == DUE, reports
            wall = median(run[0] for run in runs)
            cpu = median(run[1] for run in runs) / DUE * 1000
            print(
                f"sweep, store of {store_seconds * 1000:g} ms: {wall / LIMIT:.2f} x the limit,"
                f" {wall / plain:.2f} x threads alone, {cpu:.2f} ms of CPU a notification (goal {goal})"
            )


def _keep(sweep: Callable[[], Report], reports: list[Report]) -> None:
    reports.append(sweep())


if __name__ == "__main__":
    main()
