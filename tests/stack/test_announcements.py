"""What others hear on the bus of the deployed stack, by a rule as the documents show it."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from infra.local.endpoint import Endpoint, Step
from infra.local.stack import LocalStack
from tests.stack.scene import new_channel, until


@pytest.fixture
def heard(stack: LocalStack) -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """Listen with a queue of our own; give what has been heard so far."""
    sqs, events, bus = stack.client("sqs"), stack.client("events"), stack.outputs["NotificationBus"]
    url = sqs.create_queue(QueueName="listener")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    events.put_rule(Name="listener", EventBusName=bus, EventPattern=json.dumps({"source": ["redeliver"]}))
    events.put_targets(Rule="listener", EventBusName=bus, Targets=[{"Id": "1", "Arn": arn}])
    found: list[dict[str, Any]] = []

    def take() -> list[dict[str, Any]]:
        messages = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=0).get("Messages", [])
        for message in messages:
            found.append(json.loads(message["Body"]))
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return found

    yield take
    events.remove_targets(Rule="listener", EventBusName=bus, Ids=["1"])
    events.delete_rule(Name="listener", EventBusName=bus)
    sqs.delete_queue(QueueUrl=url)


def test_deliveries_dead_letters_and_holds_are_heard(
    stack: LocalStack, endpoint: Endpoint, heard: Callable[[], list[dict[str, Any]]]
) -> None:
    scene = new_channel(stack, endpoint, announce_sent=True)
    endpoint.script(scene.path, Step(), default=Step(status=410))
    scene.send("good")
    scene.send("gone")

    def ours() -> dict[str, dict[str, Any]]:
        mine = [event for event in heard() if event["detail"]["channel"] == scene.channel]
        return {event["detail-type"]: event["detail"] for event in mine}

    until(lambda: len(ours()) == 3)
    assert ours()["Notification Sent"]["dedup_key"] == "good"
    assert ours()["Notification Dead Lettered"].items() >= {"dedup_key": "gone", "reason": "http_410"}.items()
    assert ours()["Channel Held"]["reason"] == "gone"
