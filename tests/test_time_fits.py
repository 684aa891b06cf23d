"""Every wait is longer than what it waits for: the times of the template against each other and those of the code."""

import copy
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from redeliver import queue
from redeliver.channels import sources
from redeliver.channels.attempt import ATTEMPT_SECONDS
from redeliver.channels.patient import PATIENCE, PERIOD
from redeliver.channels.sources import ParameterStore
from redeliver.core.hold import PROBE_FOR
from redeliver.core.notification import Dispatch
from redeliver.core.outcome import Delivered, Outcome
from redeliver.deliver import ATTEMPT_BUDGET, WRITE_EACH, WRITE_MARGIN, claim_until
from redeliver.intake import PUT_ASIDE
from redeliver.retain import TIME_FOR_ONE
from redeliver.store import connection
from redeliver.store.notifications import PAGE
from tests.builders import NOW, raw
from tests.fakes import Clock, Until
from tests.test_template import TEMPLATE
from tests.world import World

LONGEST_OUTAGE = timedelta(minutes=20)  # of DynamoDB, that puts no message aside
LONGEST_THROTTLING = timedelta(hours=1)  # of Lambda, before it: each throttled delivery counts as a receive
LOOKED_AFTER = timedelta(days=7)  # so long may pass until somebody looks at a dead letter
ASYNCHRONOUS_AGE = timedelta(hours=6)  # Lambda's own, where the template says nothing
# A new notification: the channel's document, its row, that row made, the record.
STORING = 4 * WRITE_EACH


@dataclass(frozen=True, slots=True)
class Times:
    """What the template says."""

    run: timedelta  # the longest of a function
    batch: int
    gathering: timedelta
    hidden: timedelta
    receives: int
    queued: timedelta
    kept: timedelta  # the shortest of the dead-letter queues
    period: timedelta
    tick: timedelta  # for so long a sweep may wait for its start
    sweep_records: int


@dataclass(frozen=True, slots=True)
class Fit:
    """Something takes so long, and has so long."""

    says: str
    takes: timedelta
    has: timedelta


def read(template: dict[str, Any]) -> Times:
    """Return the times of a template."""
    resources = {name: each["Properties"] for name, each in template["Resources"].items()}
    general = template["Globals"]["Function"]["Timeout"]
    functions = [resources[name] for name in ("SendFunction", "RetrySweeperFunction", "RetentionFunction")]
    source = resources["SendFunction"]["Events"]["Queue"]["Properties"]
    queue, sweeper = resources["SendQueue"], resources["RetrySweeperFunction"]
    every = re.fullmatch(r"rate\((\d+) minutes?\)", template["Parameters"]["SweepSchedule"]["Default"])
    assert every is not None
    ticks = [
        timedelta(seconds=sweeper["Events"]["SweepSchedule"]["Properties"]["RetryPolicy"]["MaximumEventAgeInSeconds"]),
        timedelta(
            seconds=sweeper["EventInvokeConfig"].get("MaximumEventAgeInSeconds", ASYNCHRONOUS_AGE.total_seconds())
        ),
    ]
    aside = [resources[name]["MessageRetentionPeriod"] for name in ("SendDeadLetterQueue", "EventDeadLetterQueue")]
    return Times(
        run=timedelta(seconds=max(each.get("Timeout", general) for each in functions)),
        batch=source["BatchSize"],
        gathering=timedelta(seconds=source.get("MaximumBatchingWindowInSeconds", 0)),
        hidden=timedelta(seconds=queue["VisibilityTimeout"]),
        receives=queue["RedrivePolicy"]["maxReceiveCount"],
        queued=timedelta(seconds=queue["MessageRetentionPeriod"]),
        kept=timedelta(seconds=min(aside)),
        period=timedelta(minutes=int(every[1])),
        tick=max(ticks),
        sweep_records=template["Parameters"]["SweepMaxRecords"]["Default"],
    )


def try_of_dynamodb() -> timedelta:
    """Return how long one try of a request takes at most."""
    return timedelta(seconds=connection._CONNECT_SECONDS + connection._READ_SECONDS)


def request_of_dynamodb() -> timedelta:
    """Return how long a request takes until it is given up: its tries, and the pauses between them."""
    return (1 + connection._RETRIES) * try_of_dynamodb() + pauses(1 + connection._RETRIES)


def call_to_a_queue() -> timedelta:
    """Return how long a call to SQS takes until it is given up."""
    return timedelta(seconds=queue._TRIES * (queue._CONNECT_SECONDS + queue._READ_SECONDS)) + pauses(queue._TRIES)


def call_to_ssm() -> timedelta:
    """Return how long it takes until SSM is given up."""
    return timedelta(seconds=sources._TRIES * (sources._CONNECT_SECONDS + sources._READ_SECONDS)) + pauses(
        sources._TRIES
    )


def pauses(tries: int) -> timedelta:
    """Return how long botocore pauses between so many tries: up to 1, 2, 4 … 20 s."""
    return timedelta(seconds=sum(min(2**number, 20) for number in range(tries - 1)))


def room(members: int = 1) -> timedelta:
    """Return what must be left of a run for an attempt to begin: Deliver.room."""
    return ATTEMPT_BUDGET + WRITE_MARGIN + members * WRITE_EACH


def left_to_store(times: Times) -> int:
    """Return how many messages of a batch are left, at most, when its last attempt is over: WRITE_MARGIN is left.

    Attempts begin as long as there is room: the last one when room is just left, after others that took all they may.
    """
    attempted = math.ceil((times.run - room()) / (ATTEMPT_BUDGET + WRITE_MARGIN)) + 1
    return max(times.batch - attempted, 0)


def fits(times: Times) -> Iterator[Fit]:
    """Return all that has to fit."""
    lease = claim_until(NOW, Until(Clock(), NOW + times.run)) - NOW
    reading = 2 * math.ceil(times.sweep_records / PAGE) * WRITE_EACH
    yield Fit("an attempt begins in a run that has just begun", room(), times.run)
    yield Fit("an attempt keeps to its budget", timedelta(seconds=ATTEMPT_SECONDS), ATTEMPT_BUDGET)
    yield Fit(
        "channels' documents are read before an attempt, in the same run",
        PATIENCE + timedelta(seconds=ParameterStore.longest_seconds) + room(),
        times.run,
    )
    yield Fit(
        "no document takes longer to read than is said",
        call_to_ssm(),
        timedelta(seconds=ParameterStore.longest_seconds),
    )
    yield Fit("every sweep may wait for documents", PERIOD, times.period)
    yield Fit("all that a sweep takes goes out as one digest", reading + room(times.sweep_records), times.run)
    yield Fit(
        "a run outlives a request that DynamoDB does not answer, and can say so", request_of_dynamodb(), times.run
    )
    yield Fit("retention begins no request that may outlive its run", request_of_dynamodb(), TIME_FOR_ONE)
    yield Fit("retention begins no call to a queue that may outlive its run", call_to_a_queue(), TIME_FOR_ONE)
    yield Fit("no message is put aside beyond the run", call_to_a_queue(), PUT_ASIDE)
    yield Fit("retention has most of its run to work in", TIME_FOR_ONE, times.run / 3)
    yield Fit(
        "a lease outlives the run that took it, and a write on its way then", try_of_dynamodb(), lease - times.run
    )
    # It would be harmless: a message whose record is there is answered `duplicate`, leased or not.
    yield Fit("a lease is over before the queue hands its message out again", lease, times.hidden)
    yield Fit("the queue hides a message six times as long as a run", 6 * times.run + times.gathering, times.hidden)
    yield Fit("a batch is stored though its attempts take all their time", left_to_store(times) * STORING, WRITE_MARGIN)
    yield Fit(
        "a message is received as often as it may before it is too old", times.receives * times.hidden, times.queued
    )
    # A message keeps its age when it is put aside.
    yield Fit("a message put aside waits for somebody", times.receives * times.hidden + LOOKED_AFTER, times.kept)
    yield Fit("no message ends by being put aside", times.queued, times.kept)
    yield Fit(
        "an outage of DynamoDB after an hour of throttling puts no message aside",
        LONGEST_THROTTLING + LONGEST_OUTAGE,
        (times.receives - 1) * times.hidden,
    )
    # Two do no harm: each record goes out from one of them.
    yield Fit("no more than two sweeps are at work", times.run, times.period)
    yield Fit("sweeps that could not start do not all start later", times.tick, times.period)
    yield Fit("who probes a channel is done before another may", times.run, PROBE_FOR)


@pytest.mark.parametrize("fit", list(fits(read(TEMPLATE))), ids=lambda fit: fit.says)
def test_it_fits(fit: Fit) -> None:
    assert fit.takes <= fit.has, f"{fit.says}: takes {fit.takes}, has {fit.has}"


CHANGES = [
    ("Globals.Function.Timeout", 400, {
        "a lease is over before the queue hands its message out again", "no more than two sweeps are at work",
        "the queue hides a message six times as long as a run", "who probes a channel is done before another may",
    }),
    ("Globals.Function.Timeout", 12, {
        "all that a sweep takes goes out as one digest", "an attempt begins in a run that has just begun",
        "channels' documents are read before an attempt, in the same run",
        "a run outlives a request that DynamoDB does not answer, and can say so",
        "retention has most of its run to work in",
    }),
    ("Resources.SendQueue.Properties.VisibilityTimeout", 30, {
        "a lease is over before the queue hands its message out again",
        "an outage of DynamoDB after an hour of throttling puts no message aside",
        "the queue hides a message six times as long as a run",
    }),
    ("Resources.SendFunction.Properties.Events.Queue.Properties.MaximumBatchingWindowInSeconds", 60, {
        "the queue hides a message six times as long as a run",
    }),
    ("Resources.SendFunction.Properties.Events.Queue.Properties.BatchSize", 20, {
        "a batch is stored though its attempts take all their time",
    }),
    ("Resources.SendQueue.Properties.RedrivePolicy.maxReceiveCount", 14, {
        "an outage of DynamoDB after an hour of throttling puts no message aside",
    }),
    ("Resources.SendQueue.Properties.MessageRetentionPeriod", 1200, {
        "a message is received as often as it may before it is too old",
    }),
    ("Resources.SendDeadLetterQueue.Properties.MessageRetentionPeriod", 345600, {
        "a message put aside waits for somebody", "no message ends by being put aside",
    }),
    ("Resources.RetrySweeperFunction.Properties.EventInvokeConfig.MaximumEventAgeInSeconds", 3600, {
        "sweeps that could not start do not all start later",
    }),
    ("Parameters.SweepMaxRecords.Default", 1000, {"all that a sweep takes goes out as one digest"}),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "broken"), CHANGES, ids=[f"{path}={value}" for path, value, _ in CHANGES])
def test_what_does_not_fit_any_more_is_named(path: str, value: int, broken: set[str]) -> None:
    template = copy.deepcopy(TEMPLATE)
    *above, last = path.split(".")
    inner = template
    for name in above:
        inner = inner[name]
    inner[last] = value
    assert _broken(template) - _broken(TEMPLATE) == broken - _broken(TEMPLATE)


def _broken(template: dict[str, Any]) -> set[str]:
    return {fit.says for fit in fits(read(template)) if fit.takes > fit.has}


@pytest.mark.parametrize("members", [1, 2, 500])
def test_an_attempt_begins_only_if_there_is_room_for_it_and_its_writes(members: int) -> None:
    begins = World().deliver().room
    assert begins(Until(Clock(), NOW + room(members)), members)
    assert not begins(Until(Clock(), NOW + room(members) - timedelta(microseconds=1)), members)


def test_a_message_that_comes_again_during_its_attempt_is_a_duplicate_and_sends_nothing() -> None:
    world = World()

    def again(dispatch: Dispatch) -> Outcome:
        assert world.new_accept()(raw(), world.deadline()).result == "duplicate"
        assert world.sweep().sent == 0
        return Delivered()

    world.channel.respond = again
    assert world.send().result == "sent"
    assert len(world.channel.calls) == 1
