"""What system B asks for, by number (SPEC 11): a guard of container updates with a ledger, digests and findings.

B8 has its own tests beside the channels; here, that in-request retries do not show in the record.
"""

import json
from collections.abc import Iterator
from datetime import timedelta

import pytest
from aws_lambda_powertools import Logger

from redeliver.core.notification import OPEN, Dispatch, Notification, Status
from redeliver.core.outcome import Delivered, Outcome, Retry
from redeliver.ports import Mode
from redeliver.telemetry import EmfTelemetry
from tests.builders import NOW, at, final, record
from tests.fakes import FakeChannel
from tests.world import World

DOWN = Retry("http_503", "Service Unavailable")
DAY = timedelta(days=1)


@pytest.fixture
def world() -> World:
    made = World()
    made.channel = made.add_channel("security", FakeChannel(mode=Mode.DIGEST))
    return made


def ask(world: World, *keys: str, finding_id: str | None = None) -> None:
    for key in keys:
        assert world.send(channel="security", dedup_key=key, kind="cve", finding_id=finding_id).result == "accepted"


def of(world: World, *keys: str) -> list[Notification]:
    return [world.get(key, "security") for key in keys]


def fail_all_five(world: World, *keys: str) -> None:
    world.channel.always(DOWN)
    ask(world, *keys)
    for minutes in (0, 5, 10, 20, 40):
        world.sweep(minutes * 60)


def test_b1_a_failed_digest_marks_every_record_retrying(world: World) -> None:
    world.channel.will(DOWN)
    ask(world, "a", "b", "c")
    world.sweep()
    assert world.channel.sent == [["a", "b", "c"]]
    for one in of(world, "a", "b", "c"):
        assert (one.status, one.attempt_count, one.next_attempt_at) == (Status.RETRYING, 1, at(300))


def test_b2_gaps_of_5_10_20_40_minutes(world: World) -> None:
    world.channel.always(DOWN)
    ask(world, "a")
    world.sweep()
    for minutes in (5, 10, 20, 40):
        assert world.sweep(minutes * 60 - 1).looked_at == 0
        assert world.sweep(1).looked_at == 1
    assert of(world, "a")[0].status is Status.DEAD_LETTERED


def test_b3_nothing_due_and_the_channel_is_not_called(world: World) -> None:
    world.channel.will(DOWN)
    ask(world, "a")
    world.sweep()
    world.sweep(299)
    assert len(world.channel.calls) == 1


def test_b4_new_records_join_the_next_due_batch(world: World) -> None:
    world.channel.will(DOWN)
    ask(world, "old")
    world.sweep()
    world.clock.pass_by(300)
    ask(world, "new")
    world.sweep()
    assert sorted(world.channel.sent[1]) == ["new", "old"]
    old, new = of(world, "old", "new")
    assert old.dispatch_batch_id == new.dispatch_batch_id
    assert (old.attempt_count, new.attempt_count) == (2, 1)


def test_b4_a_new_record_waits_for_nobody(world: World) -> None:
    world.channel.will(DOWN)
    ask(world, "old")
    world.sweep()
    ask(world, "new")
    world.sweep(60)
    assert world.channel.sent == [["old"], ["new"]]


def test_b5_the_last_attempt_dead_letters(world: World) -> None:
    fail_all_five(world, "a", "b")
    for one in of(world, "a", "b"):
        assert (one.status, one.attempt_count, one.next_attempt_at) == (Status.DEAD_LETTERED, 5, None)
        assert (one.last_error, one.dead_lettered_at) == ("Service Unavailable", at(75 * 60))
    assert world.telemetry.warned("notification_dead_lettered")
    assert world.telemetry.counted("failed", channel="security", reason="transient") == 8
    assert world.telemetry.counted("failed", channel="security", reason="dead_lettered") == 2


def test_b5_later_runs_neither_retry_nor_accept_it_again(world: World) -> None:
    fail_all_five(world, "a")
    calls = len(world.channel.calls)
    assert world.send(channel="security", dedup_key="a").result == "duplicate"
    assert world.sweep(86400).looked_at == 0
    assert len(world.channel.calls) == calls == 5


def test_b6_recovery_is_sent_with_one_shared_batch_id(world: World) -> None:
    world.channel.will(DOWN, DOWN)
    ask(world, "a", "b")
    for seconds in (0, 300, 600):
        world.sweep(seconds)
    first, second = of(world, "a", "b")
    assert first.status is second.status is Status.SENT
    assert first.sent_at == second.sent_at == at(900)
    assert first.dispatch_batch_id == second.dispatch_batch_id == world.channel.calls[2].batch_id
    assert (first.last_error, first.next_attempt_at) == (None, None)


def test_b7_not_configured_costs_no_attempt() -> None:
    world = World()
    assert world.send(channel="security").result == "not_configured"
    for _ in range(10):
        world.sweep(1000)
    (one,) = of(world, "k1")
    assert (one.status, one.attempt_count) == (Status.PENDING, 0)
    world.add_channel("security")
    assert world.sweep(1000).sent == 1


def test_b8_a_whole_attempt_counts_once_however_often_it_asked(world: World) -> None:
    requests = []

    def respond(dispatch: Dispatch) -> Outcome:
        requests.extend(["first", "again", "and again"])  # the layer within the attempt
        return DOWN

    world.channel.respond = respond
    ask(world, "a")
    world.sweep()
    assert (len(requests), of(world, "a")[0].attempt_count) == (3, 1)


@pytest.mark.parametrize("days", [89, 90])
def test_b9_final_records_past_the_cutoff_go(world: World, days: int) -> None:
    ask(world, "a")
    world.sweep()
    world.clock.now = NOW + days * DAY
    assert world.has("a", "security") is (days < 90)


@pytest.mark.parametrize("status", sorted(OPEN))
def test_b10_open_ones_stay_whatever_their_age(world: World, status: Status) -> None:
    world.put(
        record(channel="security", dedup_key="old", status=status, created_at=NOW - 4000 * DAY, finding_id="CVE-1")
    )
    world.news("resolved")
    world.heal(86400)
    assert of(world, "old")[0].expires_at is None


def test_b11_a_record_of_an_active_finding_survives_the_cutoff(world: World) -> None:
    world.news("active")
    ask(world, "a", finding_id="CVE-1")
    world.sweep()
    for _ in range(200):
        world.heal(86400)
    assert world.has("a", "security")
    assert of(world, "a")[0].expires_at is None


def test_b11_a_record_of_a_finding_nobody_told_of_survives_too(world: World) -> None:
    ask(world, "a", finding_id="CVE-1")
    world.sweep()
    world.heal(200 * 86400)
    assert world.has("a", "security")


@pytest.mark.parametrize("status", ["resolved", "deleted"])
def test_b12_a_record_of_a_resolved_or_deleted_finding_goes(world: World, status: str) -> None:
    ask(world, "a", finding_id="CVE-1")
    world.sweep()
    world.clock.pass_by(60)
    world.news(status)
    assert of(world, "a")[0].expires_at == NOW + 90 * DAY
    world.clock.now = NOW + 90 * DAY
    assert not world.has("a", "security")


def test_b13_the_retention_log_says_how_many_went(world: World) -> None:
    world.retain().removed(["security"] * 7)
    (line,) = world.telemetry.of("retention_finished")
    assert (line["removed"], line["trigger"]) == (7, "stream")
    assert world.telemetry.counted("forgotten") == 7


def test_b14_a_finding_active_longer_than_the_window_is_not_notified_again(world: World) -> None:
    world.news("active")
    ask(world, "CVE-1:nginx", finding_id="CVE-1")
    world.sweep()
    for _ in range(20):
        world.clock.pass_by(30 * 86400)
        again = world.send(channel="security", dedup_key="CVE-1:nginx", kind="cve", finding_id="CVE-1")
        assert again.result == "duplicate"
        world.heal()
        world.sweep()
    assert len(world.channel.calls) == 1


@pytest.fixture
def emf(monkeypatch: pytest.MonkeyPatch) -> EmfTelemetry:
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "redeliver-test")
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "redeliver")
    return EmfTelemetry(Logger(service="redeliver-test"))


def test_b15_counters_and_gauges_carry_their_tags(emf: EmfTelemetry, capsys: pytest.CaptureFixture[str]) -> None:
    world = World()
    world.telemetry = emf  # type: ignore[assignment] # the real one, instead of the recording one
    world.accept = world.new_accept()
    outcomes: Iterator[Outcome] = iter([Delivered(), DOWN])
    world.channel.respond = lambda dispatch: next(outcomes)
    world.send(dedup_key="a", kind="cve")
    world.send(dedup_key="b", kind="cve")
    world.send(dedup_key="a", kind="cve")
    world.send(dedup_key="c", suppress="seen")
    world.send(channel="nowhere")
    world.send(kind="NO")
    world.put(final(Status.DEAD_LETTERED, dedup_key="dead"))
    world.sweep()
    emf.flush()
    blobs = [json.loads(line) for line in capsys.readouterr().out.splitlines() if '"_aws"' in line]
    seen = {}
    for blob in blobs:
        (directive,) = blob["_aws"]["CloudWatchMetrics"]
        assert directive["Namespace"] == "redeliver"
        (names,) = directive["Dimensions"]
        tags = tuple(sorted((name, blob[name]) for name in names))
        seen.update({(metric["Name"], tags): blob[metric["Name"]] for metric in directive["Metrics"]})
    service, channel = ("service", "redeliver-test"), ("channel", "ops")
    assert seen == {
        ("notifications.sent", (channel, ("kind", "cve"), service)): [1],
        ("notifications.failed", (channel, ("reason", "transient"), service)): [1],
        ("notifications.duplicate", (channel, service)): [1],
        ("notifications.suppressed", (channel, service)): [1],
        ("notifications.not_configured", (service,)): [2],
        ("notifications.invalid", (service,)): [1],
        ("notifications.pending", (service,)): [2],
        ("notifications.dead_letters", (service,)): [1],
        ("notifications.oldest_due_seconds", (service,)): [0],
        ("channels.held", (service,)): [1],
    }


@pytest.mark.parametrize("length", [1024, 1025])
def test_b16_last_error_has_at_most_1024_characters(world: World, length: int) -> None:
    world.channel.will(Retry("http_500", "x" * length))
    ask(world, "a")
    world.sweep()
    (one,) = of(world, "a")
    assert len(one.last_error or "") == 1024
    assert (one.last_error or "").endswith("x" if length == 1024 else "…")
