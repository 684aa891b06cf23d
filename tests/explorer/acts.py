"""What the actors of the cases do, and what the tables hold before them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from redeliver.accept import Answer
from redeliver.core import lifecycle, moments
from redeliver.core.finding import Finding
from redeliver.core.hold import OPERATOR, Hold
from redeliver.core.notification import Key, Notification, Status
from redeliver.core.outcome import Delivered, Gone, Reject, Retry
from redeliver.ports import ChannelState
from tests.builders import NOW, at, final, raw, record
from tests.explorer.case import POLICY
from tests.explorer.replay import Act
from tests.world import World

SENT_OFF = Delivered()
DOWN = Retry("http_500", "down")
BUSY = Retry("http_429", "slow down", timedelta(seconds=90))
REFUSED = Reject("too_long", "too long")
GONE = Gone("http_410", "gone")

ONE, TWO = record(), record(dedup_key="k2")
STALE_SOON = record(deliver_by=at(30))
LAST_CHANCE = record(status=Status.RETRYING, attempt_count=2)
EXPIRED = final(created_at=at(-9999), requested_at=at(-9999), sent_at=at(-9999), expires_at=at(-1))
DEAD_LETTER = final(Status.DEAD_LETTERED, expires_at=NOW + POLICY.retention)
OF_A_FINDING: dict[str, Any] = {"finding_id": "CVE-1", "created_at": at(-7200), "requested_at": at(-7200)}
OPEN_OF_A_FINDING = record(**OF_A_FINDING)
SENT_OF_A_FINDING = final(sent_at=NOW, **OF_A_FINDING)
EXPIRED_SOON = replace(SENT_OF_A_FINDING, expires_at=at(30))
DEAD_OF_A_FINDING = final(Status.DEAD_LETTERED, **OF_A_FINDING)


def sweep(world: World) -> object:
    """Run a sweep."""
    return world.sweep()


def heal(world: World) -> object:
    """Run the daily pass of retention."""
    return world.heal()


def redrive(world: World) -> object:
    """Redrive k1 as an operator does."""
    return world.operate(command="redrive", channel="ops", dedup_keys=["k1"])


def cancel(world: World) -> object:
    """Cancel k1 as an operator does, by what the core and the ledger offer for it."""
    read = world.ledger.get(Key("ops", "k1"))
    if not isinstance(read, Notification):
        return None
    after = lifecycle.cancel(read, world.clock.now, world.policy, reason="withdrawn")
    return after is not None and world.ledger.replace(read, after)


def hold(world: World) -> object:
    """Hold the channel for an hour as an operator does."""
    return world.states.hold("ops", Hold(at(3600), OPERATOR), world.clock.now)


@dataclass(frozen=True, slots=True)
class Answered:
    """What `send` answered, and what it had been asked."""

    answer: Answer
    key: Key
    finding_id: str | None


def send(dedup_key: str = "k1", finding_id: str | None = None) -> Act:
    """Return what takes in a request, as a fresh container does."""
    asked = raw(dedup_key=dedup_key, finding_id=finding_id)
    return lambda world: Answered(world.new_accept()(asked, world.deadline()), Key("ops", dedup_key), finding_id)


def news(status: str, changed: float) -> Act:
    """Return what takes in an event about a finding."""
    return lambda world: world.news(status, changed)


def holding(
    *records: Notification, state: ChannelState | None = None, known: Finding | None = None, unreadable: bool = False
) -> Callable[[World], None]:
    """Return what fills the tables."""

    def begin(world: World) -> None:
        world.put(*records)
        world.states.open("ops")
        if state is not None and state.hold_until is not None and state.hold_reason is not None:
            hold = Hold(state.hold_until, state.hold_reason)
            world.states.hold(state.channel, hold, state.hold_until, state.failures)
        if known is not None:
            world.findings.put(known)
        if unreadable and world.store is not None:
            world.store.plant(Key("ops", "bad"), moments.to_epoch(NOW), None)

    return begin
