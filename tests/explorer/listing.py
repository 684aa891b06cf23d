"""A schedule as a person reads it: one line for each step."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from redeliver.core.finding import Finding
from redeliver.core.hold import Hold
from redeliver.core.notification import Dispatch, Key, Notification, Unreadable
from redeliver.ports import ChannelState, Page
from tests.builders import NOW
from tests.explorer.replay import Fault, Operation
from tests.fakes import LOST

DIES_BEFORE, DIES_AFTER = "dies before", "dies after"


@dataclass(frozen=True, slots=True)
class Line:
    """One step: an actor's operation and what it was told, its death, or the passing of time."""

    actor: str
    operation: Operation | None = None
    result: Any = None
    death: str = ""


def listing(title: str, problem: str, lines: Iterable[Line]) -> str:
    """Return a schedule, its steps numbered, with what is wrong with it."""
    rows = [f"{number:>4}  {_row(line)}" for number, line in enumerate(lines, 1)]
    return "\n".join([f"{title}: {problem}", "step  actor      what it does, and what it is told", *rows])


def _row(line: Line) -> str:
    if line.operation is None:
        return f"{line.actor:<10} {line.result}"
    asked = f"{line.operation.title} {_arguments(line.operation)}".rstrip()
    if line.death:
        return f"{line.actor:<10} ✗ {line.death}: {asked}"
    return f"{line.actor:<10} {asked} → {_words(line.result)}"


def _arguments(operation: Operation) -> str:
    args = operation.args
    if operation.title == "ledger.replace":
        before, after = args
        return f"{before.dedup_key}: {_state(before)} ⇒ {_state(after)}"
    if operation.title == "ledger.add":
        return f"{args[0].dedup_key}: {_state(args[0])}"
    return ", ".join(_words(arg) for arg in args if not isinstance(arg, datetime))


def _words(value: Any) -> str:
    return _WORDS.get(type(value), _word)(value)


def _word(value: object) -> str:
    return str(value) if value is None or isinstance(value, bool | int | str) else type(value).__name__


def _held(value: ChannelState) -> str:
    hold = f"{value.hold_reason} until {_clock(value.hold_until)}" if value.hold_until else "free"
    return f"{value.channel} {hold}, failures {value.failures}"


def _state(record: Notification) -> str:
    """Return what decides of a record."""
    words = [f"{record.status}#{record.attempt_count}"]
    if record.claimed_until is not None:
        words.append(f"claimed until {_clock(record.claimed_until)}")
    elif record.next_attempt_at is not None:
        words.append(f"due {_clock(record.next_attempt_at)}")
    if record.redrive_count:
        words.append(f"redriven {record.redrive_count}")
    if record.maybe_delivered:
        words.append("maybe delivered")
    if record.finding_id is not None:
        words.append(f"of {record.finding_id}, asked {_clock(record.requested_at)}")
    if record.expires_at is not None:
        words.append(f"expires {_clock(record.expires_at)}")
    return " ".join(words)


def _clock(moment: datetime | None) -> str:
    return "-" if moment is None else f"{(moment - NOW).total_seconds():+g}s"


_WORDS: dict[type, Callable[[Any], str]] = {
    Notification: lambda value: f"{value.dedup_key} {_state(value)}",
    Key: lambda value: value.dedup_key,
    Unreadable: lambda value: f"unreadable {value.key.dedup_key}",
    Dispatch: lambda value: " + ".join(member.dedup_key for member in value.members),
    Page: lambda value: "[" + ", ".join(row.key.dedup_key for row in value.rows) + "]",
    Finding: lambda value: f"{value.finding_id} {value.status} since {value.changed_at[11:23]}",
    ChannelState: _held,
    Hold: lambda value: f"{value.reason} until {_clock(value.until)}",
    Fault: lambda value: "error, though it was done" if value.what == LOST else "error, not done",
    tuple: lambda value: "[" + ", ".join(map(_words, value)) + "]",
    datetime: _clock,
}
