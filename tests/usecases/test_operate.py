import unicodedata
from typing import Any

import pytest

from redeliver.core.hold import Hold
from redeliver.core.notification import Key, Status
from redeliver.core.outcome import Reject
from redeliver.operator.commands import InvalidCommand
from tests.builders import NOW, at, final, record
from tests.world import World

DEAD = Status.DEAD_LETTERED


def results(answer: dict[str, Any]) -> dict[str, str]:
    return {one["dedup_key"]: one["result"] for one in answer["results"]}


def test_counts_per_channel() -> None:
    world = World()
    world.put(*(record(dedup_key=str(n), next_attempt_at=at(-9)) for n in range(3)), final(DEAD, dedup_key="d"))
    world.put(record(channel="held", next_attempt_at=at(50)))
    world.states.hold("held", Hold(at(60), "operator"), NOW)
    world.states.hold("ops", Hold(at(-1), "wait"), at(-9))
    answer = world.operate(command="counts")
    assert answer == {
        "channels": {
            "held": {
                "pending": 1,
                "complete": True,
                "dead_letters": 0,
                "oldest_due_seconds": 0,
                "hold_until": int(at(60).timestamp()),
                "hold_reason": "operator",
            },
            "ops": {
                "pending": 3,
                "complete": True,
                "dead_letters": 1,
                "oldest_due_seconds": 9,
                "hold_until": None,
                "hold_reason": None,
            },
        },
        "pending": 4,
        "dead_letters": 1,
    }
    assert world.telemetry.of("counts") == [answer]


def test_counts_of_nothing() -> None:
    assert World().operate(command="counts") == {"channels": {}, "pending": 0, "dead_letters": 0}


def test_a_backlog_is_counted_beyond_the_first_page() -> None:
    world = World()
    world.put(*(record(dedup_key=str(n)) for n in range(250)))
    assert world.operate(command="counts")["pending"] == 250


def test_redrive() -> None:
    world = World()
    world.channel.will(Reject("no", "x"))
    world.send(deliver_by=at(100).isoformat())
    world.clock.pass_by(1000)
    assert results(world.operate(command="redrive", channel="ops", dedup_keys=["k1"])) == {"k1": "redriven"}
    waiting = world.get()
    assert (waiting.status, waiting.attempt_count, waiting.redrive_count) == (Status.PENDING, 0, 1)
    assert (waiting.expires_at, waiting.dead_lettered_at, waiting.deliver_by) == (None, None, None)
    assert world.telemetry.of("notification_redriven")[0]["redrive_count"] == 1
    assert world.sweep().sent == 1
    assert world.channel.sent == [["k1"], ["k1"]]


def test_what_is_not_redriven_says_why() -> None:
    world = World()
    world.put(record(dedup_key="open"), final(dedup_key="sent"), final(DEAD, dedup_key="old", expires_at=NOW))
    world.put(final(DEAD, dedup_key="dead"))
    world.memory.plant(Key("ops", "bad"))
    keys = ["open", "sent", "old", "dead", "bad", "nothing"]
    answer = world.operate(command="redrive", channel="ops", dedup_keys=keys)
    assert answer["redriven"] == 1
    assert results(answer) == {
        "open": "is_pending",
        "sent": "is_sent",
        "old": "not_found",
        "dead": "redriven",
        "bad": "unreadable",
        "nothing": "not_found",
    }


def test_a_redrive_that_loses_its_condition_says_so() -> None:
    world = World()
    dead = final(DEAD)
    world.put(dead)
    world.ledger.on_write = lambda: world.memory.replace(dead, final(DEAD, expires_at=at(9)))
    assert results(world.operate(command="redrive", channel="ops", dedup_keys=["k1"])) == {"k1": "conflict"}


def test_a_key_is_found_however_it_is_typed() -> None:
    world = World()
    composed = unicodedata.normalize("NFC", "Café")
    world.put(final(DEAD, dedup_key=composed))
    typed = unicodedata.normalize("NFD", "Café")
    assert results(world.operate(command="redrive", channel="ops", dedup_keys=[typed])) == {composed: "redriven"}


@pytest.mark.parametrize(
    ("command", "allowed"),
    [
        ({}, "command: must be one of counts, redrive"),
        ({"command": "drop"}, "command: must be one of counts, redrive"),
        ({"command": 5}, "command: must be one of counts, redrive"),
        ({"command": "counts", "channel": "ops"}, "'channel': unknown field; allowed are command"),
        ({"command": "redrive", "dedup_keys": ["k1"]}, "channel: must be"),
        ({"command": "redrive", "channel": "", "dedup_keys": ["k1"]}, "channel: must be"),
        ({"command": "redrive", "channel": "a b", "dedup_keys": ["k1"]}, "channel: must be 1 to 64 of"),
        ({"command": "redrive", "channel": "ops"}, "dedup_keys: must be a list"),
        ({"command": "redrive", "channel": "ops", "dedup_keys": "k1"}, "dedup_keys: must be a list"),
        ({"command": "redrive", "channel": "ops", "dedup_keys": ["k1", 5]}, "dedup_keys: must be"),
        ({"command": "redrive", "channel": "ops", "dedup_keys": ["k1", ""]}, "dedup_keys: must have 1 to 1024 bytes"),
        ({"command": "redrive", "channel": "ops", "dedup_keys": ["k1", "k" * 1025]}, "1 to 1024 bytes"),
        ({"command": "redrive", "channel": "ops", "dedup_keys": []}, "dedup_keys: must have 1 to 1000 keys; got 0"),
        ({"command": "redrive", "channel": "ops", "dedup_keys": ["k"] * 1001}, "1 to 1000 keys; got 1001"),
        ({"command": "redrive", "channel": "ops", "dedup_keys": ["k1"], "all": True}, "'all': unknown field"),
    ],
    ids=str,
)
def test_a_bad_command_names_the_field_and_does_nothing(command: dict[str, object], allowed: str) -> None:
    world = World()
    world.put(final(DEAD))
    with pytest.raises(InvalidCommand) as caught:
        world.operate(**command)
    assert allowed in str(caught.value)
    assert world.get() == final(DEAD)
