"""The audit: a row that breaks a rule is found by that rule, and what the use cases write breaks none."""

import random
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from redeliver.core.finding import FindingStatus
from redeliver.core.notification import UNREADABLE, Key, Notification, Status
from redeliver.core.outcome import Delivered, Gone, Outcome, Reject, Retry
from redeliver.core.policy import Policy
from redeliver.operator.audit import LONGEST_LEASE, LONGEST_UNSETTLED, RULES, Breach, audit
from tests.builders import NOW, at, final, finding, record
from tests.fakes import FakeChannel
from tests.world import World

GONE_SOON: dict[str, Any] = {"expires_at": at(86400)}
DEAD = Status.DEAD_LETTERED


def audited(world: World, *channels: str) -> list[Breach]:
    return list(audit(world.memory, world.known, channels or ("ops",), world.policy, world.clock.now))


# By the rule: a record that breaks it and nothing else.
BROKEN: Mapping[str, Notification] = {
    "only what is open has a next attempt": final(sent_at=NOW, next_attempt_at=NOW, **GONE_SOON),
    "only dead letters have the moment of their death": final(sent_at=NOW, dead_lettered_at=NOW, **GONE_SOON),
    "only what was sent has the moment of it": final(DEAD, sent_at=NOW, **GONE_SOON),
    "only what is open is claimed": final(sent_at=NOW, claimed_until=at(9), **GONE_SOON),
    "no claim outlives the longest invocation": record(claimed_until=NOW + LONGEST_LEASE + timedelta(seconds=1)),
    "what is open is not forgotten": record(**GONE_SOON),
    "what an unresolved finding needs is not forgotten": final(sent_at=NOW, finding_id="CVE-2", **GONE_SOON),
    "what no finding needs is forgotten in time": final(sent_at=NOW),
    "no record has more attempts than are allowed": record(attempt_count=6),
    "no wait is longer than the longest": record(next_attempt_at=at(86400 + 301)),
    "every channel with records has a row": record(channel="unknown"),
}


def test_every_rule_has_its_case() -> None:
    assert BROKEN.keys() == RULES.keys()


@pytest.mark.parametrize("rule", list(BROKEN))
def test_a_row_that_breaks_a_rule_is_found(rule: str) -> None:
    world = World()
    broken = BROKEN[rule]
    world.put(broken, record(dedup_key="fine"), final(dedup_key="sent", sent_at=NOW, **GONE_SOON))
    world.known.put(finding(FindingStatus.ACTIVE, finding_id="CVE-2"))
    assert audited(world) == [Breach(rule, f"{broken.channel} k1", f"status {broken.status.value}")]


@pytest.mark.parametrize(
    "fine",
    [
        record(claimed_until=NOW + LONGEST_LEASE),
        record(attempt_count=5),
        record(next_attempt_at=at(86400 + 300)),
        final(DEAD, last_reason=UNREADABLE),
        final(sent_at=NOW, finding_id="CVE-1", **GONE_SOON),
        final(sent_at=NOW, finding_id="CVE-1"),
        final(sent_at=NOW, dead_lettered_at=NOW, expires_at=NOW),
    ],
    ids=["lease", "attempts", "wait", "parked", "resolved", "kept", "absent"],
)
def test_what_is_just_allowed_is_not_found(fine: Notification) -> None:
    world = World()
    world.put(fine)
    world.known.put(finding())
    assert audited(world) == []


def test_a_row_that_cannot_be_read_is_found_until_it_is_parked() -> None:
    world = World()
    world.memory.plant(Key("ops", "bad"))
    [found] = audited(world)
    assert (found.rule, found.subject) == ("every row can be read, or is parked", "ops bad")
    row = world.memory.get(Key("ops", "bad"))
    assert row is not None
    assert not isinstance(row, Notification)
    world.memory.park(row, NOW)
    assert audited(world) == []


def test_a_finding_that_is_never_settled_is_found() -> None:
    world = World()
    world.known.put(finding())
    world.clock.now = NOW + LONGEST_UNSETTLED
    assert audited(world) == []
    world.clock.pass_by(1)
    [found] = audited(world)
    assert (found.rule, found.subject) == ("findings are settled within two days", "CVE-1")


@pytest.mark.parametrize("seed", range(20))
def test_whatever_the_use_cases_did_breaks_no_rule(seed: int) -> None:
    chance = random.Random(seed)
    world = World(policy=Policy(max_attempts=3))
    channels = {name: world.add_channel(name) for name in ("ops", "hook", "chat")}
    for step in range(120):
        _happen(world, chance, channels, step)
        assert audited(world, *(state.channel for state in world.states.all())) == []


def _happen(world: World, chance: random.Random, channels: Mapping[str, FakeChannel], step: int) -> None:
    outcomes: list[Outcome] = [
        Delivered(),
        Retry("http_503", "HTTP 503"),
        Retry("wait", "later", timedelta(hours=2)),
        Reject("no", "no"),
        Gone("gone", "gone"),
    ]
    name = chance.choice(sorted(channels))
    channels[name].always(chance.choice(outcomes))
    changes: dict[str, Any] = {"channel": name, "dedup_key": f"k{chance.randrange(60)}"}
    if chance.random() < 0.4:
        changes["finding_id"] = chance.choice(["CVE-1", "CVE-2"])
    if chance.random() < 0.1:
        changes["suppress"] = "not now"
    match chance.randrange(6):
        case 0 | 1:
            world.send(**changes)
        case 2 | 3:
            world.sweep(after=chance.choice([0, 60, 4000]))
        case 4:
            world.news(chance.choice(["active", "resolved"]), finding_id=chance.choice(["CVE-1", "CVE-2"]))
        case _:
            world.heal(after=3600)
            world.operate(command="redrive", channel=name, dedup_keys=[f"k{number}" for number in range(60)])


def test_the_run_of_the_use_cases_would_show_a_breach() -> None:
    world = World()
    world.send()
    sent = world.get()
    assert world.ledger.replace(sent, replace(sent, claimed_until=at(9)))
    assert [each.rule for each in audited(world)] == ["only what is open is claimed"]
