"""What others hear on the bus: dead letters, holds, and deliveries if the channel's document says so."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from redeliver.core import moments
from redeliver.core.notification import Key
from redeliver.core.outcome import Gone, Reject, Retry
from redeliver.ports import Announcement
from tests.builders import NOW, at, record
from tests.world import World

SCHEMA = Path(__file__).parents[2] / "docs" / "events.schema.json"
DOWN = Retry("http_500", "it burns")


def heard(world: World, what: Announcement) -> list[dict[str, object]]:
    return [detail for each, detail in world.telemetry.announced if each is what]


@pytest.mark.parametrize("wanted", [True, False])
def test_deliveries_are_announced_if_the_channel_says_so(wanted: bool) -> None:
    world = World()
    world.channel.announce_sent = wanted
    world.send(finding_id="CVE-1")
    world.put(record(dedup_key="k2"))
    world.sweep()
    told = heard(world, Announcement.SENT)
    assert [one["dedup_key"] for one in told] == (["k1", "k2"] if wanted else [])
    if wanted:
        assert told[0].items() >= {"channel": "ops", "finding_id": "CVE-1", "at": NOW.isoformat()}.items()
        assert "body" not in told[0]


def test_dead_letters_are_announced_whichever_way_they_died() -> None:
    world = World()
    world.channel.will(Reject("too_long", "no"))
    world.send(dedup_key="rejected")
    world.send(dedup_key="expired", deliver_by=at(-1).isoformat())
    world.put(record(dedup_key="interrupted", attempt_count=5, claimed_until=NOW))
    world.memory.plant(Key("ops", "unreadable"), next_attempt_at=NOW)
    world.sweep(1)
    told = {one["dedup_key"]: one for one in heard(world, Announcement.DEAD_LETTERED)}
    assert {key: one["reason"] for key, one in told.items()} == {
        "rejected": "too_long",
        "expired": "expired",
        "interrupted": "interrupted",
        "unreadable": "unreadable",
    }
    assert told["rejected"].items() >= {"error": "no", "attempt_count": 1, "at": NOW.isoformat()}.items()


def test_a_hold_and_its_end_are_announced() -> None:
    world = World()
    world.put(*[record(dedup_key=str(number)) for number in range(6)])
    world.channel.will(*[DOWN] * 5)
    world.sweep()
    (held,) = heard(world, Announcement.HELD)
    assert held == {"channel": "ops", "reason": "failing", "until": at(60).isoformat()}
    assert heard(world, Announcement.RECOVERED) == []
    world.sweep(400)
    assert heard(world, Announcement.RECOVERED) == [{"channel": "ops", "reason": "failing"}]


def test_a_hold_by_send_is_announced_once() -> None:
    world = World()
    world.channel.always(Gone("chat_not_found", "gone"))
    world.send(dedup_key="a")
    world.send(dedup_key="b")
    assert [one["reason"] for one in heard(world, Announcement.HELD)] == ["gone"]


def test_what_is_retried_is_nobodys_business() -> None:
    world = World()
    world.channel.always(DOWN)
    world.send()
    assert world.telemetry.announced == []


def test_every_announcement_is_as_its_schema_says() -> None:
    world = World()
    world.channel.announce_sent = True
    world.send(finding_id="CVE-1", recipient="7")
    world.channel.will(Retry("http_429", "slower", timedelta(seconds=90)), Reject("no", "x"))
    world.send(dedup_key="wait")
    world.sweep(400)
    world.memory.plant(Key("ops", "unreadable"), next_attempt_at=NOW)
    world.put(*[record(dedup_key=str(number)) for number in range(6)])
    world.channel.will(*[DOWN] * 5)
    world.sweep()
    world.sweep(4000)
    schemas = json.loads(SCHEMA.read_text())["$defs"]
    assert {what for what, _ in world.telemetry.announced} == set(Announcement) == set(schemas)
    for what, detail in world.telemetry.announced:
        given = {name: value for name, value in detail.items() if value is not None}
        schema = schemas[what]
        assert schema["properties"].keys() >= given.keys() >= set(schema["required"]), what
        assert all(_fits(value, schema["properties"][name]) for name, value in given.items()), given


def _fits(value: object, schema: dict[str, Any]) -> bool:
    if "const" in schema or "enum" in schema:
        return value in schema.get("enum", [schema.get("const")])
    if schema.get("format") == "date-time":
        return isinstance(value, str) and moments.parse(value) is not None
    return isinstance(value, {"string": str, "integer": int, "boolean": bool}[schema["type"]])
