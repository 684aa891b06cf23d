"""Records put into the deployed table as they would be after months, and the page called as CloudWatch does."""

import html
import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from infra.local.processes import REGION
from infra.local.stack import LocalStack
from redeliver.core.notification import Notification, Status
from redeliver.store import items
from tests.builders import record

_CALL = re.compile(r'<a class="[^"]*"[^>]*>(.*?)</a><cwdb-action ([^>]*)>(.*?)</cwdb-action>', re.DOTALL)
NOW = datetime.now(UTC).replace(microsecond=0)


def ago(minutes: float) -> datetime:
    """Return the moment so many minutes ago."""
    return NOW - timedelta(minutes=minutes)


def dead(channel: str, key: str, minutes: float = 5, **changes: Any) -> Notification:
    """Return a dead letter that died so many minutes ago."""
    moment = ago(minutes)
    usual = {
        "channel": channel,
        "dedup_key": key,
        "kind": "cve",
        "subject": f"About {key}",
        "body": "Text.",
        "status": Status.DEAD_LETTERED,
        "next_attempt_at": None,
        "attempt_count": 5,
        "last_reason": "http_500",
        "last_error": "HTTP 500: the endpoint is down",
        **dict.fromkeys(("created_at", "requested_at", "updated_at", "dead_lettered_at"), moment),
    }
    return record(**{**usual, **changes})


def sent(channel: str, key: str, minutes: float = 5, **changes: Any) -> Notification:
    """Return a record that was sent so many minutes ago."""
    usual: dict[str, Any] = {
        "status": Status.SENT,
        "sent_at": ago(minutes),
        "attempt_count": 1,
        **dict.fromkeys(("dead_lettered_at", "last_reason", "last_error")),
    }
    return dead(channel, key, minutes, **{**usual, **changes})


def plant(stack: LocalStack, records: Sequence[Notification]) -> None:
    """Put records into the table, and their channels' rows beside them."""
    table, channels = stack.outputs["NotificationsTable"], stack.outputs["ChannelsTable"]
    rows = [
        {**items.to_item(each), "channel": {"S": each.channel}, "dedup_key": {"S": each.dedup_key}} for each in records
    ]
    for first in range(0, len(rows), 25):
        puts = [{"PutRequest": {"Item": row}} for row in rows[first : first + 25]]
        stack.client("dynamodb").batch_write_item(RequestItems={table: puts})
    for channel in sorted({each.channel for each in records}):
        stack.client("dynamodb").put_item(TableName=channels, Item={"channel": {"S": channel}})


def ask(stack: LocalStack, event: Mapping[str, Any] | None = None, **forms: str) -> str:
    """Call the page as CloudWatch does: with what was clicked, and what the form has."""
    context = {"dashboardName": f"redeliver-local-{REGION}", "theme": "light", "forms": {"all": forms}, "params": {}}
    answer: str = stack.invoke("HistoryFunction", {**(event or {}), "widgetContext": context})
    return answer


def buttons(page: str) -> dict[str, tuple[dict[str, str], dict[str, Any]]]:
    """Return what can be clicked: its text, its action's attributes and its parameters."""
    found = {}
    for label, attributes, parameters in _CALL.findall(page):
        named = {name: html.unescape(value) for name, value in re.findall(r'(\w+)="([^"]*)"', attributes)}
        found[html.unescape(re.sub("<[^>]+>", "", label))] = (named, json.loads(parameters))
    return found


def subjects(page: str) -> list[str]:
    """Return the subjects of a list, in their order."""
    return re.findall(r"<bdi>About ([^<]*)</bdi>", page)
