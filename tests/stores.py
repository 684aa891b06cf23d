"""The two stores that the contract is held against, and DynamoDB's tables as the template declares them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import boto3
import yaml
from moto import mock_aws
from pynamodb.connection import TableConnection

from redeliver.core import moments
from redeliver.core.notification import Key
from redeliver.operator.paging import Timeline
from redeliver.operator.ports import Archive, Holds, Register
from redeliver.ports import Addresses, ChannelStates, FindingRecords, Findings, Lanes, Ledger
from redeliver.store.archive import DynamoArchive, DynamoRegister
from redeliver.store.channels import DynamoChannelStates
from redeliver.store.connection import connect
from redeliver.store.findings import DynamoFindingRecords, DynamoFindings
from redeliver.store.models import ChannelModel, FindingModel, NotificationModel
from redeliver.store.notifications import DynamoNotifications
from redeliver.store.timeline import DynamoTimeline
from tests.memory import MemoryFindings, MemoryNotifications, MemoryStates
from tests.memory_timeline import MemoryTimeline

TEMPLATE = Path(__file__).parent.parent / "template.yaml"
_OURS = ("AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes", "BillingMode")


@dataclass
class Store:
    """A store by its ports; `plant` puts a raw item into the notifications, as DynamoDB writes it."""

    ledger: Ledger
    lanes: Lanes
    states: ChannelStates
    addresses: Addresses
    findings: Findings
    records: FindingRecords
    archive: Archive
    register: Register
    holds: Holds
    timeline: Timeline
    plant: Callable[[Key, int | None, str | None], None]
    client: Any = None


class _Loader(yaml.SafeLoader):
    """Reads CloudFormation's short forms as None: the tables' keys hold none of them."""


_Loader.add_multi_constructor("!", lambda loader, suffix, node: None)


@cache
def tables() -> Mapping[str, Mapping[str, Any]]:
    """Return the properties of the template's tables by logical id."""
    template = yaml.load(TEMPLATE.read_text(), _Loader)
    resources: dict[str, dict[str, Any]] = template["Resources"]
    return {
        name: {key: value for key, value in resource["Properties"].items() if key in _OURS}
        for name, resource in resources.items()
        if resource["Type"] == "AWS::DynamoDB::Table"
    }


@cache
def _connections() -> tuple[Any, TableConnection, TableConnection, TableConnection]:
    """Return a client and the tables' connections: made once, since making them takes most of a test's time."""
    return (
        boto3.client("dynamodb"),
        connect(NotificationModel, "NotificationsTable", threads=32),
        connect(FindingModel, "FindingsTable"),
        connect(ChannelModel, "ChannelsTable"),
    )


@contextmanager
def dynamo() -> Iterator[Store]:
    """Give the pynamodb store on moto's DynamoDB."""
    with mock_aws():
        client, notifications, findings, channels = _connections()
        for name, properties in tables().items():
            client.create_table(TableName=name, **properties)
        ledger = DynamoNotifications(notifications)

        def plant(key: Key, next_attempt_at: int | None, finding_id: str | None) -> None:
            item: dict[str, Any] = {
                "channel": {"S": key.channel},
                "dedup_key": {"S": key.dedup_key},
                "status": {"S": "on_its_way"},
                "lane": {"S": f"{key.channel}#0"},
            }
            if next_attempt_at is not None:
                item["next_attempt_at"] = {"N": str(next_attempt_at)}
            if finding_id is not None:
                item["finding_id"] = {"S": finding_id}
            client.put_item(TableName="NotificationsTable", Item=item)

        records = DynamoFindingRecords(notifications, findings)
        states = DynamoChannelStates(channels)
        yield Store(
            ledger,
            ledger,
            states,
            states,
            DynamoFindings(findings),
            records,
            DynamoArchive(notifications),
            DynamoRegister(findings),
            states,
            DynamoTimeline(notifications),
            plant,
            client,
        )


@contextmanager
def memory() -> Iterator[Store]:
    """Give the store in memory."""
    findings = MemoryFindings()
    ledger = MemoryNotifications(findings)

    def plant(key: Key, next_attempt_at: int | None, finding_id: str | None) -> None:
        due = None if next_attempt_at is None else moments.from_epoch(next_attempt_at)
        ledger.plant(key, next_attempt_at=due, finding_id=finding_id)

    states = MemoryStates()
    timeline = MemoryTimeline(ledger)
    yield Store(ledger, ledger, states, states, findings, ledger, ledger, findings, states, timeline, plant)


BOTH = {"memory": memory, "dynamo": dynamo}
