"""The daily run: one finding's trouble is its own, and it ends in time, whatever anything takes (SPEC 7)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redeliver.core.finding import DamagedFinding, Finding
from redeliver.core.notification import Key, Notification, Row, Unreadable
from redeliver.ports import Unavailable
from redeliver.retain import PAGES_A_TURN, TIME_FOR_ONE, parse_finding
from redeliver.store.connection import Refused
from tests.builders import NOW, at, final, news
from tests.fakes import FakeRequests
from tests.memory import MemoryFindings, MemoryNotifications
from tests.world import World

RESOLVE = '{"event_action":"resolve","dedup_key":"alert"}'
NAMES = ("CVE-1", "CVE-2", "CVE-3")
LAG = 600


def of(finding_id: str, **changes: Any) -> Notification:
    return final(**{"finding_id": finding_id, "dedup_key": f"of {finding_id}", **changes})


def known(world: World, finding_id: str, status: str = "resolved") -> None:
    """Store news as a run leaves it that dies directly afterwards."""
    assert world.known.put(parse_finding(news(status, finding_id=finding_id), world.clock.now))


def unsettled(world: World) -> set[str]:
    return {name for name, row in world.known.rows.items() if row.unsettled is not None}


# one finding's trouble is its own


def breaks_for(port: object, operation: str, about: Callable[..., bool], error: Exception) -> None:
    """Let one operation of a fake fail when it is about something."""
    real = getattr(port, operation)

    def broken(*arguments: Any) -> Any:
        if about(*arguments):
            raise error
        return real(*arguments)

    setattr(port, operation, broken)


FAILING: Mapping[str, tuple[Callable[[World], object], str, Callable[..., bool]]] = {
    "its records cannot be read": (lambda w: w.memory, "pages", lambda name: name == "CVE-2"),
    "its records cannot be stamped": (lambda w: w.memory, "stamp", lambda found, _: found.finding_id == "CVE-2"),
    "its records cannot be released": (lambda w: w.memory, "release", lambda one, _: one.finding_id == "CVE-2"),
    "it cannot be settled": (lambda w: w.known, "settle", lambda found, _: found.finding_id == "CVE-2"),
    "its endpoint cannot be told": (lambda w: w.requests, "ask", lambda asked: "CVE-2" in asked[0]["dedup_key"]),
}
ERRORS = {
    "throttled": Unavailable("DynamoDB: ThrottlingException: slow down"),
    "refused": Refused("DynamoDB: ValidationException: too large"),
    "an error of ours": UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed"),
}


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS.keys())
@pytest.mark.parametrize(("port", "operation", "about"), FAILING.values(), ids=FAILING.keys())
def test_a_finding_that_fails_costs_itself_only(
    port: Callable[[World], object], operation: str, about: Callable[..., bool], error: Exception
) -> None:
    world = World()
    for name in NAMES:
        open_with_an_expiry = {"status": "pending", "next_attempt_at": NOW, "expires_at": at(10**7)}
        odd = open_with_an_expiry if operation == "release" else {"resolve_with": RESOLVE}
        world.put(of(name, **odd))
        known(world, name)
    breaks_for(port(world), operation, about, error)
    report = world.heal(LAG)
    assert report.failed_items == 1
    assert [line["finding_id"] for line in world.telemetry.of("finding_failed")] == ["CVE-2"]
    assert world.telemetry.warned("finding_failed")
    assert {"CVE-2"} <= unsettled(world)
    for name in ("CVE-1", "CVE-3"):
        assert (world.get(f"of {name}").expires_at is None) is (operation == "release")
        assert (name in unsettled(world)) is (operation == "release")  # open ones are looked at again
    delattr(port(world), operation)
    assert world.heal().failed_items == 0
    assert "CVE-2" not in unsettled(world) or operation == "release"


@dataclass
class BreaksOff(MemoryFindings):
    """Findings that are read up to some point."""

    good: int

    def __post_init__(self) -> None:
        super().__init__()

    def unsettled(self) -> Iterator[Finding | DamagedFinding]:
        """Return so many findings, and fail."""
        yield from list(super().unsettled())[: self.good]
        raise Unavailable("DynamoDB: ThrottlingException: slow down")


@pytest.mark.parametrize("good", [0, 2])
def test_what_was_read_of_the_findings_is_done_though_the_rest_cannot_be_read(good: int) -> None:
    world = World(known=BreaksOff(good))
    for name in NAMES:
        world.put(of(name))
        known(world, name)
    report = world.heal(LAG)
    assert (report.stamped, report.failed_items) == (good, 1)
    assert unsettled(world) == set(NAMES[good:])
    assert world.telemetry.of("findings_not_read") == [{"error": "DynamoDB: ThrottlingException: slow down"}]
    assert world.telemetry.of("retention_finished")[0]["failed_items"] == 1


def test_a_damaged_finding_is_named_with_what_is_wrong_and_stops_no_other() -> None:
    world = World()
    world.put(of("CVE-1"))
    known(world, "CVE-1")
    world.known.damaged.append(DamagedFinding("bad", "status is missing"))
    report = world.heal(LAG)
    assert (report.stamped, report.failed_items) == (1, 1)
    assert world.telemetry.of("finding_failed") == [{"finding_id": "bad", "error": "status is missing"}]


@pytest.mark.parametrize("operation", ["stamp", "release"])
def test_a_finding_of_whose_records_another_had_one_is_settled_later(operation: str) -> None:
    world = World()
    world.put(of("CVE-1", expires_at=at(10**7) if operation == "release" else None))
    known(world, "CVE-1", "active" if operation == "release" else "resolved")
    setattr(world.memory, operation, lambda *_: 0)
    assert world.heal(LAG).failed_items == 0
    assert unsettled(world) == {"CVE-1"}
    delattr(world.memory, operation)
    world.heal()
    assert not unsettled(world)


# what changed just now


@pytest.mark.parametrize(("age", "settled"), [(0, False), (LAG - 1, False), (LAG, True)])
def test_what_changed_just_now_is_brought_into_order_and_settled_later(age: float, settled: bool) -> None:
    world = World()
    world.put(of("CVE-1"))
    known(world, "CVE-1")
    assert world.heal(age).stamped == 1
    assert world.get("of CVE-1").expires_at is not None
    assert (not unsettled(world)) is settled


# time


class SlowNotifications(MemoryNotifications):
    """A store whose requests take their time."""

    def __init__(self, findings: MemoryFindings, take: Callable[[], None]) -> None:
        super().__init__(findings)
        self._take = take

    def pages(self, finding_id: str) -> Iterator[Sequence[Row]]:
        for page in super().pages(finding_id):
            self._take()
            yield page

    def stamp(self, finding: Finding, pairs: Sequence[tuple[Notification, Notification]]) -> int:
        if pairs:
            self._take()
        return super().stamp(finding, pairs)

    def release(self, before: Notification, after: Notification) -> bool:
        self._take()
        return super().release(before, after)

    def park(self, row: Unreadable, now: Any) -> bool:
        self._take()
        return super().park(row, now)


@dataclass
class SlowFindings(MemoryFindings):
    """The same, of the findings."""

    take: Callable[[], None]

    def __post_init__(self) -> None:
        super().__init__()

    def settle(self, finding: Finding, expires_at: Any) -> bool:
        self.take()
        return super().settle(finding, expires_at)


@dataclass
class SlowRequests(FakeRequests):
    """The same, of the queue."""

    take: Callable[[], None] = field(default=lambda: None)

    def ask(self, requests: Sequence[Mapping[str, object]]) -> None:
        self.take()
        super().ask(requests)


def slow_world(taking: list[float]) -> World:
    """Return a world in which the requests of retention take so many seconds, in turn."""
    taken = [0]

    def take() -> None:
        taken[0] += 1
        world.clock.pass_by(taking[taken[0] % len(taking)])

    world = World(known=SlowFindings(take), requests=SlowRequests(take=take))
    world.records = world.memory = SlowNotifications(world.known, take)
    world.ledger.real = world.lanes = world.memory
    return world


def fill(world: World, finding_id: str, number: int, **changes: Any) -> None:
    world.put(*(of(finding_id, dedup_key=f"{finding_id} {n:05}", **changes) for n in range(number)))


SECONDS = st.floats(0, TIME_FOR_ONE.total_seconds())
LEFT = st.floats(0, 60).map(lambda seconds: timedelta(seconds=seconds))


@settings(deadline=None, max_examples=100, derandomize=True)
@given(taking=st.lists(SECONDS, min_size=1, max_size=5), left=LEFT, by=st.sampled_from(["heal", "resolved", "active"]))
def test_a_run_ends_in_time(taking: list[float], left: timedelta, by: str) -> None:
    world = slow_world(taking)
    fill(world, "CVE-1", 120, resolve_with=RESOLVE)
    fill(world, "CVE-2", 30, expires_at=at(10**7))
    for number in range(5):
        world.memory.plant(Key("ops", f"A bad {number}"), finding_id="CVE-1")
    known(world, "CVE-1")
    known(world, "CVE-2", "active")
    world.clock.pass_by(LAG)
    begun = world.clock.now
    if by == "heal":
        world.heal(left=left)
    else:
        world.news(by, finding_id="CVE-2" if by == "active" else "CVE-1", left=left)
    assert world.clock.now - begun <= left
    assert unsettled(world) == {"CVE-1", "CVE-2"} or by == "heal"
    told = {str(asked["dedup_key"]).partition("#")[0] for asked in world.requests.asked}
    stamped = {row.dedup_key for row in world.memory.rows.values() if isinstance(row, Notification) and row.expires_at}
    assert {key for key in stamped if key.startswith("CVE-1")} <= told


@pytest.mark.parametrize("status", ["resolved", "active"])
def test_what_news_has_no_time_for_is_taken_up_by_the_daily_runs(status: str) -> None:
    world = slow_world([1.0])
    fill(world, "CVE-1", 250, expires_at=at(10**7) if status == "active" else None)
    world.clock.pass_by(1)
    done = world.news(status, left=timedelta(seconds=20))
    assert 0 < done.stamped + done.released < 250
    assert world.telemetry.of("retention_cut_short") == [{"finding_id": "CVE-1"}]
    runs = 0
    while unsettled(world):
        runs += 1
        assert runs < 10
        world.heal(86400)
    assert all((row.expires_at is not None) is (status == "resolved") for row in world.memory.rows.values())  # type: ignore[union-attr]


def test_a_finding_of_many_records_does_not_keep_the_others_from_their_turn() -> None:
    world = slow_world([1.0])
    fill(world, "CVE-1", 99 * 100)
    for name in ("CVE-2", "CVE-3"):
        world.put(of(name))
    for name in NAMES:
        known(world, name)
    world.heal(LAG, left=timedelta(seconds=2 * PAGES_A_TURN + 10) + TIME_FOR_ONE)
    assert unsettled(world) == {"CVE-1"}
    assert world.telemetry.of("retention_cut_short") == [{"findings_begun": 1, "more_findings": False}]


@pytest.mark.parametrize(("left", "looked"), [(timedelta(seconds=-0.1), False), (timedelta(), True)])
def test_nothing_is_begun_without_time_for_it(left: timedelta, looked: bool) -> None:
    world = World()
    world.put(of("CVE-1"))
    known(world, "CVE-1")
    report = world.heal(LAG, left=TIME_FOR_ONE + left)
    assert (report.stamped, report.failed_items) == (int(looked), 0)
    assert world.telemetry.warned("retention_cut_short") is not looked
    if not looked:
        assert world.telemetry.of("retention_cut_short") == [{"findings_begun": 0, "more_findings": True}]


def test_a_page_of_alerts_is_told_in_calls_of_ten() -> None:
    world = World()
    sizes: list[int] = []
    real = world.requests.ask

    def ask(requests: Sequence[Mapping[str, object]]) -> None:
        sizes.append(len(requests))
        real(requests)

    world.requests.ask = ask  # type: ignore[method-assign] # the fake's own
    fill(world, "CVE-1", 25, resolve_with=RESOLVE)
    assert world.news("resolved").stamped == 25
    assert sizes == [10, 10, 5]
    assert world.telemetry.of("resolutions_requested") == [{"finding_id": "CVE-1", "number": 25}]
    assert replace(world.get("CVE-1 00000"), expires_at=None) == of(
        "CVE-1", dedup_key="CVE-1 00000", resolve_with=RESOLVE
    )
