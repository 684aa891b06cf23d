"""A finding is resolved: the endpoints that know how to be told are told, by notifications like any other."""

from dataclasses import replace
from datetime import timedelta

import pytest

from redeliver.core import moments, retention
from redeliver.core.finding import Finding, FindingStatus
from redeliver.core.notification import Status
from redeliver.core.outcome import Delivered, Retry
from redeliver.core.request import parse
from redeliver.ports import Unavailable
from tests.builders import NOW, at, final
from tests.world import World

RESOLVE = '{"event_action":"resolve","dedup_key":"alert"}'
CHANGED = "2026-11-30T12:00:00.000000000Z"


def world_with_an_alert() -> World:
    world = World()
    world.channel.will(Delivered(resolve_with=RESOLVE))
    assert world.send(finding_id="CVE-1").result == "sent"
    return world


def finding(status: str, seconds: float) -> Finding:
    return Finding("CVE-1", FindingStatus(status), moments.text_of(at(seconds)))


def told(world: World) -> list[str | None]:
    """Return the payloads that reached the endpoint after the alert."""
    return [member.payload for call in world.channel.calls[1:] for member in call.members]


def deliver_what_was_asked(world: World) -> list[str]:
    return [world.accept(one, world.deadline()).result for one in world.requests.asked]


def test_the_endpoint_is_told_once() -> None:
    world = world_with_an_alert()
    assert world.news("resolved").stamped == 1
    assert deliver_what_was_asked(world) == ["sent"]
    assert told(world) == [RESOLVE]
    assert world.news("resolved").stamped == 0  # the same event, delivered twice
    world.heal(after=3600)
    assert deliver_what_was_asked(world) == ["duplicate"]
    assert told(world) == [RESOLVE]


def test_it_is_stored_and_retried_like_any_other() -> None:
    world = world_with_an_alert()
    world.news("resolved")
    world.channel.will(Retry("http_500", "x"))
    assert deliver_what_was_asked(world) == ["retrying"]
    world.sweep(after=300)
    assert told(world) == [RESOLVE, RESOLVE]
    stored = world.get(f"k1#resolved {CHANGED}")
    assert stored.status is Status.SENT
    assert stored.expires_at == NOW + timedelta(days=90)  # of no finding, it is forgotten by itself


def test_what_cannot_be_asked_for_is_asked_for_by_the_next_run() -> None:
    world = world_with_an_alert()
    world.requests.down = True
    with pytest.raises(Unavailable, match="could not be requested"):
        world.news("resolved", changed=0)
    assert world.get().expires_at is None
    world.requests.down = False
    assert world.news("resolved", changed=0).stamped == 1
    assert deliver_what_was_asked(world) == ["sent"]


def test_an_alert_that_goes_out_after_the_news_is_resolved_by_the_daily_pass() -> None:
    world = World()
    world.channel.will(Retry("http_500", "x"), Delivered(resolve_with=RESOLVE))
    world.send(finding_id="CVE-1")
    world.news("resolved")
    world.sweep(after=300)
    assert world.requests.asked == []
    world.heal(after=3600)
    assert deliver_what_was_asked(world) == ["sent"]


def test_active_and_resolved_again_tells_again() -> None:
    world = world_with_an_alert()
    world.news("resolved", changed=0)
    world.clock.pass_by(10)
    world.news("active", changed=5)
    world.news("resolved", changed=10)
    assert deliver_what_was_asked(world) == ["sent", "sent"]


@pytest.mark.parametrize(
    "changes",
    [
        {"resolve_with": None},
        {"status": Status.DEAD_LETTERED, "dead_lettered_at": NOW},
        {"status": Status.SUPPRESSED},
        {"requested_at": NOW + timedelta(seconds=1)},
    ],
    ids=["knows no way", "never sent", "suppressed", "asked for again since"],
)
def test_nobody_is_told(changes: dict[str, object]) -> None:
    alert = replace(final(finding_id="CVE-1", resolve_with=RESOLVE), **changes)  # type: ignore[arg-type]
    assert retention.resolution(alert, finding("resolved", 0)) is None


def test_nobody_is_told_of_an_active_finding() -> None:
    assert retention.resolution(final(finding_id="CVE-1", resolve_with=RESOLVE), finding("active", 0)) is None


@pytest.mark.parametrize("key", ["k1", "k" * 984, "k" * 1024, "é" * 512])
def test_the_request_is_valid_and_named_after_the_change(key: str) -> None:
    alert = final(dedup_key=key, finding_id="CVE-1", resolve_with=RESOLVE, recipient="team-1")
    requested = [retention.resolution(alert, finding("resolved", seconds)) for seconds in (0, 0, 1)]
    assert requested[0] == requested[1] != requested[2]
    request = parse(requested[0])
    assert (request.channel, request.kind, request.subject) == (alert.channel, alert.kind, alert.subject)
    assert (request.recipient, request.payload, request.finding_id) == ("team-1", RESOLVE, None)
