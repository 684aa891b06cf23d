"""The notifications as an operator looks for them: port Archive; and single findings: port Register."""

from collections.abc import Iterator, Sequence
from typing import Any

from pynamodb.connection import TableConnection
from pynamodb.expressions.condition import Condition

from redeliver.core import moments
from redeliver.core.finding import DamagedFinding, Finding
from redeliver.core.notification import Row, lane_of
from redeliver.operator.ports import Span
from redeliver.store import items
from redeliver.store.connection import translated
from redeliver.store.findings import finding_of
from redeliver.store.models import NotificationModel as N
from redeliver.store.notifications import PAGE, DynamoNotifications

_DIED = N.dead_lettered_at


class DynamoArchive:
    """The table of notifications, and its indexes."""

    def __init__(self, table: TableConnection) -> None:
        """Use a connection of `store.connection`."""
        self._table = table
        self._notifications = DynamoNotifications(table)

    def dead_letters_of(self, channel: str, span: Span, *, newest_first: bool) -> Iterator[Sequence[Row]]:
        """Return what died in that span, in the order of its death."""
        if span.since is not None and span.until is not None and moments.ceil(span.since) > span.until:
            return iter(())  # DynamoDB takes no range that ends before it begins
        options: dict[str, Any] = {"index_name": N.dead_letters.Meta.index_name, "scan_index_forward": not newest_first}
        return self._indexed(channel, range_key_condition=_within(span), **options)

    def waiting_in(self, channel: str) -> Iterator[Sequence[Row]]:
        """Return what waits, longest due first."""
        return self._indexed(lane_of(channel), index_name=N.due.Meta.index_name)

    def pages(self, finding_id: str) -> Iterator[Sequence[Row]]:
        """Return the records of a finding."""
        return self._indexed(finding_id, index_name=N.by_finding.Meta.index_name)

    def of_channel(self, channel: str) -> Iterator[Sequence[Row]]:
        """Return all records of a channel, by dedup key."""
        for page in self._read("query", channel, consistent_read=True):
            yield [items.from_item(item) for item in page]

    def everything(self) -> Iterator[Sequence[Row]]:
        """Return every row of the table, in no order."""
        for page in self._read("scan", consistent_read=True):
            yield [items.from_item(item) for item in page]

    def _indexed(self, key: str, **options: Any) -> Iterator[Sequence[Row]]:
        for page in self._read("query", key, limit=PAGE, **options):
            yield self._notifications.fetch([items.key_of(item) for item in page])

    def _read(self, operation: str, *key: str, **options: Any) -> Iterator[list[items.Item]]:
        start: Any = None
        while True:
            with translated():
                answer = getattr(self._table, operation)(*key, exclusive_start_key=start, **options)
            yield answer["Items"]
            start = answer.get("LastEvaluatedKey")
            if start is None:
                return


class DynamoRegister:
    """The table of findings, to look them up."""

    def __init__(self, table: TableConnection) -> None:
        """Use a connection of `store.connection`."""
        self._table = table

    def get(self, finding_id: str) -> Finding | None:
        """Return what is known of a finding, read consistently."""
        with translated():
            item = self._table.get_item(finding_id, consistent_read=True).get("Item")
        return _readable(finding_of(item)) if item else None

    def all(self) -> Iterator[Finding]:
        """Return every finding that can be read."""
        start: Any = None
        while True:
            with translated():
                answer = self._table.scan(exclusive_start_key=start, consistent_read=True)
            yield from filter(None, map(_readable, map(finding_of, answer["Items"])))
            start = answer.get("LastEvaluatedKey")
            if start is None:
                return


def _readable(finding: Finding | DamagedFinding) -> Finding | None:
    return finding if isinstance(finding, Finding) else None


def _within(span: Span) -> Condition | None:
    since = None if span.since is None else moments.to_epoch(moments.ceil(span.since))
    until = None if span.until is None else moments.to_epoch(span.until)
    if since is not None and until is not None:
        return _DIED.between(since, until)
    if since is not None:
        return since <= _DIED
    return None if until is None else until >= _DIED
