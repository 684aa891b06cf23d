"""Redrive and cancel by filter: paced, each record once however many operators are at it."""

import threading
from collections.abc import Iterator

import pytest

from redeliver.core.notification import EXPIRED, Key, Notification, Row, Status
from redeliver.operator.bulk import Account, Bulk, to_cancel, to_redrive
from redeliver.operator.ports import Span
from redeliver.operator.search import Filter, newest, search
from redeliver.ports import Unavailable
from tests.builders import NOW, at, final, record
from tests.world import World


def dead(key: str, **changes: object) -> Notification:
    return final(Status.DEAD_LETTERED, **{"dedup_key": key, "last_reason": "http_500", "attempt_count": 5, **changes})


def rows(world: World, **wanted: object) -> Iterator[Row]:
    statuses = frozenset({Status.DEAD_LETTERED})
    filter_ = Filter(**{"statuses": statuses, **wanted})  # type: ignore[arg-type] # well typed in each case
    return search(world.memory, [state.channel for state in world.states.all()], filter_, newest_first=False)


def bulk(world: World) -> Bulk:
    return Bulk(ledger=world.ledger, clock=world.clock, pause=world._pause)


def test_what_is_stale_or_resolved_is_left_unless_told_otherwise() -> None:
    world = World()
    world.put(dead("a"), dead("late", deliver_by=at(-1)), dead("expired", last_reason=EXPIRED))
    world.put(dead("resolved", finding_id="CVE-1"), dead("active", finding_id="CVE-2"), dead("unknown", finding_id="X"))
    world.news("resolved")
    world.news("active", finding_id="CVE-2")
    decide = to_redrive(world.known)
    foreseen = bulk(world).foresee(rows(world), decide)
    assert (foreseen.moved, dict(foreseen.left)) == (3, {"stale": 2, "finding resolved": 1})
    assert world.get("a").status is Status.DEAD_LETTERED  # nothing has been written
    account = bulk(world).move(rows(world), decide)
    assert (account.moved, account.left) == (3, foreseen.left)
    told = bulk(world).move(rows(world), to_redrive(world.known, stale_too=True, resolved_too=True))
    assert (told.moved, told.left.total()) == (3, 0)


def test_a_redrive_gives_all_attempts_and_keeps_the_story() -> None:
    world = World()
    world.put(dead("a", history="1,r,http_500,500,9", expires_at=at(99), redrive_count=1))
    bulk(world).move(rows(world), to_redrive(world.known))
    after = world.get("a")
    assert (after.status, after.attempt_count, after.redrive_count, after.expires_at) == (Status.PENDING, 0, 2, None)
    assert after.history == "1,r,http_500,500,9"


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"kind": "cve"}, ["b"]),
        ({"reason": "too_long"}, ["c"]),
        ({"span": Span(at(5), at(6))}, ["d"]),
        ({"channel": "other"}, ["e"]),
        ({"finding_id": "F"}, ["f"]),
        ({}, ["a", "b", "c", "f", "d", "e"]),
    ],
    ids=str,
)
def test_a_filter_takes_what_it_says(wanted: dict[str, object], expected: list[str]) -> None:
    world = World()
    world.put(dead("a"), dead("b", kind="cve"), dead("c", last_reason="too_long"), dead("d", dead_lettered_at=at(5)))
    world.put(dead("e", channel="other"), dead("f", finding_id="F"))
    found = [row.key.dedup_key for row in rows(world, **wanted)]
    assert found == expected


def test_it_is_paced() -> None:
    world = World()
    world.put(*[dead(str(number)) for number in range(10)])
    seen: list[int] = []
    bulk(world).move(
        rows(world), to_redrive(world.known), a_second=2, progress=lambda account: seen.append(account.moved)
    )
    assert world.clock.now == at(5)
    assert seen == list(range(1, 11))


def test_two_operators_at_once_move_each_record_once() -> None:
    world = World()
    keys = [f"k{number:04}" for number in range(1000)]
    world.put(*[dead(key) for key in keys])
    accounts: list[Account] = []

    def operator() -> None:
        accounts.append(bulk(world).move(rows(world), to_redrive(world.known)))

    operators = [threading.Thread(target=operator) for _ in range(2)]
    for each in operators:
        each.start()
    for each in operators:
        each.join()
    assert sum(account.moved for account in accounts) == 1000
    assert all(world.get(key).redrive_count == 1 for key in keys)


def test_one_that_is_killed_in_the_middle_is_finished_by_the_next() -> None:
    world = World()
    world.put(*[dead(f"k{number:03}") for number in range(300)])

    def killed(account: Account) -> None:
        if account.moved == 137:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bulk(world).move(rows(world), to_redrive(world.known), progress=killed)
    assert bulk(world).move(rows(world), to_redrive(world.known)).moved == 300 - 137


def test_what_another_moved_meanwhile_or_cannot_be_read_is_in_the_account() -> None:
    world = World()
    world.put(dead("a"), dead("b"))
    world.memory.plant(Key("ops", "bad"))
    bad = world.memory.get(Key("ops", "bad"))
    found = [*rows(world), bad]
    world.operate(command="redrive", channel="ops", dedup_keys=["a"])
    world.ledger.will(None, "refused")
    account = bulk(world).move([row for row in found if row is not None], to_redrive(world.known))
    assert (account.moved, account.met) == (0, 3)
    assert dict(account.left) == {"moved by another": 1, "not written": 1, "unreadable": 1}


def test_a_register_that_cannot_be_asked_moves_nothing_it_does_not_know() -> None:
    world = World()
    world.put(dead("a", finding_id="CVE-1"), dead("b"))

    class Down:
        def get(self, finding_id: str) -> None:
            raise Unavailable("DynamoDB: ThrottlingException")

        def all(self) -> Iterator[None]:
            yield from ()

    account = bulk(world).move(rows(world), to_redrive(Down()))  # type: ignore[arg-type] # as much as is asked of it
    assert (account.moved, dict(account.left)) == (1, {"not written": 1})


def test_cancel_suppresses_what_waits_and_is_not_being_attempted() -> None:
    world = World()
    world.put(
        record(dedup_key="a"), record(dedup_key="leased", claimed_until=at(60), attempt_count=1), final(dedup_key="x")
    )
    open_ones = frozenset({Status.PENDING, Status.RETRYING})
    account = bulk(world).move(rows(world, statuses=open_ones), to_cancel(world.policy, "withdrawn"))
    assert (account.moved, dict(account.left)) == (1, {"being attempted": 1})
    assert (world.get("a").status, world.get("a").last_reason) == (Status.SUPPRESSED, "withdrawn")


def test_the_newest_first() -> None:
    world = World()
    world.put(*[dead(str(number), dead_lettered_at=at(number)) for number in range(9)])
    world.put(final(dedup_key="sent", sent_at=at(4.5)), record(dedup_key="open", updated_at=NOW))
    found = newest(search(world.memory, ["ops"], Filter()), 5)
    assert [row.key.dedup_key for row in found] == ["8", "7", "6", "5", "sent"]
