"""What the tests over the deployed stack have in common: channels of their own, and a look at what came of it."""

import itertools
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from infra.local.endpoint import Endpoint, Received
from infra.local.stack import LocalStack

Seen = TypeVar("Seen")
_numbers = itertools.count(1)
_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@dataclass(frozen=True, slots=True)
class Scene:
    """One channel of the deployed stack, and the endpoint behind it."""

    stack: LocalStack
    endpoint: Endpoint
    channel: str

    @property
    def path(self) -> str:
        """Return the path of the channel's webhook."""
        return f"/{self.channel}"

    def notification(self, key: str, **changes: object) -> dict[str, object]:
        """Return a request to this channel."""
        usual = {"channel": self.channel, "dedup_key": key, "kind": "cve", "subject": f"About {key}", "body": "Text."}
        return usual | changes

    def send(self, *keys: str, **changes: object) -> list[dict[str, Any]]:
        """Call `send` directly and return its results."""
        wanted = [self.notification(key, **changes) for key in keys]
        results: list[dict[str, Any]] = self.stack.invoke("SendFunction", {"notifications": wanted})["results"]
        return results

    def sweep(self) -> dict[str, Any]:
        """Run a sweep as its schedule does."""
        report: dict[str, Any] = self.stack.invoke("RetrySweeperFunction", {"source": "aws.scheduler"})
        return report

    def sweep_when_due(self, *keys: str) -> dict[str, Any]:
        """Wait until the records are due, then sweep."""
        while any(int(self.stored(key).get("next_attempt_at", 0)) > time.time() for key in keys):
            time.sleep(0.1)
        return self.sweep()

    def stored(self, key: str) -> dict[str, Any]:
        """Return the attributes of a record, numbers as texts; empty if there is none."""
        item = self.stack.client("dynamodb").get_item(
            TableName=self.stack.outputs["NotificationsTable"],
            Key={"channel": {"S": self.channel}, "dedup_key": {"S": key}},
            ConsistentRead=True,
        )
        return {name: next(iter(value.values())) for name, value in item.get("Item", {}).items()}

    def change(self, key: str, expression: str, **values: dict[str, str]) -> None:
        """Change a stored record as only time could."""
        self.stack.client("dynamodb").update_item(
            TableName=self.stack.outputs["NotificationsTable"],
            Key={"channel": {"S": self.channel}, "dedup_key": {"S": key}},
            UpdateExpression=expression,
            ExpressionAttributeValues={f":{name}": value for name, value in values.items()},
        )

    def hold(self) -> dict[str, Any]:
        """Return the row of the channel, numbers as texts."""
        item = self.stack.client("dynamodb").get_item(
            TableName=self.stack.outputs["ChannelsTable"], Key={"channel": {"S": self.channel}}, ConsistentRead=True
        )
        return {name: next(iter(value.values())) for name, value in item.get("Item", {}).items()}

    def release(self) -> None:
        """End the channel's hold, as an operator does."""
        self.stack.client("dynamodb").update_item(
            TableName=self.stack.outputs["ChannelsTable"],
            Key={"channel": {"S": self.channel}},
            UpdateExpression="REMOVE hold_until, hold_reason, failures",
        )

    def received(self) -> list[Received]:
        """Return the requests that came to the channel's webhook."""
        return self.endpoint.requests(self.path)

    def told(self) -> list[str]:
        """Return the dedup keys that were in those requests."""
        keys = []
        for request in self.received():
            data = json.loads(request.body)["data"]
            keys += [member["dedup_key"] for member in data.get("notifications", [data])]
        return keys

    def log(self, function: str, event: str) -> list[dict[str, Any]]:
        """Return the log lines of one event that name this channel or no channel at all."""
        lines = [json.loads(line) for line in self.stack.logs(function) if line.startswith("{")]
        return [x for x in lines if x.get("message") == event and x.get("channel", self.channel) == self.channel]

    def metric(self, name: str, **dimensions: str) -> float:
        """Return the sum that CloudWatch holds of a metric."""
        by = {"service": "redeliver-local", **dimensions}
        answer = self.stack.client("cloudwatch").get_metric_statistics(
            Namespace="redeliver",
            MetricName=name,
            Dimensions=[{"Name": key, "Value": value} for key, value in sorted(by.items())],
            StartTime=time.time() - 3600,
            EndTime=time.time() + 60,
            Period=3600,
            Statistics=["Sum"],
        )
        return float(sum(point["Sum"] for point in answer["Datapoints"]))


def new_channel(stack: LocalStack, endpoint: Endpoint, **document: object) -> Scene:
    """Configure a webhook channel that no other test uses."""
    scene = Scene(stack, endpoint, f"hook-{next(_numbers)}")
    configure(scene, **document)
    return scene


def configure(scene: Scene, **document: object) -> None:
    """Write the channel's document."""
    usual = {"type": "webhook", "url": scene.endpoint.url(scene.path), "secret": _SECRET, "allow_private_network": True}
    scene.stack.client("ssm").put_parameter(
        Name=f"/redeliver/local/channels/{scene.channel}",
        Type="SecureString",
        Value=json.dumps({name: value for name, value in (usual | document).items() if value is not None}),
        Overwrite=True,
    )


def news(scene: Scene, finding: str, status: str, changed_at: datetime | None = None) -> None:
    """Tell the bus that a finding changed."""
    detail = {
        "finding_id": finding,
        "status": status,
        "changed_at": (changed_at or datetime.now(UTC) + timedelta(seconds=1)).isoformat(),
    }
    entry = {
        "Source": "guard",
        "DetailType": "Finding Status Changed",
        "Detail": json.dumps(detail),
        "EventBusName": scene.stack.outputs["NotificationBus"],
    }
    assert scene.stack.client("events").put_events(Entries=[entry])["FailedEntryCount"] == 0


def until(look: Callable[[], Seen], seconds: float = 60) -> Seen:
    """Return what a look finds as soon as it finds something; fail after that many seconds."""
    end = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < end, "it did not come to pass in time"
        time.sleep(0.1)
    return found
