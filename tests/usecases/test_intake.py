"""The ways in: a direct call with one or many, a message of the queue (SPEC 4, 12)."""

import json
from contextlib import nullcontext
from datetime import timedelta
from typing import Any

import pytest

from redeliver.deliver import WRITE_EACH
from redeliver.intake import PUT_ASIDE, direct, message
from redeliver.ports import Unavailable
from tests.builders import raw
from tests.fakes import REFUSED, FakeDeadLetterQueue
from tests.world import World


def results(world: World, event: object) -> list[str]:
    answers = direct(world.accept, event, world.refused, world.deadline())["results"]
    assert isinstance(answers, list)
    return [answer["result"] for answer in answers]


def test_one() -> None:
    world = World()
    assert results(world, raw()) == ["sent"]


def test_many_are_answered_in_order_and_one_bad_one_is_alone() -> None:
    world = World()
    event = {
        "notifications": [raw(dedup_key="a"), raw(dedup_key="b", kind="NO"), 5, raw(dedup_key="a"), raw(dedup_key="c")]
    }
    assert results(world, event) == ["sent", "invalid", "invalid", "duplicate", "sent"]


def test_nothing_asked_is_nothing_answered() -> None:
    assert results(World(), {"notifications": []}) == []


@pytest.mark.parametrize(("number", "allowed"), [(100, True), (101, False)])
def test_at_most_a_hundred_in_one_call(number: int, allowed: bool) -> None:
    world = World()
    answers = results(world, {"notifications": [raw(dedup_key=str(n)) for n in range(number)]})
    assert answers == (["sent"] * number if allowed else ["invalid"])
    assert len(world.memory.rows) == (number if allowed else 0)


@pytest.mark.parametrize(
    ("event", "problem"),
    [
        ({"notifications": raw()}, "notifications: must be a list"),
        ({"notifications": None}, "notifications: must be a list"),
        ({"notifications": [raw()], "channel": "ops"}, "'channel': unknown field beside notifications"),
        (None, "a notification is a JSON object"),
        ("text", "a notification is a JSON object"),
        ([raw()], "a notification is a JSON object"),
        ({}, "channel: is required"),
    ],
    ids=str,
)
def test_a_bad_envelope_says_what_is_allowed_and_stores_nothing(event: object, problem: str) -> None:
    world = World()
    answer = direct(world.accept, event, world.refused, world.deadline())["results"]
    assert isinstance(answer, list)
    assert [one["result"] for one in answer] == ["invalid"]
    assert problem in answer[0]["error"]
    assert not world.memory.rows
    assert world.telemetry.counted("invalid") == 1


def test_what_could_not_be_stored_is_raised_after_the_others_were_done() -> None:
    world = World()
    world.ledger.will(REFUSED)
    event = {"notifications": [raw(dedup_key=key) for key in "abc"]}
    with pytest.raises(Unavailable, match="1 of 3 could not be stored"):
        direct(world.accept, event, world.refused, world.deadline())
    assert world.channel.sent == [["b"], ["c"]]
    assert results(world, event) == ["sent", "duplicate", "duplicate"]


def test_a_message() -> None:
    world, refused = World(), FakeDeadLetterQueue()
    assert message(world.accept, json.dumps(raw()), refused, world.deadline()).result == "sent"
    assert not refused.messages


def test_a_message_with_a_byte_order_mark() -> None:
    world = World()
    assert message(world.accept, "\ufeff" + json.dumps(raw()), world.refused, world.deadline()).result == "sent"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("{", "not JSON"),
        ("", "not JSON"),
        ("[" * 200_000, "not JSON"),
        ("5", "a notification is a JSON object"),
        ('"text"', "a notification is a JSON object"),
        (json.dumps(raw(kind="NO")), "kind: must be 1 to 64 of"),
        (json.dumps({"notifications": [raw()]}), "'notifications': unknown field"),
    ],
    ids=lambda value: value[:20],
)
def test_an_invalid_message_is_put_aside_with_the_reason(body: str, reason: str) -> None:
    world, refused = World(), FakeDeadLetterQueue()
    assert message(world.accept, body, refused, world.deadline()).result == "invalid"
    assert [(kept, why.startswith(reason)) for kept, why in refused.messages] == [(body, True)]
    assert not world.memory.rows


def test_an_answer_holds_nothing_that_cannot_be_sent() -> None:
    world = World()
    answer = direct(world.accept, raw(channel="\ud800", dedup_key="\udfff"), world.refused, world.deadline())
    assert json.dumps(answer, ensure_ascii=False).encode()  # as Lambda does
    assert world.telemetry.counts == {("notifications.invalid", frozenset()): 1}


def test_an_invalid_message_that_cannot_be_put_aside_goes_back() -> None:
    world = World()
    with pytest.raises(Unavailable):
        message(world.accept, "{", FakeDeadLetterQueue(down=True), world.deadline())


def test_a_message_that_could_not_be_stored_goes_back() -> None:
    world = World()
    world.ledger.will(REFUSED)
    with pytest.raises(Unavailable):
        message(world.accept, json.dumps(raw()), FakeDeadLetterQueue(), world.deadline())


def sns(*messages: str) -> dict[str, Any]:
    return {
        "Records": [
            {"EventSource": "aws:sns", "Sns": {"TopicArn": "arn:aws:sns:eu-central-1:1:news", "Message": each}}
            for each in messages
        ]
    }


def event_of_the_bus(detail: object) -> dict[str, Any]:
    return {"version": "0", "id": "1", "detail-type": "New Ad", "source": "tracker", "detail": detail}


S3 = {"Records": [{"eventSource": "aws:s3", "s3": {"object": {"key": "ads.csv"}}}]}
REFUSED_CALLS: dict[str, tuple[object, str]] = {
    "a field is invalid": (raw(kind="NO"), "direct call: kind: must be 1 to 64 of"),
    "the body of a function's test": ({"key1": "value1"}, "direct call: 'key1': unknown field"),
    "nothing": (None, "direct call: a notification is a JSON object"),
    "a list": ([raw()], "direct call: a notification is a JSON object"),
    "one more field beside notifications": ({"notifications": [raw()], "id": 1}, "direct call: 'id': unknown field"),
    "no list of notifications": ({"notifications": raw()}, "direct call: notifications: must be a list"),
    "an event of S3": (S3, "direct call: 'Records': unknown field"),
    "a notification beside records of SNS": (
        {**raw(), **sns(json.dumps(raw()))},
        "direct call: 'Records': unknown field",
    ),
    "no records": ({**raw(), "Records": []}, "direct call: 'Records': unknown field"),
}


@pytest.mark.parametrize(("event", "reason"), REFUSED_CALLS.values(), ids=REFUSED_CALLS)
def test_an_invalid_call_is_put_aside_as_it_came_since_nobody_may_read_its_answer(event: object, reason: str) -> None:
    world = World()
    assert results(world, event) == ["invalid"]
    assert [(json.loads(body), why.startswith(reason)) for body, why in world.refused.messages] == [(event, True)]
    assert not world.memory.rows


def test_of_many_only_the_invalid_ones_are_put_aside_each_by_itself() -> None:
    world = World()
    bad = [raw(dedup_key="b", kind="NO"), raw(dedup_key="d", subject="")]
    event = {"notifications": [raw(dedup_key="a"), bad[0], raw(dedup_key="c"), bad[1]]}
    assert results(world, event) == ["sent", "invalid", "sent", "invalid"]
    assert [json.loads(body) for body, _ in world.refused.messages] == bad


WRAPPED: dict[str, dict[str, Any]] = {
    "SNS": sns(json.dumps(raw()), json.dumps(raw(dedup_key="k2"))),
    "SNS with a byte-order mark": sns("\ufeff" + json.dumps(raw()), json.dumps(raw(dedup_key="k2"))),
    "EventBridge": event_of_the_bus(raw()),
}


@pytest.mark.parametrize("event", WRAPPED.values(), ids=WRAPPED)
def test_what_a_service_hands_on_is_taken_out_of_its_envelope(event: dict[str, Any]) -> None:
    world = World()
    number = len(event.get("Records", [event]))
    assert results(world, event) == ["sent"] * number
    assert len(world.channel.sent) == number
    assert not world.refused.messages


REFUSED_ENVELOPES: dict[str, tuple[dict[str, Any], str, str]] = {
    "SNS, no JSON": (sns("disk is full"), "disk is full", "SNS topic 'arn:aws:sns:eu-central-1:1:news': not JSON"),
    "SNS, a field": (sns(json.dumps(raw(kind="NO"))), json.dumps(raw(kind="NO")), "SNS topic 'arn:aws:sns:eu-central"),
    "SNS, a number": (sns("5"), "5", "SNS topic 'arn:aws:sns:eu-central-1:1:news': a notification is a JSON object"),
    "EventBridge, a field": (
        event_of_the_bus({"channel": "ops", "ad": 7}),
        '{"channel": "ops", "ad": 7}',
        "EventBridge event 'New Ad' of 'tracker': 'ad': unknown field",
    ),
    "EventBridge Scheduler": (event_of_the_bus("{}"), '"{}"', "EventBridge event 'New Ad' of 'tracker': a notific"),
}


@pytest.mark.parametrize(("event", "kept", "reason"), REFUSED_ENVELOPES.values(), ids=REFUSED_ENVELOPES)
def test_what_is_invalid_in_an_envelope_is_put_aside_with_who_handed_it_on(
    event: dict[str, Any], kept: str, reason: str
) -> None:
    world = World()
    assert results(world, event) == ["invalid"]
    assert [(body, why.startswith(reason)) for body, why in world.refused.messages] == [(kept, True)]


def test_what_is_put_aside_can_be_written_by_sqs_whatever_it_holds() -> None:
    world, event = World(), {"\ufffe": "\ud800 \uffff € \x00"}
    assert results(world, event) == ["invalid"]
    ((body, _),) = world.refused.messages
    assert json.loads(body) == event
    assert "€" in body
    # SendMessage: #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF
    assert not set(body) & {"\x00", "\ud800", "\ufffe", "\uffff"}


def test_a_call_fails_if_what_is_invalid_cannot_be_put_aside_so_that_lambda_keeps_it() -> None:
    world = World(refused=FakeDeadLetterQueue(down=True))
    event = {"notifications": [raw(kind="NO"), raw()]}
    with pytest.raises(Unavailable, match="could not be put aside"):
        results(world, event)
    world.refused.down = False
    assert results(world, event) == ["invalid", "duplicate"]
    assert len(world.refused.messages) == 1


def test_nothing_is_put_aside_by_a_call_that_is_made_again() -> None:
    world = World()
    world.ledger.will(REFUSED)
    event = {"notifications": [raw(kind="NO"), raw()]}
    with pytest.raises(Unavailable, match="1 of 2 could not be stored"):
        results(world, event)
    assert not world.refused.messages


def test_time_to_put_aside_is_left_by_the_attempts_that_come_after() -> None:
    world = World()
    event = {"notifications": [raw(kind="NO")] * 99 + [raw()]}
    least = world.deliver().room
    exact = next(left for left in range(120, 400) if least(world.deadline(left * WRITE_EACH)))
    for more, result in ((99, "sent"), (98, "accepted")):
        world = World()
        answers = direct(world.accept, event, world.refused, world.deadline((exact + more) * WRITE_EACH))["results"]
        assert isinstance(answers, list)
        assert answers[-1]["result"] == result


@pytest.mark.parametrize(("left", "kept"), [(timedelta(seconds=-0.1), 0), (timedelta(), 1)])
def test_an_invalid_message_goes_back_when_there_is_no_time_to_put_it_aside(left: timedelta, kept: int) -> None:
    world, refused = World(), FakeDeadLetterQueue()
    with nullcontext() if kept else pytest.raises(Unavailable, match="no time was left to put an invalid message"):
        message(world.accept, "{", refused, world.deadline(PUT_ASIDE + left))
    assert len(refused.messages) == kept
