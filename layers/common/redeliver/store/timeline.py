"""The notifications by key and moment: port Timeline."""

from collections.abc import Mapping
from typing import Any

from pynamodb.connection import TableConnection
from pynamodb.expressions.condition import Condition
from pynamodb.expressions.operand import Path

from redeliver.core import moments
from redeliver.core.notification import lane_of
from redeliver.operator.paging import Entry, Source, Stretch
from redeliver.operator.search import Filter
from redeliver.ports import AT_ONCE
from redeliver.store import items
from redeliver.store.connection import translated
from redeliver.store.models import NotificationModel as N

_FULL = 500  # rows that a full answer counts for at least: few large records are as much to read as many small ones
_MOMENTS = ("dead_lettered_at", "sent_at", "updated_at")  # the first that a record has, as `search.moment_of` says
_INDEXES: Mapping[Source, tuple[str, str]] = {
    Source.DEAD_LETTERS: (N.dead_letters.Meta.index_name, "dead_lettered_at"),
    Source.DUE: (N.due.Meta.index_name, "next_attempt_at"),
}


class DynamoTimeline:
    """The table of notifications, and its indexes."""

    def __init__(self, table: TableConnection) -> None:
        """Use a connection of `store.connection`."""
        self._table = table

    def stretch(self, source: Source, channel: str, wanted: Filter, after: Entry | None, most: int) -> Stretch:
        """Return the next rows of a channel in the order of the source, about `most` of them."""
        index, attribute = _INDEXES.get(source, (None, None))
        options: dict[str, Any] = _of_table(wanted) if index is None else {"index_name": index}
        options["scan_index_forward"] = source is not Source.DEAD_LETTERS
        names = _MOMENTS if attribute is None else (attribute,)
        start: Any = None if after is None else _start(source, channel, after)
        entries: list[Entry] = []
        cost = 0
        while True:
            with translated():
                answer = self._table.query(
                    lane_of(channel) if source is Source.DUE else channel,
                    exclusive_start_key=start,
                    limit=most - cost,
                    **options,
                )
            entries += [_entry(item, names) for item in answer["Items"]]
            start = answer.get("LastEvaluatedKey")
            cost += int(answer["ScannedCount"]) if start is None else max(int(answer["ScannedCount"]), _FULL)
            if start is None or cost >= most:
                return Stretch(entries, cost, None if start is None else _entry(start, names))


def _of_table(wanted: Filter) -> dict[str, Any]:
    terms: list[Condition] = []
    if wanted.statuses:
        terms.append(N.status.is_in(*(status.value for status in sorted(wanted.statuses))))
    if wanted.kind is not None:
        terms.append(Path("kind") == wanted.kind)
    condition = terms[0] & terms[1] if len(terms) > 1 else next(iter(terms), None)
    return {"filter_condition": condition, "attributes_to_get": ["channel", "dedup_key", *_MOMENTS]}


def _start(source: Source, channel: str, after: Entry) -> dict[str, Any]:
    start: dict[str, Any] = {"channel": {"S": after.key.channel}, "dedup_key": {"S": after.key.dedup_key}}
    if source in _INDEXES:
        attribute = _INDEXES[source][1]
        start[attribute] = items.write(attribute, after.moment)
    if source is Source.DUE:
        start["lane"] = {"S": lane_of(channel)}
    return start


def _entry(item: items.Item, names: tuple[str, ...]) -> Entry:
    for name in names:
        try:
            return Entry(moments.from_epoch(int(item[name]["N"])), items.key_of(item))
        except (KeyError, ValueError):
            continue
    return Entry(AT_ONCE, items.key_of(item))
