"""The ways in, over the deployed queue, bus and schedules."""

import json

import pytest

from infra.local.stack import FunctionFailedError
from tests.stack.scene import Scene, until


def test_a_message_of_the_queue_is_sent(scene: Scene) -> None:
    scene.stack.client("sqs").send_message(
        QueueUrl=scene.stack.outputs["SendQueue"], MessageBody=json.dumps(scene.notification("q-1"))
    )
    until(lambda: scene.stored("q-1").get("status") == "sent")
    assert scene.told() == ["q-1"]


def test_an_event_of_the_bus_comes_through_the_queue(scene: Scene) -> None:
    entry = {
        "Source": "tracker",
        "DetailType": "Notification Requested",
        "Detail": json.dumps(scene.notification("e-1")),
        "EventBusName": scene.stack.outputs["NotificationBus"],
    }
    scene.stack.client("events").put_events(Entries=[entry])
    until(lambda: scene.stored("e-1").get("status") == "sent")


def test_an_invalid_message_is_put_aside_with_its_reason_and_the_others_are_sent(scene: Scene) -> None:
    bodies = ["not json", json.dumps(scene.notification("q-bad", kind="Über")), json.dumps(scene.notification("q-2"))]
    entries = [{"Id": str(number), "MessageBody": body} for number, body in enumerate(bodies)]
    sqs = scene.stack.client("sqs")
    sqs.send_message_batch(QueueUrl=scene.stack.outputs["SendQueue"], Entries=entries)
    until(lambda: scene.stored("q-2").get("status") == "sent")
    reasons: dict[str, str] = {}

    def both() -> bool:
        answer = sqs.receive_message(
            QueueUrl=scene.stack.outputs["SendDeadLetterQueue"],
            MessageAttributeNames=["All"],
            MaxNumberOfMessages=10,
            VisibilityTimeout=60,
        )
        for message in answer.get("Messages", []):
            reasons[message["Body"]] = message["MessageAttributes"]["reason"]["StringValue"]
        return set(bodies[:2]) <= set(reasons)

    until(both)
    assert "JSON" in reasons[bodies[0]]
    assert reasons[bodies[1]].startswith("kind: ")
    assert not scene.stored("q-bad")


def test_a_direct_call_answers_each_in_order(scene: Scene) -> None:
    wanted = [scene.notification("d-1"), scene.notification("d-2", subject=""), scene.notification("d-1")]
    answers = scene.stack.invoke("SendFunction", {"notifications": wanted})["results"]
    assert [answer["result"] for answer in answers] == ["sent", "invalid", "duplicate"]
    assert answers[1]["error"].startswith("subject: ")
    assert answers[1]["status"] is None


def test_a_command_that_nobody_knows_says_which_there_are(scene: Scene) -> None:
    with pytest.raises(FunctionFailedError, match="counts, redrive"):
        scene.stack.invoke("RetrySweeperFunction", {"command": "redirve"})


def test_the_schedules_of_the_template_call_their_functions(scene: Scene) -> None:
    scheduler = scene.stack.client("scheduler")
    targets = {}
    for summary in scheduler.list_schedules()["Schedules"]:
        schedule = scheduler.get_schedule(Name=summary["Name"], GroupName=summary["GroupName"])
        targets[schedule["Target"]["Arn"].split(":")[-1]] = schedule
    sweeper = targets[scene.stack.outputs["RetrySweeperFunction"]]
    assert scene.stack.outputs["RetentionFunction"] in targets
    assert sweeper["Target"]["RetryPolicy"]
    assert sweeper["Target"]["DeadLetterConfig"]["Arn"]
    before = len(scene.log("RetrySweeperFunction", "sweep_finished"))
    scheduler.update_schedule(
        **{name: sweeper[name] for name in ("Name", "GroupName", "Target", "FlexibleTimeWindow", "State")},
        ScheduleExpression="rate(1 minute)",
    )
    try:
        until(lambda: len(scene.log("RetrySweeperFunction", "sweep_finished")) > before, seconds=90)
    finally:
        scheduler.update_schedule(
            **{name: sweeper[name] for name in ("Name", "GroupName", "Target", "FlexibleTimeWindow", "State")},
            ScheduleExpression=sweeper["ScheduleExpression"],
        )
