"""One sweep in a process of its own, to be killed: `python -m tests.crash.sweeper SECONDS_LEFT SHIFT [DEADLY_KEY]`.

The sweeper's own adapters, from the environment. Its clock is ahead by SHIFT seconds; an attempt of DEADLY_KEY ends the
process as a crash of the interpreter does, without a word to anybody.
"""

import os
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from redeliver import settings, wiring
from redeliver.core.notification import Dispatch, Notification
from redeliver.core.outcome import Outcome
from redeliver.ports import Channel, Channels, Mode, NotConfigured
from redeliver.sweep import Sweep


@dataclass(frozen=True, slots=True)
class Mined:
    """A channel with one notification that nobody survives."""

    real: Channel
    deadly: str

    @property
    def mode(self) -> Mode:
        """Return the channel's."""
        return self.real.mode

    @property
    def digest_seconds(self) -> int:
        """Return the channel's."""
        return self.real.digest_seconds

    @property
    def announce_sent(self) -> bool:
        """Return the channel's."""
        return self.real.announce_sent

    @property
    def max_age(self) -> timedelta | None:
        """Return the channel's."""
        return self.real.max_age

    @property
    def capacity(self) -> int:
        """Return the channel's."""
        return self.real.capacity

    def weigh(self, record: Notification) -> int:
        """Return what the channel says."""
        return self.real.weigh(record)

    def deliver(self, dispatch: Dispatch) -> Outcome:
        """Deliver, or end it all."""
        if any(member.dedup_key == self.deadly for member in dispatch.members):
            os._exit(9)
        return self.real.deliver(dispatch)


@dataclass(frozen=True, slots=True)
class Minefield:
    """The channels, each with its mine."""

    real: Channels
    deadly: str

    def look_up(self, name: str, now: datetime) -> Channel | NotConfigured:
        """Return the channel."""
        found = self.real.look_up(name, now)
        return found if isinstance(found, NotConfigured) else Mined(found, self.deadly)


@dataclass(frozen=True, slots=True)
class Invocation:
    """The end of it."""

    end: float

    def left(self) -> timedelta:
        """Return the time that is left."""
        return timedelta(seconds=self.end - time.monotonic())


def main(left: float, shift: float, deadly: str = "") -> None:
    """Sweep once."""

    def clock() -> datetime:
        return datetime.now(UTC) + timedelta(seconds=shift)

    environment = settings.read(os.environ)
    kit = wiring.outfit(environment, concurrency=environment.sweep_concurrency)
    deliver = type(kit.deliver)(
        ledger=kit.notifications,
        telemetry=kit.telemetry,
        policy=environment.policy,
        clock=clock,
        chance=kit.deliver.chance,
        pause=time.sleep,
    )
    sweep = Sweep(
        ledger=kit.notifications,
        lanes=kit.notifications,
        channels=Minefield(kit.channels, deadly),
        states=kit.states,
        deliver=deliver,
        telemetry=kit.telemetry,
        clock=clock,
        max_records=environment.sweep_max_records,
        concurrency=environment.sweep_concurrency,
        recheck=environment.not_configured_recheck,
    )
    sweep(Invocation(time.monotonic() + left))


if __name__ == "__main__":
    main(float(sys.argv[1]), float(sys.argv[2]), *sys.argv[3:])
