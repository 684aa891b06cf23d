"""`channels`: what is configured, whether a document is valid, whether a test notification arrives."""

import json
import secrets
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import click

from redeliver.channels import TYPES
from redeliver.channels.directory import Configured
from redeliver.core.json_text import decoded
from redeliver.core.notification import OPEN, Key, Notification, Status
from redeliver.operator.bulk import Bulk, to_cancel
from redeliver.ports import ChannelState, NotConfigured, Unavailable
from redeliver_cli.desk import Desk
from redeliver_cli.documents import Given, looked_up, target
from redeliver_cli.filters import there_is
from redeliver_cli.options import at_a_desk, shared
from redeliver_cli.output import Output
from redeliver_cli.plain import lasting
from redeliver_cli.terms import CHANNEL

TEST_KIND = "redeliver.test"
_LOOK_AGAIN = 2.0  # seconds


@click.group(invoke_without_command=True, short_help="What is configured; `check` a document, `test` a channel.")
@shared
@click.pass_context
def channels(context: click.Context) -> None:
    """List the channels: their documents, secrets masked, and their state.

    \b
    redeliver channels
    redeliver channels check ops-hook
    redeliver channels test ops-hook
    """
    if context.invoked_subcommand is None:
        context.invoke(_listed)


@click.command("list", short_help="All channels.")
@at_a_desk
def _listed(desk: Desk, output: Output) -> None:
    """List the channels that have a document, and those that had notifications."""
    states = {state.channel: state for state in desk.known(None)}
    names = sorted({*desk.documents.names(), *states})
    found = [_described(desk, name, states.get(name)) for name in names]
    output.document(found)
    columns = ("channel", "type", "mode", "target", "state")
    output.table(columns, [[each[name] for name in columns] for each in found])
    if not found:
        output.say(f"there are none: put a document into SSM, /redeliver/{desk.settings.stage}/channels/<name>")


channels.add_command(_listed)


def _described(desk: Desk, name: str, state: ChannelState | None) -> dict[str, Any]:
    described: dict[str, Any] = {"channel": name, "type": None, "mode": None, "target": None}
    try:
        found = looked_up(desk, name)
    except Unavailable as error:
        return {**described, "state": f"its document cannot be read: {error}"}
    if isinstance(found, NotConfigured):
        return {**described, "state": f"not configured: {found.why}"}
    described["type"], described["mode"] = found.document.type, found.mode.value
    described["target"] = target(found.document, TYPES[found.document.type].fields)
    return {**described, "state": _state(state, desk.clock())}


def _state(state: ChannelState | None, now: datetime) -> str:
    if state is None:
        return "ready, never used"
    if state.hold_until is not None and state.held(now):
        return f"on hold: {state.hold_reason} for {lasting((state.hold_until - now).total_seconds())}"
    return f"ready, {state.failures} failures in a row" if state.failures else "ready"


@channels.command(short_help="Is a channel's document valid?")
@click.argument("name", type=CHANNEL, required=False)
@click.option(
    "--file",
    "file_",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A document that is not stored yet, as JSON.",
)
@at_a_desk
def check(desk: Desk, output: Output, name: str | None, file_: Path | None) -> None:
    """Say whether a channel's document is valid; if not, which field is wrong and what would be right.

    \b
    redeliver channels check ops-hook
    redeliver channels check --file ops-hook.json
    """
    if (name is None) == (file_ is None):
        raise click.UsageError("name one of NAME and --file")
    called = name or str(file_)
    found = looked_up(desk, called, None if file_ is None else Given(_read(file_)))
    why = found.why if isinstance(found, NotConfigured) else None
    output.document({"channel": called, "valid": why is None, "why": why})
    if isinstance(found, Configured):
        where = target(found.document, TYPES[found.document.type].fields)
        output.say(f"{called}: valid, {found.document.type}, {found.mode.value}, {where}")
        return
    output.say(f"{called}: not valid: {why}")
    click.get_current_context().exit(1)


def _read(path: Path) -> object:
    try:
        return decoded(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise click.UsageError(f"--file: {path} is not UTF-8 text") from None
    except json.JSONDecodeError as error:  # without its text: that could hold a secret
        raise click.UsageError(f"--file: {path} is not JSON: see line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise click.UsageError(f"--file: {path} is nested too deeply") from None


@channels.command(short_help="Send a test notification: does it arrive?")
@click.argument("name", type=CHANNEL)
@click.option(
    "--wait", type=click.IntRange(0, 900), default=90, show_default=True, help="Seconds for a sweep to take it."
)
@click.option("--recipient", help="Instead of the channel's own target.")
@at_a_desk
def test(desk: Desk, output: Output, name: str, wait: int, recipient: str | None) -> None:
    """Send a test notification, and say whether it arrived and what the endpoint answered.

    Exit code 1 if it did not. It is then cancelled, not tried again later.

    \b
    redeliver channels test ops-hook
    """
    there_is(desk, name, "NAME")
    key = f"{TEST_KIND}:{desk.clock():%Y-%m-%dT%H:%M:%SZ}:{secrets.token_hex(4)}"
    request = {
        "channel": name,
        "dedup_key": key,
        "kind": TEST_KIND,
        "subject": f"Test of the channel {name}",
        "body": "An operator asked redeliver for this. There is nothing to do.",
        **({} if recipient is None else {"recipient": recipient}),
    }
    answer = desk.functions.call("SendFunction", request)["results"][0]
    if answer["result"] == "invalid":
        raise click.UsageError(str(answer["error"]))
    record = _settled(desk, output, Key(name, key), wait if answer["result"] == "accepted" else 0)
    why = _why(desk, name, record)
    if why is not None:
        _withdraw(desk, record)
    row = desk.ledger.get(Key(name, key))
    told = {field: answer[field] for field in ("channel", "dedup_key", "result")}
    status = row.status.value if isinstance(row, Notification) else None
    output.document({**told, "status": status, "arrived": why is None, "why": why})
    if why is None:
        output.say(f"{name}: it arrived")
        return
    output.say(f"{name}: it did not arrive: {why}")
    click.get_current_context().exit(1)


def _settled(desk: Desk, output: Output, key: Key, wait: int) -> Notification | None:
    """Return the record as soon as it has been attempted, or after that many seconds."""
    end = desk.clock() + timedelta(seconds=wait)
    if wait:
        output.tell(f"it waits for a sweep, as a digest or behind a hold; looking for {wait} seconds")
    while True:
        row = desk.ledger.get(key)
        record = row if isinstance(row, Notification) else None
        attempted = record is not None and record.history is not None
        if attempted or desk.clock() >= end:
            return record
        desk.pause(_LOOK_AGAIN)


def _why(desk: Desk, name: str, record: Notification | None) -> str | None:
    """Return why it did not arrive; None if it did."""
    if record is None:
        return "there is no record of it any more"
    if record.status is Status.SENT:
        return None
    if record.last_reason is not None:
        return f"{record.last_reason}: {record.last_error}"
    found = looked_up(desk, name)
    if isinstance(found, NotConfigured):
        return f"the channel is not configured: {found.why}"
    held = [state for state in desk.known(name) if state.held(desk.clock())]
    if held:
        return f"the channel is on hold ({held[0].hold_reason}); `redeliver release {name}` ends that"
    return "no sweep has taken it in time; is the schedule of RetrySweeperFunction on? --wait gives it longer"


def _withdraw(desk: Desk, record: Notification | None) -> None:
    if record is not None and record.status in OPEN:
        bulk = Bulk(ledger=desk.ledger, clock=desk.clock, pause=desk.pause)
        bulk.move([record], to_cancel(desk.settings.policy, "a test by an operator that did not arrive"))
