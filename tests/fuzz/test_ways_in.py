"""Notifications of any shape, by every way in: a clear refusal or a valid record, never anything in between."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redeliver.core.notification import FINAL, OPEN, Notification
from redeliver.core.request import InvalidRequest, Request, parse
from redeliver.intake import direct, message
from redeliver.operator.commands import InvalidCommand
from tests.builders import raw
from tests.fuzz.strategies import JSON, SPOILS, TEXTS, as_sent, examples, spoiled
from tests.world import World

RESULTS = {"sent", "accepted", "retrying", "dead_lettered", "suppressed", "duplicate", "not_configured", "invalid"}
MARKED = raw(
    subject="subject-sesame",
    body="body-sesame",
    recipient="recipient-sesame",
    payload={"token": "payload-sesame"},
    finding_id="F1",
    suppress=...,
    deliver_by="2030-01-01T00:00:00Z",
)
REQUESTS = JSON | spoiled(MARKED) | st.just(MARKED)
BODIES = (
    TEXTS
    | REQUESTS.map(lambda value: _text(value))
    | st.builds(lambda text, at: text[:at] + text[at + 1 :], st.just(json.dumps(MARKED)), st.integers(0, 300))
    | st.sampled_from(
        ["[" * 250_000, '{"a":' * 50_000, "NaN", "1" * 5000, "[" * 900 + "]" * 900, '"\\ud800"', "\ufeff{}"]
    )
    | st.builds(lambda name: json.dumps(MARKED)[:-1] + f', "{name}": "again"}}', st.sampled_from(sorted(MARKED)))
    | st.just(json.dumps({**MARKED, "body": "x" * 256 * 1024}))
)


def _text(value: object) -> str:
    try:
        return json.dumps(value)
    except (ValueError, RecursionError):
        return "["


def clear(error: str | None, given: object) -> bool:
    """Tell whether a refusal can be shown, is short, and gives nothing away."""
    assert error is not None
    error.encode()
    assert len(error) < 500
    assert isinstance(given, str) or "-sesame" not in error
    return True


def is_whole(world: World) -> bool:
    """Check that whatever is stored is a whole record, at its end or on its way."""
    for row in world.memory.rows.values():
        assert isinstance(row, Notification)
        assert (row.status in OPEN) == (row.next_attempt_at is not None)
        assert row.status in FINAL or row.expires_at is None
        parse({name: getattr(row, name) for name in ("channel", "dedup_key", "kind", "subject", "body")})
    return True


@examples(400)
@given(REQUESTS)
def test_a_request_is_valid_or_refused_by_the_name_of_its_field(value: Any) -> None:
    try:
        assert isinstance(parse(value), Request)
    except InvalidRequest as error:
        refusal = str(error)
    else:
        return
    assert clear(refusal, value)
    named = refusal.split(":")[0]
    assert not isinstance(value, dict) or named in value or named in raw() or "unknown field" in refusal


def is_answered(event: Any) -> bool:
    """Check the answer to a direct call, and what is stored then."""
    world = World()
    answer = direct(world.accept, event, world.refused, world.deadline())
    assert as_sent(answer)
    assert is_whole(world)
    results = answer["results"]
    assert isinstance(results, list)
    assert {each["result"] for each in results} <= RESULTS
    taken = {(each["channel"], each["dedup_key"]) for each in results if each["result"] != "invalid"}
    assert len(world.memory.rows) == len(taken)
    assert all(clear(each["error"], event) for each in results if each["result"] == "invalid")
    return True


@examples(150)
@given(
    st.lists(REQUESTS, max_size=4).map(lambda each: {"notifications": each})
    | REQUESTS
    | SPOILS.map(lambda value: {"notifications": value})
)
def test_a_direct_call_is_answered_whatever_it_is(event: Any) -> None:
    assert is_answered(event)


@pytest.mark.parametrize("field", sorted([*MARKED, "suppress"]))
@examples(40)
@given(value=SPOILS)
def test_a_direct_call_is_answered_whatever_one_field_is(field: str, value: Any) -> None:
    assert is_answered({**MARKED, field: value})


@examples(150)
@given(BODIES)
def test_a_message_of_the_queue_is_stored_or_put_aside(body: str) -> None:
    world = World()
    answer = message(world.accept, body, world.refused, world.deadline())
    assert as_sent(answer.as_json())
    assert is_whole(world)
    if answer.result == "invalid":
        assert [kept for kept, _ in world.refused.messages] == [body]
        assert not world.memory.rows
        assert clear(world.refused.messages[0][1], body)
    else:
        assert not world.refused.messages
        assert len(world.memory.rows) == 1


COMMANDS = st.builds(lambda value: {"command": value}, JSON) | spoiled(
    {"command": "redrive", "channel": "ops", "dedup_keys": ["k1", "k2"]}
)


@examples(150)
@given(COMMANDS)
def test_a_command_is_carried_out_or_refused_before_anything_is_done(event: dict[str, Any]) -> None:
    world, refusal = World(), "none"
    world.send(suppress="seen")
    writes = world.memory.writes
    try:
        assert as_sent(world.operate(**event))
    except InvalidCommand as error:
        refusal = str(error)
    assert clear(refusal, event)
    assert world.memory.writes == writes  # there is no dead letter


def test_what_gives_a_secret_away_is_noticed() -> None:
    with pytest.raises(AssertionError):
        clear("body: body-sesame is not allowed", {})
