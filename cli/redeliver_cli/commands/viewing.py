"""`status` and `list`: what is not getting through, and which records these are."""

import itertools
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

import click

from redeliver.core.notification import Notification, Row, Status
from redeliver.operator import search as searching
from redeliver.operator.search import Filter
from redeliver.operator.status import ChannelStatus
from redeliver.operator.status import status as status_of
from redeliver_cli.counting import Counted
from redeliver_cli.desk import Desk
from redeliver_cli.filters import filtered, there_is, wanted_by
from redeliver_cli.options import at_a_desk
from redeliver_cli.output import Output
from redeliver_cli.plain import at, for_programs, lasting, record_for_programs
from redeliver_cli.terms import CHANNEL

_COLUMNS = ("channel", "pending #", "retrying #", "due now #", "oldest due", "dead letters #", "sent, 1 h #", "held")
_LATE_SECONDS = 150
_MOST_NAMED = 5
_CHUNK = 500  # rows of a table, while more are being read


@click.command(short_help="What is not getting through, channel by channel.")
@click.option("--channel", type=CHANNEL, help="Only this one.")
@click.option(
    "--watch",
    is_flag=False,
    flag_value=5.0,
    type=click.FloatRange(min=1),
    metavar="[SECONDS]",
    help="Again every 5 or so many seconds, until Ctrl-C.",
)
@at_a_desk
def status(desk: Desk, output: Output, channel: str | None, watch: float | None) -> None:
    """Say what is not getting through, channel by channel: what waits, what is due, dead letters, holds.

    \b
    redeliver status
    redeliver status --channel ops-hook --watch 10
    """
    while True:
        _status(desk, output, channel, clear=watch is not None)
        if watch is None:
            return
        desk.pause(watch)


def _status(desk: Desk, output: Output, channel: str | None, *, clear: bool) -> None:
    now, states = desk.clock(), desk.known(channel)
    if channel is not None and not states:
        raise click.UsageError(f"--channel: no notification has ever come for {channel!r}: {_names(desk)}")
    found = status_of(desk.archive, desk.lanes, desk.deliveries, states, now)
    output.document([{name: for_programs(value) for name, value in asdict(each).items()} for each in found])
    if clear:
        click.clear()
    output.table(_COLUMNS, [_line(each, now) for each in found])
    output.say(_verdict(found))


def _names(desk: Desk) -> str:
    return "known are " + (", ".join(state.channel for state in desk.known(None)) or "none yet")


def _line(each: ChannelStatus, now: datetime) -> list[object]:
    at_least = "" if each.complete else "≥ "
    held = None
    if each.hold_until is not None:
        note = f" ({each.hold_note})" if each.hold_note else ""
        held = f"{each.hold_reason} for {lasting((each.hold_until - now).total_seconds())}{note}"
    return [
        each.channel,
        f"{at_least}{each.pending}",
        f"{at_least}{each.retrying}",
        f"{at_least}{each.due}",
        lasting(each.oldest_due_seconds) if each.due else None,
        f"{at_least}{each.dead_letters}",
        "?" if each.sent_last_hour is None else each.sent_last_hour,
        held,
    ]


def _verdict(found: list[ChannelStatus]) -> str:
    if not found:
        return "no notification has ever come for this stack"
    troubled = [each for each in found if each.dead_letters or each.retrying or each.hold_until or _late(each)]
    if not troubled:
        return "\nEverything gets through."
    worst = sorted(troubled, key=lambda each: (each.dead_letters, each.retrying, each.pending), reverse=True)
    name, others = worst[0].channel, [each.channel for each in worst[1:_MOST_NAMED]]
    more = f" (and of {', '.join(others)}{', …' if len(worst) > _MOST_NAMED else ''})" if others else ""
    return f"\nNot everything gets through; look closer with: redeliver list --channel {name}{more}"


def _late(each: ChannelStatus) -> bool:
    """Tell whether sweeps do not take what is due: one comes every minute."""
    return not each.complete or (each.due > 0 and each.oldest_due_seconds > _LATE_SECONDS)


@click.command("list", short_help="Records, newest first.")
@filtered
@click.option(
    "--status",
    "statuses",
    multiple=True,
    type=click.Choice([each.value for each in Status]),
    help="Only of this status; may be given several times.",
)
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="At most so many.")
@click.option("--all", "all_", is_flag=True, help="All there are, in the order in which they are read.")
@at_a_desk
def list_(desk: Desk, output: Output, statuses: tuple[str, ...], limit: int, all_: bool, **wanted: Any) -> None:
    """List records, newest first by the moment at which they were sent, died, or were last moved.

    --since and --until are about that moment. With --status dead_lettered it is quickest: dead letters have an index.

    \b
    redeliver list --channel ops-hook --status dead_lettered --since 2h
    redeliver list --all --json | jq -r .dedup_key
    """
    there_is(desk, wanted["channel"], "--channel")
    filter_ = wanted_by(frozenset(map(Status, statuses)), **wanted)
    archive = Counted(desk.archive, output)
    channels = [state.channel for state in desk.known(None)]
    if all_:
        _all(output, searching.search(archive, channels, filter_), desk.clock())
        return
    rows = searching.latest(archive, channels, filter_, limit + 1)
    _print(output, rows[:limit], desk.clock())
    if len(rows) > limit:
        output.tell(f"there are more than {limit}: --limit, --all, or a narrower filter")
    if not rows:
        output.say(f"nothing found{_where(filter_)}")


def _where(filter_: Filter) -> str:
    return f" in channel {filter_.channel}" if filter_.channel else ""


def _all(output: Output, rows: Iterator[Row], now: datetime) -> None:
    headed = True
    while chunk := list(itertools.islice(rows, _CHUNK)):
        _print(output, chunk, now, headed=headed)
        headed = False


def _print(output: Output, rows: Iterable[Row], now: datetime, *, headed: bool = True) -> None:
    if output.as_json:
        for row in rows:
            click.echo(json.dumps(_for_programs(row)))
        return
    columns = ("since (UTC)", "channel", "key", "kind", "status", "attempts #", "reason", "next attempt")
    output.table(columns, [_row(row, now) for row in rows], headed=headed)


def _row(row: Row, now: datetime) -> list[object]:
    if not isinstance(row, Notification):
        return [None, row.key.channel, row.key.dedup_key, None, "unreadable", None, row.problem, None]
    status_text = f"{row.status.value}, forgotten" if row.expired(now) else row.status.value
    return [
        at(searching.moment_of(row)),
        row.channel,
        row.dedup_key,
        row.kind,
        status_text,
        row.attempt_count,
        row.last_reason,
        _when(row.next_attempt_at, now),
    ]


def _when(moment: datetime | None, now: datetime) -> str | None:
    if moment is None:
        return None
    ahead = moment - now
    return f"in {lasting(ahead.total_seconds())}" if ahead > timedelta() else "due"


def _for_programs(row: Row) -> dict[str, object]:
    if isinstance(row, Notification):
        return record_for_programs(row, texts=False)
    return {"channel": row.key.channel, "dedup_key": row.key.dedup_key, "unreadable": row.problem, "parked": row.parked}
