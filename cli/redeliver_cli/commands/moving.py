"""`redrive` and `cancel`: send again what died, suppress what waits; by name or by filter, counted first."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import click

from redeliver.core import moments
from redeliver.core.notification import OPEN, Key, Notification, Row
from redeliver.operator.bulk import NOT_IN_STATE, STALE, Account, Bulk, Decide, to_cancel, to_redrive
from redeliver.operator.bulk import RESOLVED as RESOLVED_FINDING
from redeliver.operator.ports import Span
from redeliver.operator.search import DEAD, Filter, search
from redeliver.ports import Unavailable
from redeliver_cli.counting import Counted
from redeliver_cli.desk import Desk
from redeliver_cli.filters import filtered, there_is, wanted_by
from redeliver_cli.options import at_a_desk
from redeliver_cli.output import Output, bar
from redeliver_cli.plain import at
from redeliver_cli.terms import CHANNEL, KEY

_HINTS = {STALE: "--stale sends these too", RESOLVED_FINDING: "--resolved sends these too"}
_NAMED = "--channel, --kind, --reason, --finding, --since or --until"


def _named_or_filtered(command: Callable[..., Any]) -> Callable[..., Any]:
    command = click.argument("key", type=KEY, required=False)(command)
    command = click.argument("named", metavar="[CHANNEL]", type=CHANNEL, required=False)(command)
    command = click.option("--yes", is_flag=True, help="Do not ask.")(command)
    command = click.option(
        "--rate",
        type=click.FloatRange(min=0),
        default=50,
        show_default=True,
        help="At most so many a second; 0: no limit.",
    )(command)
    return filtered(command)


@click.command(short_help="Send dead letters again: one by name, or all that a filter takes.")
@_named_or_filtered
@click.option("--stale", is_flag=True, help="Also what is past its deliver_by or its channel's max_age.")
@click.option("--resolved", is_flag=True, help="Also what belongs to a resolved finding.")
@at_a_desk
def redrive(desk: Desk, output: Output, stale: bool, resolved: bool, **options: Any) -> None:
    """Send dead letters again, each with all its attempts; the next sweep takes them.

    By filter, the count comes first, and nothing happens without a yes. What dies while this runs is not taken again.
    It may run several times at once, or again after an interruption: each record is moved once.

    \b
    redeliver redrive ops-hook disk-full:web-1
    redeliver redrive --channel ops-hook --reason http_503 --since 2h
    redeliver redrive --channel ops-hook --yes --rate 20
    """
    decide = to_redrive(desk.register, stale_too=stale, resolved_too=resolved)
    _Move(desk, output, "sent again", "redriven").run(decide, DEAD, **options)


@click.command(short_help="Suppress what waits: one by name, or all that a filter takes.")
@_named_or_filtered
@click.option("--because", required=True, metavar="TEXT", help="Why; it is kept with each record.")
@at_a_desk
def cancel(desk: Desk, output: Output, because: str, **options: Any) -> None:
    """Suppress pending and retrying notifications: they are not sent. What is being attempted at the moment is left.

    --because is the reason that is written down; --reason is a filter, of the last failure.

    \b
    redeliver cancel ops-hook disk-full:web-1 --because "the disk is new"
    redeliver cancel --channel ops-hook --kind disk_full --since 3h --because "false alarm"
    """
    if not because.strip():
        raise click.UsageError("--because: must not be empty")
    _Move(desk, output, "suppressed", "suppressed").run(
        to_cancel(desk.settings.policy, because.strip()), OPEN, **options
    )


class _Move:
    """Moves by name or by filter."""

    def __init__(self, desk: Desk, output: Output, fate: str, done: str) -> None:
        self._desk = desk
        self._output = output
        self._fate = fate
        self._done = done
        self._bulk = Bulk(ledger=desk.ledger, clock=desk.clock, pause=desk.pause)
        self._began = moments.floor(desk.clock())

    def run(
        self,
        decide: Decide,
        statuses: Any,
        *,
        named: str | None,
        key: str | None,
        yes: bool,
        rate: float,
        **wanted: Any,
    ) -> None:
        given = any(value is not None for value in wanted.values())
        if named is not None and given:
            raise click.UsageError(f"name one record with CHANNEL KEY, or use a filter ({_NAMED}), not both")
        if named is not None:
            if key is None:
                raise click.UsageError(f"KEY: is missing behind CHANNEL; a whole channel is --channel {named}")
            self._one(decide, Key(named, key))
            return
        if not given:
            raise click.UsageError(f"name one record with CHANNEL KEY, or at least one of {_NAMED}")
        there_is(self._desk, wanted["channel"], "--channel")
        self._many(decide, self._filter(statuses, wanted), yes=yes, rate=rate)

    def _filter(self, statuses: Any, wanted: dict[str, Any]) -> Filter:
        filter_ = wanted_by(statuses, **wanted)
        # What dies from here on is of this run, or of what it has sent again.
        until = min(filter_.span.until or self._began, self._began)
        return replace(filter_, span=Span(filter_.span.since, until))

    def _one(self, decide: Decide, key: Key) -> None:
        row = self._desk.ledger.get(key)
        if row is None:
            self._output.document(_as_json(Account(), complete=True))
            self._output.tell(f"there is no notification {key.channel} {key.dedup_key}")
            click.get_current_context().exit(1)
        account = self._bulk.move([row], decide)
        self._output.document(_as_json(account, complete=True))
        if account.left:
            self._output.say(f"nothing was done: {_why_left(row, account)}")
            click.get_current_context().exit(1)
        self._output.say(f"{key.channel} {key.dedup_key} is {self._done}")
        self._tell_of_holds(key.channel)

    def _many(self, decide: Decide, wanted: Filter, *, yes: bool, rate: float) -> None:
        foreseen = self._bulk.foresee(self._rows(wanted), decide)
        self._output.tell(f"{foreseen.moved:,} would be {self._fate}{_left(foreseen)}")
        if not foreseen.moved:
            self._output.document(_as_json(foreseen, complete=True))
            return
        if not yes:
            self._ask()
        account, ended = Account(), None
        try:
            with bar(foreseen.moved, self._fate) as shown:

                def progress(latest: Account) -> None:
                    nonlocal account
                    account = latest
                    shown.reach(latest.moved)

                account = self._bulk.move(self._rows(wanted), decide, a_second=rate, progress=progress)
        except (KeyboardInterrupt, Unavailable) as error:
            ended = error
        self._tell(account, complete=ended is None)
        self._tell_of_holds(wanted.channel)
        if ended is not None:
            self._output.tell("it was interrupted: the same command again goes on with what is left")
            raise ended

    def _tell_of_holds(self, channel: str | None) -> None:
        """Say what keeps it from going out, if it is to."""
        for state in self._desk.known(channel) if self._done == "redriven" else []:
            if state.held(self._desk.clock()):
                until, name = at(state.hold_until), state.channel
                self._output.tell(
                    f"{name} is on hold ({state.hold_reason}) until {until} UTC, and sends nothing before; "
                    f"`redeliver release {name}` ends that"
                )

    def _rows(self, wanted: Filter) -> Iterator[Row]:
        channels = [state.channel for state in self._desk.known(None)]
        return search(Counted(self._desk.archive, self._output), channels, wanted, newest_first=False)

    def _ask(self) -> None:
        if not sys.stdin.isatty():
            raise click.UsageError("nothing has been done: --yes is needed where nobody can be asked")
        if not click.confirm("Go ahead?", err=True):
            self._output.tell("nothing has been done")
            click.get_current_context().exit(1)

    def _tell(self, account: Account, *, complete: bool = True) -> None:
        self._output.document(_as_json(account, complete=complete))
        self._output.say(f"{account.moved:,} {self._done}{_left(account)}")


def _why_left(row: Row, account: Account) -> str:
    [why] = account.left
    if why == NOT_IN_STATE and isinstance(row, Notification):
        return f"its status is {row.status.value}"
    return f"{why}" + (f" ({_HINTS[why]})" if why in _HINTS else "")


def _left(account: Account) -> str:
    if not account.left:
        return ""
    each = [
        f"{number:,} {why}" + (f" ({_HINTS[why]})" if why in _HINTS else "") for why, number in account.left.items()
    ]
    return f"; left: {', '.join(each)}"


def _as_json(account: Account, *, complete: bool) -> dict[str, object]:
    return {"moved": account.moved, "left": dict(account.left), "complete": complete}
