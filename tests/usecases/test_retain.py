from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from redeliver.core import retention
from redeliver.core.finding import Finding
from redeliver.core.notification import Key, Notification, Status, Unreadable
from redeliver.core.outcome import Retry
from redeliver.ports import Unavailable
from redeliver.retain import TIME_FOR_ONE, InvalidFinding, parse_finding
from tests.builders import NOW, at, final, news, record
from tests.world import World

DAYS = timedelta(days=90)
LAG = 600


def kept(**changes: object) -> Notification:
    return replace(final(finding_id="CVE-1"), **changes)  # type: ignore[arg-type] # well typed in each case


def test_resolved_stamps_what_is_final() -> None:
    world = World()
    world.put(kept(), final(Status.DEAD_LETTERED, dedup_key="dead", finding_id="CVE-1"))
    world.put(record(dedup_key="open", finding_id="CVE-1"), final(dedup_key="other", finding_id="CVE-2"))
    assert world.news("resolved").as_json() == {
        "stamped": 2,
        "released": 0,
        "kept_active": 0,
        "removed": 0,
        "failed_items": 0,
    }
    assert world.get().expires_at == world.get("dead").expires_at == NOW + DAYS
    assert world.get("open").expires_at is world.get("other").expires_at is None


def test_past_the_cutoff_it_expires_now() -> None:
    world = World()
    world.put(kept())
    world.clock.pass_by(100 * 86400)
    world.news("resolved")
    assert world.get().expires_at == world.clock.now
    assert not world.has()


def test_active_again_releases() -> None:
    world = World()
    world.put(kept())
    world.news("resolved")
    world.clock.pass_by(5)
    assert world.news("active").as_json() == {
        "stamped": 0,
        "released": 1,
        "kept_active": 1,
        "removed": 0,
        "failed_items": 0,
    }
    assert world.get().expires_at is None


def test_deleted_counts_as_resolved() -> None:
    world = World()
    world.put(kept())
    assert world.news("deleted").stamped == 1


def test_asked_for_again_after_it_was_resolved_keeps() -> None:
    world = World()
    world.put(kept())
    world.clock.pass_by(10)
    world.send(finding_id="CVE-1")
    assert world.news("resolved", 9).kept_active == 1
    assert world.get().expires_at is None
    assert world.news("resolved", 10).stamped == 1


def test_asked_for_again_after_the_stamp_keeps() -> None:
    world = World()
    world.put(kept())
    world.news("resolved")
    world.clock.pass_by(10)
    world.send(finding_id="CVE-1")
    assert world.get().expires_at is None
    assert world.heal(LAG).as_json() == {"stamped": 0, "released": 0, "kept_active": 1, "removed": 0, "failed_items": 0}


@pytest.mark.parametrize("order", [("active", "resolved"), ("resolved", "active")], ids=" then ".join)
@pytest.mark.parametrize(
    ("resolved", "forgotten"), [(1, True), (0, False), (-1, False)], ids=["later", "tie", "earlier"]
)
def test_events_in_any_order_come_to_the_same(order: tuple[str, str], resolved: float, forgotten: bool) -> None:
    world = World()
    world.put(kept(requested_at=at(-10)))
    for status in order:
        world.news(status, resolved if status == "resolved" else 0)
    assert (world.get().expires_at is not None) is forgotten


def test_an_older_event_changes_nothing_and_says_so() -> None:
    world = World()
    world.put(kept(requested_at=at(-10)))
    world.news("active", 5)
    assert world.news("resolved", 4).stamped == 0
    assert world.telemetry.of("finding_outdone") == [
        {"finding_id": "CVE-1", "changed_at": "2026-11-30T12:00:04.000000000Z"}
    ]


def test_the_same_event_again_finishes_what_died_half_way() -> None:
    world = World()
    world.put(*(kept(dedup_key=f"{n:03}") for n in range(150)))
    real, calls = world.memory.stamp, iter([True])

    def die_once(finding: Finding, pairs: list[tuple[Notification, Notification]]) -> int:
        if len(pairs) < 99 and next(calls, False):
            raise Unavailable("DynamoDB: down")
        return real(finding, pairs)

    world.memory.stamp = die_once  # type: ignore[method-assign,assignment] # the fake's own
    with pytest.raises(Unavailable):
        world.news("resolved")
    assert world.news("resolved").stamped == 51
    assert world.news("resolved").stamped == 0


@pytest.mark.parametrize("number", [0, 1, 99, 100, 250])
def test_all_of_many_records(number: int) -> None:
    world = World()
    world.put(*(kept(dedup_key=f"{n:03}") for n in range(number)))
    assert world.news("resolved").stamped == number
    world.clock.pass_by(1)
    assert world.news("active").released == number
    assert all(world.get(f"{n:03}").expires_at is None for n in range(number))


def test_what_an_index_shows_late_of_another_finding_is_left_alone() -> None:
    world = World()
    world.put(kept(expires_at=NOW))
    world.memory.lag()
    assert world.send(finding_id="CVE-2").result == "sent"  # the earlier record is absent: this is a new one
    assert world.news("resolved", 1).stamped == 0
    assert world.get().expires_at is None


# healing


def test_what_was_open_is_stamped_by_a_later_pass() -> None:
    world = World()
    world.channel.always(Retry("http_500", "x"))
    world.send(finding_id="CVE-1")
    world.news("resolved", 1)
    assert world.heal(LAG).stamped == 0
    assert world.known.rows["CVE-1"].unsettled is not None
    world.add_channel("ops")
    assert world.sweep().sent == 1
    assert world.get().expires_at is None
    assert world.heal(86400).stamped == 1
    assert world.known.rows["CVE-1"].unsettled is None
    assert world.known.expiry["CVE-1"] == world.clock.now + DAYS


@pytest.mark.parametrize(("after", "settled"), [(LAG - 1, False), (LAG, True)])
def test_a_finding_is_left_to_settle_for_ten_minutes(after: float, settled: bool) -> None:
    world = World()
    world.put(kept())
    world.memory.lag()
    world.put(kept(dedup_key="new"))
    world.news("resolved")
    assert world.get("new").expires_at is None  # the index did not show it yet
    world.memory.catch_up()
    assert world.heal(after).stamped == 1
    assert (world.known.rows["CVE-1"].unsettled is None) is settled


def test_healing_releases_too() -> None:
    world = World()
    world.put(kept(), kept(dedup_key="odd", expires_at=at(10**7)))
    world.known.put(parse_finding(news("active"), NOW))
    assert world.heal(LAG).as_json() == {"stamped": 0, "released": 1, "kept_active": 2, "removed": 0, "failed_items": 0}
    assert world.get("odd").expires_at is None
    assert world.known.rows["CVE-1"].unsettled is None
    assert "CVE-1" not in world.known.expiry


def test_an_open_record_never_keeps_an_expiry() -> None:
    world = World()
    world.put(record(finding_id="CVE-1", expires_at=at(10**7)))
    world.known.put(parse_finding(news("resolved"), NOW))
    assert world.heal(LAG).released == 1
    assert world.get().expires_at is None


def test_an_active_finding_with_an_open_record_is_settled_later() -> None:
    world = World()
    world.put(record(finding_id="CVE-1"))
    world.news("active")
    world.heal(LAG)
    assert world.known.rows["CVE-1"].unsettled is not None


def test_a_pass_that_runs_out_of_time_leaves_the_rest_for_the_next() -> None:
    world = World()
    world.news("active")
    world.clock.pass_by(LAG)
    world.heal(left=TIME_FOR_ONE - timedelta(seconds=0.1))
    assert world.telemetry.warned("retention_cut_short")
    assert world.known.rows["CVE-1"].unsettled is not None
    world.heal(left=TIME_FOR_ONE)
    assert world.known.rows["CVE-1"].unsettled is None


def test_healing_twice_is_healing_once() -> None:
    world = World()
    world.put(kept())
    world.news("resolved")
    world.heal(LAG)
    writes = world.memory.writes
    assert set(world.heal(86400).as_json().values()) == {0}
    assert world.memory.writes == writes


# others at the same time


def in_between(world: World, change: Callable[[], object]) -> None:
    real = world.memory.stamp

    def stamp(finding: Finding, pairs: list[tuple[Notification, Notification]]) -> int:
        change()
        return real(finding, pairs)

    world.memory.stamp = stamp  # type: ignore[method-assign,assignment] # the fake's own


def test_a_request_between_reading_and_stamping_keeps_the_record() -> None:
    world = World()
    world.put(kept(), kept(dedup_key="other"))

    def ask_again() -> None:
        world.clock.pass_by(3)
        world.send(finding_id="CVE-1")

    in_between(world, ask_again)
    assert world.news("resolved").stamped == 1
    assert world.get().expires_at is None
    assert world.get("other").expires_at is not None


def test_news_between_reading_and_stamping_stops_the_stamp() -> None:
    world = World()
    world.put(kept())
    in_between(world, lambda: world.known.put(parse_finding(news("active", 9), NOW)))
    assert world.news("resolved").stamped == 0
    assert world.get().expires_at is None


def test_a_redrive_between_reading_and_stamping_stops_the_stamp() -> None:
    world = World()
    world.put(replace(final(Status.DEAD_LETTERED), finding_id="CVE-1"))
    in_between(world, lambda: world.operate(command="redrive", channel="ops", dedup_keys=["k1"]))
    assert world.news("resolved").stamped == 0
    assert (world.get().status, world.get().expires_at) == (Status.PENDING, None)


def test_a_stamp_between_reading_and_redriving_stops_the_redrive() -> None:
    world = World()
    world.put(replace(final(Status.DEAD_LETTERED), finding_id="CVE-1"))
    world.ledger.on_write = lambda: world.news("resolved")
    world.operate(command="redrive", channel="ops", dedup_keys=["k1"])
    assert world.get().status is Status.DEAD_LETTERED


def test_a_stamp_between_reading_and_asking_again_does_not_stay() -> None:
    world = World()
    world.put(kept())
    world.clock.pass_by(9)

    def first_write() -> None:  # the put, which finds the record; the update follows
        world.ledger.on_write = lambda: world.news("resolved", 0)

    world.ledger.on_write = first_write
    assert world.send(finding_id="CVE-1").result == "duplicate"
    assert world.get().expires_at is None


def test_unreadable_rows_are_parked_counted_and_stop_nobody() -> None:
    world = World()
    world.memory.plant(Key("ops", "bad"), finding_id="CVE-1")
    world.put(kept())
    assert world.news("resolved").stamped == 1
    row = world.ledger.get(Key("ops", "bad"))
    assert isinstance(row, Unreadable)
    assert row.parked
    assert world.telemetry.counted("unreadable") == 1


# the stream, the log line


def test_what_dynamodb_removed_is_counted() -> None:
    world = World()
    assert world.retain().removed(["ops", "ops", "daily"]).removed == 3
    assert world.telemetry.counted("forgotten") == 3
    assert world.telemetry.of("retention_finished")[0]["removed"] == 3
    assert world.retain().removed([]).removed == 0
    assert world.telemetry.counted("forgotten") == 3


@pytest.mark.parametrize(
    ("detail", "allowed"),
    [
        (None, "detail: must be an object with finding_id, status and changed_at"),
        (["x"], "detail: must be an object"),
        ({}, "finding_id: must be a string"),
        (news(finding_id=""), "finding_id: must have 1 to 1024 bytes"),
        (news(finding_id="é" * 513), "finding_id: must have 1 to 1024 bytes"),
        (news(finding_id="\ud800"), "finding_id: must be valid Unicode"),
        ({**news(), "finding_id": 5}, "finding_id: must be a string"),
        (news("open"), "status: must be one of active, resolved, deleted; got 'open'"),
        ({**news(), "status": None}, "status: must be one of"),
        ({**news(), "status": ["active"]}, "status: must be one of"),
        ({**news(), "changed_at": 1764504000}, "changed_at: must be an RFC 3339"),
        ({**news(), "changed_at": "yesterday"}, "changed_at: not an RFC 3339"),
        ({**news(), "changed_at": "2026-02-30T00:00:00Z"}, "changed_at: not a moment in the calendar"),
        ({**news(), "severity": 5}, "'severity': unknown field; allowed are finding_id, status, changed_at"),
    ],
    ids=str,
)
def test_a_bad_event_names_the_field_and_stores_nothing(detail: object, allowed: str) -> None:
    world = World()
    with pytest.raises(InvalidFinding) as caught:
        world.retain().news(detail, world.deadline())
    assert allowed in str(caught.value)
    assert not world.known.rows


def test_the_expiry_of_the_stored_is_the_rule_of_the_core() -> None:
    world = World()
    world.put(kept())
    world.news("resolved")
    assert world.get() == retention.stamped(kept(), NOW, DAYS)


def test_a_first_request_after_the_news_of_the_same_second_keeps_the_record() -> None:
    world = World()
    world.clock.now = at(0.5)
    world.news("resolved", changed=0.2)
    world.send(finding_id="CVE-1")
    world.heal(LAG + 1)
    assert world.get().expires_at is None
