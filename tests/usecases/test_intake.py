"""The ways in: a direct call with one or many, a message of the queue (SPEC 4, 12)."""

import json
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from redeliver.intake import PUT_ASIDE, direct, message
from redeliver.ports import Unavailable
from tests.builders import raw
from tests.fakes import REFUSED
from tests.world import World


@dataclass
class Refused:
    """Remembers what was put aside."""

    messages: list[tuple[str, str]] = field(default_factory=list)
    down: bool = False

    def put(self, body: str, reason: str) -> None:
        if self.down:
            raise Unavailable("SQS: down")
        self.messages.append((body, reason))


def results(world: World, event: object) -> list[str]:
    answers = direct(world.accept, event, world.deadline())["results"]
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
    answer = direct(world.accept, event, world.deadline())["results"]
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
        direct(world.accept, event, world.deadline())
    assert world.channel.sent == [["b"], ["c"]]
    assert results(world, event) == ["sent", "duplicate", "duplicate"]


def test_a_message() -> None:
    world, refused = World(), Refused()
    assert message(world.accept, json.dumps(raw()), refused, world.deadline()).result == "sent"
    assert not refused.messages


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
    world, refused = World(), Refused()
    assert message(world.accept, body, refused, world.deadline()).result == "invalid"
    assert [(kept, why.startswith(reason)) for kept, why in refused.messages] == [(body, True)]
    assert not world.memory.rows


def test_an_answer_holds_nothing_that_cannot_be_sent() -> None:
    world = World()
    answer = direct(world.accept, raw(channel="\ud800", dedup_key="\udfff"), world.deadline())
    assert json.dumps(answer, ensure_ascii=False).encode()  # as Lambda does
    assert world.telemetry.counts == {("notifications.invalid", frozenset()): 1}


def test_an_invalid_message_that_cannot_be_put_aside_goes_back() -> None:
    world = World()
    with pytest.raises(Unavailable):
        message(world.accept, "{", Refused(down=True), world.deadline())


def test_a_message_that_could_not_be_stored_goes_back() -> None:
    world = World()
    world.ledger.will(REFUSED)
    with pytest.raises(Unavailable):
        message(world.accept, json.dumps(raw()), Refused(), world.deadline())


@pytest.mark.parametrize(("left", "kept"), [(timedelta(seconds=-0.1), 0), (timedelta(), 1)])
def test_an_invalid_message_goes_back_when_there_is_no_time_to_put_it_aside(left: timedelta, kept: int) -> None:
    world, refused = World(), Refused()
    with nullcontext() if kept else pytest.raises(Unavailable, match="no time was left to put an invalid message"):
        message(world.accept, "{", refused, world.deadline(PUT_ASIDE + left))
    assert len(refused.messages) == kept
