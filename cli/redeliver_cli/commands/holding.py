"""`hold` and `release`: leave a channel alone, and no longer."""

from datetime import datetime, timedelta

import click

from redeliver.core import moments
from redeliver.core.hold import OPERATOR, Hold
from redeliver_cli.desk import Desk
from redeliver_cli.filters import there_is
from redeliver_cli.options import at_a_desk
from redeliver_cli.output import Output
from redeliver_cli.plain import at
from redeliver_cli.terms import CHANNEL, DURATION, FUTURE

_LONGEST_NOTE = 1024


@click.command(short_help="Leave a channel alone for a while; what comes in waits.")
@click.argument("channel", type=CHANNEL)
@click.option("--for", "for_", type=DURATION, help="For so long: 30m, 2h, 3d.")
@click.option("--until", type=FUTURE, help="Until then: 2026-11-30T12:00:00Z.")
@click.option("--note", required=True, metavar="TEXT", help="Why, for whoever is on call next.")
@at_a_desk
def hold(desk: Desk, output: Output, channel: str, for_: timedelta | None, until: datetime | None, note: str) -> None:
    """Hold a channel: nothing of it is sent, and nothing charged, until the time is over. It replaces another hold.

    A function that has read the channel's row goes by it for up to 30 seconds more.

    \b
    redeliver hold ops-hook --for 2h --note "maintenance of the endpoint, Ana"
    """
    end = _end(desk, for_, until)
    if not note.strip() or len(note) > _LONGEST_NOTE:
        raise click.UsageError(f"--note: must have 1 to {_LONGEST_NOTE} characters")
    there_is(desk, channel, "CHANNEL")
    desk.holds.impose(channel, Hold(end, OPERATOR), note.strip())
    output.document({"channel": channel, "hold_until": end, "hold_reason": OPERATOR, "hold_note": note.strip()})
    output.say(f"{channel} is on hold until {at(end)} UTC; `redeliver release {channel}` ends it before")


def _end(desk: Desk, for_: timedelta | None, until: datetime | None) -> datetime:
    if (for_ is None) == (until is None):
        raise click.UsageError("name one of --for and --until, such as --for 2h")
    now = desk.clock()
    try:
        end = moments.ceil(until or now + (for_ or timedelta()))
    except OverflowError:
        raise click.UsageError("--for: ends beyond the calendar; 3650d is the longest") from None
    if end <= now:
        raise click.UsageError(f"--until: {at(end)} UTC is past")
    if end > now + timedelta(days=3650):
        raise click.UsageError("--for, --until: must end within the next ten years")
    return end


@click.command(short_help="End a channel's hold, whoever made it.")
@click.argument("channel", type=CHANNEL)
@at_a_desk
def release(desk: Desk, output: Output, channel: str) -> None:
    """End the hold of a channel, also one that redeliver made, and forget its failures in a row.

    Do it when the hold's reason is over; the next sweep sends what waits.

    \b
    redeliver release ops-hook
    """
    if not desk.known(channel):
        raise click.UsageError(f"CHANNEL: nothing is known of {channel!r}; `redeliver status` lists the channels")
    held = desk.holds.release(channel)
    output.document({"channel": channel, "released": held})
    if not desk.configured(channel):
        output.say(f"{channel} is free, but has no document: see `redeliver channels check {channel}`")
        return
    output.say(f"{channel} is free: the next sweep sends what waits" if held else f"{channel} was not on hold")
