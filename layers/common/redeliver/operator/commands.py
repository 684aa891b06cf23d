"""What an operator asks of the sweeper: the counts, and another chance for dead letters."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from redeliver.core import lifecycle, moments
from redeliver.core.notification import Key, Unreadable
from redeliver.core.request import channel_name, identifier
from redeliver.deliver import described
from redeliver.ports import ChannelStates, Lanes, Ledger, Telemetry, Unavailable
from redeliver.survey import count_dead_letters, survey

COMMANDS = ("counts", "redrive")
_MOST_KEYS = 1000
_LONGEST_REASON = 64  # of a hold: a row that somebody wrote by hand must not make the answer too long


class InvalidCommand(ValueError):
    """The command cannot be carried out; the message names the field and what is allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operate:
    """Carries out commands; every dependency is given."""

    ledger: Ledger
    lanes: Lanes
    states: ChannelStates
    telemetry: Telemetry
    clock: Callable[[], datetime]

    def __call__(self, event: Mapping[str, object]) -> dict[str, object]:
        """Return the answer to a command; raises InvalidCommand before anything is done."""
        command = event.get("command")
        match command:
            case "counts":
                _only(event, "command")
                return self.counts()
            case "redrive":
                _only(event, "command", "channel", "dedup_keys")
                return self.redrive(*_redrive_of(event))
            case _:
                raise InvalidCommand(f"command: must be one of {', '.join(COMMANDS)}; got {str(command)[:80]!r}")

    def counts(self) -> dict[str, object]:
        """Return the gauges of every channel (A8); `complete` false says that they are lower bounds."""
        now = self.clock()
        channels = {}
        for state in self.states.all():
            lane = survey(self.lanes, state)
            dead_letters, uncounted = count_dead_letters(self.lanes, [state.channel], self._not_read, lambda: True)
            if lane.problem is not None:
                self._not_read(state.channel, lane.problem)
            held = state.held(now)
            channels[state.channel] = {
                "pending": lane.pending,
                "complete": lane.complete and not uncounted,
                "dead_letters": dead_letters,
                "oldest_due_seconds": lane.oldest_due_seconds(now),
                "hold_until": moments.to_epoch(state.hold_until) if held and state.hold_until else None,
                "hold_reason": (state.hold_reason or "")[:_LONGEST_REASON] if held else None,
            }
        totals = {name: sum(int(c[name] or 0) for c in channels.values()) for name in ("pending", "dead_letters")}
        self.telemetry.log("counts", channels=channels, **totals)
        return {"channels": channels, **totals}

    def _not_read(self, channel: str, error: Unavailable) -> None:
        self.telemetry.warn("channel_not_read", channel=channel, error=str(error))

    def redrive(self, channel: str, dedup_keys: list[str]) -> dict[str, object]:
        """Return what became of each dead letter that was to be sent again."""
        results = [{"dedup_key": key, "result": self._redrive(Key(channel, key))} for key in dedup_keys]
        return {"channel": channel, "redriven": sum(r["result"] == "redriven" for r in results), "results": results}

    def _redrive(self, key: Key) -> str:
        now, record = self.clock(), self.ledger.get(key)
        if record is None:
            return "not_found"
        if isinstance(record, Unreadable):
            return "unreadable"
        after = lifecycle.redrive(record, now)
        if after is None:
            return "not_found" if record.expired(now) else f"is_{record.status.value}"
        if not self.ledger.replace(record, after):
            return "conflict"
        self.telemetry.log("notification_redriven", **described(after), redrive_count=after.redrive_count)
        return "redriven"


def _only(event: Mapping[str, object], *allowed: str) -> None:
    for field in event:
        if field not in allowed:
            raise InvalidCommand(f"{str(field)[:80]!r}: unknown field; allowed are {', '.join(allowed)}")


def _redrive_of(event: Mapping[str, object]) -> tuple[str, list[str]]:
    channel, keys = event.get("channel"), event.get("dedup_keys")
    if not isinstance(keys, list):
        raise InvalidCommand("dedup_keys: must be a list of dedup keys")
    if not 1 <= len(keys) <= _MOST_KEYS:
        raise InvalidCommand(f"dedup_keys: must have 1 to {_MOST_KEYS} keys; got {len(keys)}")
    return _valid("channel", channel_name, channel), [_valid("dedup_keys", identifier, key) for key in keys]


def _valid(field: str, check: Callable[[object], str], value: object) -> str:
    try:
        return check(value)
    except ValueError as error:
        raise InvalidCommand(f"{field}: {error}") from None
