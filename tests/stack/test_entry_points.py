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
    reasons = put_aside(scene, *bodies[:2])
    assert "JSON" in reasons[bodies[0]]
    assert reasons[bodies[1]].startswith("kind: ")
    assert not scene.stored("q-bad")


def test_a_direct_call_answers_each_in_order(scene: Scene) -> None:
    wanted = [scene.notification("d-1"), scene.notification("d-2", subject=""), scene.notification("d-1")]
    answers = scene.stack.invoke("SendFunction", {"notifications": wanted})["results"]
    assert [answer["result"] for answer in answers] == ["sent", "invalid", "duplicate"]
    assert answers[1]["error"].startswith("subject: ")
    assert answers[1]["status"] is None


def put_aside(scene: Scene, *bodies: str) -> dict[str, str]:
    """Return the reasons of requests that are put aside, by their bodies, as soon as all of them are."""
    reasons: dict[str, str] = {}

    def all_there() -> bool:
        answer = scene.stack.client("sqs").receive_message(
            QueueUrl=scene.stack.outputs["SendDeadLetterQueue"],
            MessageAttributeNames=["All"],
            MaxNumberOfMessages=10,
            VisibilityTimeout=60,
        )
        for message in answer.get("Messages", []):
            reasons[message["Body"]] = message["MessageAttributes"]["reason"]["StringValue"]
        return set(bodies) <= set(reasons)

    until(all_there)
    return reasons


def test_an_invalid_call_whose_answer_nobody_reads_is_put_aside_with_its_reason(scene: Scene) -> None:
    bad = scene.notification("async-bad", kind="Über")
    answer = scene.stack.client("lambda").invoke(
        FunctionName=scene.stack.outputs["SendFunction"], InvocationType="Event", Payload=json.dumps(bad)
    )
    assert answer["StatusCode"] == 202
    body = json.dumps(bad, ensure_ascii=False)
    assert put_aside(scene, body)[body].startswith("direct call: kind: ")


def test_messages_of_a_topic_are_taken_out_of_their_envelope(scene: Scene) -> None:
    sns = scene.stack.client("sns")
    topic = sns.create_topic(Name=scene.channel)["TopicArn"]
    function = scene.stack.client("lambda").get_function(FunctionName=scene.stack.outputs["SendFunction"])
    sns.subscribe(TopicArn=topic, Protocol="lambda", Endpoint=function["Configuration"]["FunctionArn"])
    sns.publish(TopicArn=topic, Message=json.dumps(scene.notification("sns-1")))
    bad = f"{scene.channel} is full"
    sns.publish(TopicArn=topic, Message=bad)
    until(lambda: scene.stored("sns-1").get("status") == "sent")
    assert put_aside(scene, bad)[bad].startswith(f"SNS topic '{topic}': not JSON")


def test_an_asynchronous_call_that_fails_ends_in_a_queue_with_its_error(scene: Scene) -> None:
    bare = {"finding_id": scene.channel, "status": "resolved", "changed_at": "2026-11-30T12:00:00Z"}
    scene.stack.client("lambda").invoke(
        FunctionName=scene.stack.outputs["RetentionFunction"], InvocationType="Event", Payload=json.dumps(bare)
    )

    def there() -> bool:
        answer = scene.stack.client("sqs").receive_message(
            QueueUrl=scene.stack.outputs["EventDeadLetterQueue"], MaxNumberOfMessages=10, VisibilityTimeout=0
        )
        records = [json.loads(message["Body"]) for message in answer.get("Messages", [])]
        return any(record.get("requestPayload") == bare for record in records)

    assert until(there)


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
