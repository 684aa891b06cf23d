"""The findings in DynamoDB, and the expiry of their records: ports Findings and FindingRecords."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from pynamodb.connection import TableConnection
from pynamodb.exceptions import TransactWriteError

from redeliver.core import moments
from redeliver.core.finding import DamagedFinding, Finding, FindingStatus
from redeliver.core.notification import Notification, Row
from redeliver.store import items
from redeliver.store.connection import put, translated, update
from redeliver.store.models import FindingModel as F
from redeliver.store.models import NotificationModel as N
from redeliver.store.notifications import DynamoNotifications, as_requested, differences, unmoved

PAGE = 99  # with the check of the finding the hundred of one transaction
LARGEST = 3_500_000  # bytes of its items; DynamoDB takes 4 MB (TransactWriteItems), and counts what we do not know too
_TRIES = 3  # of a transaction that another one got in the way of


class DynamoFindings:
    """The table of findings."""

    def __init__(self, table: TableConnection) -> None:
        """Use a connection of `store.connection`."""
        self._table = table

    def put(self, finding: Finding) -> bool:
        """Write the news, unless the stored one outdoes it: `core.finding.outdoes` as a condition."""
        older = F.changed_at < finding.changed_at
        same = (F.changed_at == finding.changed_at) & (F.status == finding.status.value)
        condition = F.finding_id.does_not_exist() | older | same
        if finding.unsettled is not None:  # past its expiry a finding is unknown
            condition |= F.expires_at <= moments.to_epoch(finding.unsettled)
        if not finding.resolved:
            condition |= F.changed_at == finding.changed_at
        return put(self._table, finding.finding_id, item=_item(finding), condition=condition)

    def unsettled(self) -> Iterable[Finding | DamagedFinding]:
        """Return the findings that were not yet found in order since they changed."""
        start: Any = None
        while True:
            with translated():
                answer = self._table.scan(
                    filter_condition=F.unsettled.exists(), exclusive_start_key=start, consistent_read=True
                )
            yield from map(finding_of, answer["Items"])
            start = answer.get("LastEvaluatedKey")
            if start is None:
                return

    def settle(self, finding: Finding, expires_at: datetime | None) -> bool:
        """Mark a finding as in order, if it is still as read."""
        actions: list[Any] = [F.unsettled.remove()]
        if expires_at is not None:
            actions.append(F.expires_at.set(moments.to_epoch(expires_at)))
        return update(self._table, finding.finding_id, actions=actions, condition=_as_read(finding))


class DynamoFindingRecords:
    """The notifications of findings."""

    def __init__(self, table: TableConnection, findings: TableConnection) -> None:
        """Use connections of `store.connection`."""
        self._table = table
        self._findings = findings
        self._notifications = DynamoNotifications(table)

    def pages(self, finding_id: str) -> Iterable[Sequence[Row]]:
        """Return the records of a finding, read consistently, up to 99 at a time."""
        start: Any = None
        while True:
            with translated():
                answer = self._table.query(
                    finding_id, index_name=N.by_finding.Meta.index_name, limit=PAGE, exclusive_start_key=start
                )
            yield self._notifications.fetch([items.key_of(item) for item in answer["Items"]])
            start = answer.get("LastEvaluatedKey")
            if start is None:
                return

    def stamp(self, finding: Finding, pairs: Sequence[tuple[Notification, Notification]]) -> int:
        """Write the expiry of up to 99 records, if the finding is still resolved as read; return how many."""
        return sum(self._stamp(finding, part) for part in _parts(pairs))

    def _stamp(self, finding: Finding, pairs: Sequence[tuple[Notification, Notification]]) -> int:
        left = list(pairs)
        for _ in range(_TRIES):
            if not left:
                return 0
            reasons = self._transact(finding, left)
            if reasons is None:
                return len(left)
            if reasons[0] is not None and reasons[0] == "ConditionalCheckFailed":
                return 0  # there is news of the finding: whoever brought it does the work again
            left = [pair for pair, why in zip(left, reasons[1:], strict=True) if why != "ConditionalCheckFailed"]
        return 0

    def _transact(
        self, finding: Finding, pairs: Sequence[tuple[Notification, Notification]]
    ) -> list[str | None] | None:
        """Return None if all was written, else why not, the finding's check first."""
        check = self._findings.get_operation_kwargs(finding.finding_id, condition=_as_read(finding))
        updates = [
            self._table.get_operation_kwargs(
                before.channel,
                before.dedup_key,
                actions=differences(before, after),
                condition=unmoved(before) & as_requested(before),
            )
            for before, after in pairs
        ]
        with translated():
            try:
                self._table.connection.transact_write_items([check], [], [], updates)
            except TransactWriteError as error:
                if not error.cancellation_reasons:
                    raise
                return [reason.code if reason else None for reason in error.cancellation_reasons]
        return None

    def release(self, before: Notification, after: Notification) -> bool:
        """Take the expiry off a record, if it still has one."""
        actions = differences(before, after)
        return update(self._table, before.channel, before.dedup_key, actions=actions, condition=N.expires_at.exists())


def _parts(
    pairs: Sequence[tuple[Notification, Notification]],
) -> Iterator[Sequence[tuple[Notification, Notification]]]:
    """Return what goes into one transaction each."""
    part: list[tuple[Notification, Notification]] = []
    taken = 0
    for pair in pairs:
        size = items.size(items.to_item(pair[1]))
        if part and taken + size > LARGEST:
            yield part
            part, taken = [], 0
        part.append(pair)
        taken += size
    if part:
        yield part


def _as_read(finding: Finding) -> Any:
    return (F.status == finding.status.value) & (F.changed_at == finding.changed_at)


def _item(finding: Finding) -> dict[str, Any]:
    item = {"status": {"S": finding.status.value}, "changed_at": {"S": finding.changed_at}}
    if finding.unsettled is not None:
        item["unsettled"] = {"N": str(moments.to_epoch(finding.unsettled))}
    return item


def finding_of(item: items.Item) -> Finding | DamagedFinding:
    """Return a finding, or what is wrong with its row."""
    values: dict[str, Any] = {}
    for name, (kind, read, required) in _CODECS.items():
        given = item.get(name)
        if given is None and not required:
            continue
        try:
            values[name] = read((given or {})[kind])
        except (KeyError, ValueError):
            problem = f"{name} is {'missing' if given is None else 'not as redeliver writes it'}"
            return DamagedFinding(item["finding_id"]["S"], problem)
    return Finding(**values)


def _changed_at(text: str) -> str:
    if moments.parse(text)[1] != text:  # its order as text would not be its order in time
        raise ValueError("not of the fixed width")
    return text


# attribute: (DynamoDB type, how it is read, whether every finding has it)
_CODECS: dict[str, tuple[str, Callable[[str], object], bool]] = {
    "finding_id": ("S", str, True),
    "status": ("S", FindingStatus, True),
    "changed_at": ("S", _changed_at, True),
    "unsettled": ("N", lambda number: moments.from_epoch(int(number)), False),
}
