"""Findings: their news in any order, the daily pass, and what endpoints are told of them."""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from redeliver.core import moments
from redeliver.core.finding import Finding
from redeliver.core.notification import Key
from redeliver.retain import INDEX_LAG
from tests.model.process import NONE, Process, Trouble, troubles
from tests.model.rivals import Rivals

OTHERS = ("active", "active", "ask", "sweep", "claim")
IN_RETENTION = troubles(8, OTHERS)
STATUSES = st.sampled_from(["active", "resolved", "resolved", "deleted"])
Event = dict[str, str]


class Findings(Rivals):
    """The rules about findings."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[tuple[datetime, Event]] = []  # when each came first

    def others(self) -> dict[str, Callable[[], Any]]:
        news = {status: partial(self.change, "F1", status, 0) for status in ("active", "resolved")}
        return {**super().others(), **news}

    @rule(
        finding=st.sampled_from(["F1", "F1", "F2"]),
        status=STATUSES,
        ago=st.sampled_from([0, 0, 0.3, 5, 4000]),
        trouble=IN_RETENTION,
    )
    def a_finding_changes(self, finding: str, status: str, ago: float, trouble: Trouble) -> None:
        self.change(finding, status, ago, trouble)

    def change(self, finding: str, status: str, ago: float, trouble: Trouble = NONE) -> None:
        changed = self.world.clock.now - timedelta(seconds=ago)
        self.news({"finding_id": finding, "status": status, "changed_at": changed.isoformat()}, trouble)

    @precondition(lambda self: self.events)
    @rule(which=st.integers(0, 9), status=st.none() | STATUSES, trouble=IN_RETENTION)
    def an_event_comes_again(self, which: int, status: str | None, trouble: Trouble) -> None:
        """The bus brings an event twice, or another of the same moment; not after more than a day."""
        came, event = self.events[-1 - which % len(self.events)]
        if self.world.clock.now - came < timedelta(days=1):
            self.news(event if status is None else {**event, "status": status}, trouble)

    def news(self, event: Event, trouble: Trouble) -> None:
        self.events.append((self.world.clock.now, event))
        with self.a_process(trouble) as process:
            self.world.retain().news(event, self.world.deadline())
        name, changed = event["finding_id"], moments.text_of(datetime.fromisoformat(event["changed_at"]))
        if not process.over:
            self.learn(name, changed, event["status"] == "active")
        for finding in self.unsettled():  # an invocation that failed may have stored its news
            self.learn(finding.finding_id, finding.changed_at, not finding.resolved)
        if event["status"] == "active" and self.book.truth.get(name) == (changed, True):
            self.settled({name}, failed=process.over)
        self.check_requests(process)

    def unsettled(self) -> list[Finding]:
        return [each for each in self.store.findings.unsettled() if isinstance(each, Finding)]

    def settled(self, findings: Iterable[str], *, failed: bool) -> None:
        """Take in that a run has seen to findings that are active, or should have."""
        self.book.half_way = self.book.half_way.union(findings) if failed else self.book.half_way.difference(findings)

    def learn(self, finding: str, changed: str, active: bool) -> None:
        self.book.truth[finding] = max(self.book.truth.get(finding, ("", False)), (changed, active))

    @rule(trouble=IN_RETENTION, down=st.sampled_from([False, False, True]))
    def daily_pass(self, trouble: Trouble, down: bool) -> None:
        self.heal(trouble, down)

    def heal(self, trouble: Trouble = NONE, down: bool = False) -> None:
        if self.world.clock.now - self.lags_since > timedelta(minutes=5):  # an index lags for less than the pass waits
            self.world.memory.catch_up()
        self.queue.down = down
        shown_since = self.world.clock.now - INDEX_LAG
        seen_to = {one.finding_id for one in self.unsettled() if one.unsettled and one.unsettled <= shown_since}
        with self.a_process(trouble) as process:
            process.over = self.world.heal().failed_items > 0
        if not process.over:
            self.settled(seen_to, failed=False)
        self.queue.down = False
        self.check_requests(process)

    def check_requests(self, process: Process) -> None:
        """Check that endpoints are told of nothing but news that a finding is resolved, and nothing newer."""
        for asked in process.asked:
            key, _, changed = str(asked["dedup_key"]).rpartition("#resolved ")
            record = self.read(Key(str(asked["channel"]), key))
            assert record is not None
            finding = record.finding_id
            over = [event for _, event in self.events if event["finding_id"] == finding and event["status"] != "active"]
            assert changed in [moments.text_of(datetime.fromisoformat(event["changed_at"])) for event in over]
            alone = process.trouble.other is None
            assert not alone or self.book.truth[str(finding)] == (changed, False), "told of what holds"

    def weather_clears(self) -> None:
        for fields in list(self.queue.asked):
            self.bring(fields)
        super().weather_clears()
        self.world.clock.pass_by(INDEX_LAG.total_seconds())
        for _ in range(2):
            self.heal()
            self.all_is_as_promised()
        for key in self.book.alerts:
            self.check_told(key)

    def check_told(self, key: Key) -> None:
        """Check that an alert was resolved, if its finding is.

        Not what an operator redrives when the finding has long been settled: no pass looks at it again (ADR 4).
        """
        names = [str(a["dedup_key"]).rpartition("#resolved ") for a in self.queue.asked if a["channel"] == key.channel]
        told, record = [changed for name, _, changed in names if name == key.dedup_key], self.read(key)
        if record is not None and record.redrive_count:
            return
        if record is None or record.expired(self.world.clock.now):
            assert told, "never told"
        elif record.resolve_with is not None and self.book.over(record):
            assert max(told, default="") >= moments.text_of(record.requested_at), "not told since it was asked for"
