"""Processes that end in the middle of an attempt: what each costs, and that nothing stays behind (SPEC 10).

Real processes, DynamoDB of the local stack, real HTTP to a local server.
"""

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest

from infra.local.emulator import ministack
from infra.local.endpoint import Endpoint, Step
from infra.local.processes import CREDENTIALS, REGION, ROOT, aws_environment
from redeliver.core.notification import INTERRUPTED, Notification, Status
from redeliver.core.policy import Policy
from redeliver.store import items
from tests.builders import record
from tests.stores import tables

AT_ONCE = 32
HOOK = {"type": "webhook", "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "allow_private_network": True}
LEASE = 65  # of an invocation of 60 seconds


@dataclass(frozen=True)
class Place:
    """The tables, the endpoint, and what a sweeper's environment says."""

    client: Any
    endpoint: Endpoint
    environment: dict[str, str]

    def put(self, *keys: str) -> None:
        """Store notifications that are due."""
        for key in keys:
            one = record(dedup_key=key)
            item = {"channel": {"S": "ops"}, "dedup_key": {"S": key}, **items.to_item(one)}
            self.client.put_item(TableName="NotificationsTable", Item={**item, "next_attempt_at": {"N": "1"}})
        self.client.put_item(TableName="ChannelsTable", Item={"channel": {"S": "ops"}})

    @contextmanager
    def sweeper(self, left: float, shift: float = 0, deadly: str = "") -> Iterator[subprocess.Popen[bytes]]:
        """Run a sweep in a process of its own; what is left of it at the end is killed."""
        command = [sys.executable, "-m", "tests.crash.sweeper", str(left), str(shift), deadly]
        running = subprocess.Popen(
            command, cwd=ROOT, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        try:
            yield running
        finally:
            running.kill()
            running.communicate()

    def sweep(self, shift: float = 0, deadly: str = "") -> int:
        """Run a sweep to its end, however it ends, and return its exit code."""
        with self.sweeper(60, shift, deadly) as running:
            _, errors = running.communicate(timeout=90)
            assert running.returncode in (0, 9), errors.decode()
            return running.returncode

    def records(self) -> dict[str, Notification]:
        """Return all records by dedup key."""
        pages = self.client.get_paginator("scan").paginate(TableName="NotificationsTable", ConsistentRead=True)
        rows = [items.from_item(item) for page in pages for item in page["Items"]]
        assert all(isinstance(row, Notification) for row in rows)
        return {row.dedup_key: row for row in rows if isinstance(row, Notification)}

    def told(self) -> Counter[str]:
        """Return how often the endpoint was told of each notification; a request that broke off told it nothing."""
        whole = [request.body for request in self.endpoint.requests("/hook") if request.body.endswith("}")]
        return Counter(json.loads(body)["data"]["dedup_key"] for body in whole)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with Endpoint() as endpoint, ministack() as address:
        client = boto3.client("dynamodb", endpoint_url=address, region_name=REGION, **CREDENTIALS)  # type: ignore[call-overload]
        for name, properties in tables().items():
            client.create_table(TableName=name, **properties)
        documents = tmp_path / "channels.json"
        documents.write_text(json.dumps({"ops": {**HOOK, "url": endpoint.url("/hook")}}))
        environment = aws_environment(address) | {
            "NOTIFICATIONS_TABLE": "NotificationsTable",
            "CHANNELS_TABLE": "ChannelsTable",
            "CHANNELS_FILE": str(documents),
            "SWEEP_MAX_RECORDS": "10000",
            "SWEEP_CONCURRENCY": str(AT_ONCE),
            "POWERTOOLS_METRICS_DISABLED": "true",
            "POWERTOOLS_SERVICE_NAME": "redeliver",
            "POWERTOOLS_METRICS_NAMESPACE": "redeliver",
        }
        yield Place(client, endpoint, environment)


def test_an_attempt_that_kills_its_process_costs_one_attempt_each_time(place: Place) -> None:
    beside = [f"k{number:02}" for number in range(40)]
    place.put("deadly", *beside)
    codes = [place.sweep(LEASE * run, "deadly") for run in range(12)]
    found = place.records()
    deadly = found.pop("deadly")
    most = Policy().max_attempts
    assert codes.count(9) == most
    assert (deadly.status, deadly.last_reason) == (Status.DEAD_LETTERED, INTERRUPTED)
    assert (deadly.attempt_count, deadly.maybe_delivered) == (most, True)
    assert {one.status for one in found.values()} == {Status.SENT}
    told = place.told()
    assert told.keys() == set(beside)
    assert all(found[key].maybe_delivered for key, times in told.items() if times > 1)


def test_a_sweep_that_is_killed_in_mid_drain_leaves_nothing_unfinished_one_lease_later(place: Place) -> None:
    keys = [f"k{number:03}" for number in range(600)]
    place.put(*keys)
    place.endpoint.script("/hook", default=Step(delay=0.05))
    with place.sweeper(20) as killed:
        _wait_for(place, len(keys) * 3 // 10, killed)
        killed.kill()  # -9
        killed.wait()
    unfinished = [one for one in place.records().values() if one.status is not Status.SENT]
    leases = [one.claimed_until for one in unfinished if one.claimed_until is not None]
    assert unfinished
    assert 0 < len(leases) <= AT_ONCE
    time.sleep(max(max(lease.timestamp() for lease in leases) - time.time(), 0))  # nobody helps, time just passes
    assert place.sweep() == 0
    found = place.records()
    assert {one.status for one in found.values()} == {Status.SENT}
    told = place.told()
    assert told.keys() == set(keys)
    repeated = [key for key, times in told.items() if times > 1]
    assert len(repeated) <= AT_ONCE
    assert max(told.values()) <= 2
    assert all(found[key].maybe_delivered for key in repeated)


def _wait_for(place: Place, number: int, running: "subprocess.Popen[bytes]") -> None:
    while len(place.endpoint.requests("/hook")) < number:
        assert running.poll() is None, "the sweep was over before it could be killed"
        time.sleep(0.01)
