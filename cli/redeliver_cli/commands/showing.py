"""`show`: one notification and its story."""

from dataclasses import asdict, replace

import click

from redeliver.channels.directory import Configured
from redeliver.core.history import Ending, Past
from redeliver.core.notification import Key, Notification, Row
from redeliver.operator.story import Facts, Story, story
from redeliver.ports import NotConfigured, Unavailable
from redeliver_cli.desk import Desk
from redeliver_cli.documents import looked_up
from redeliver_cli.filters import there_is
from redeliver_cli.options import at_a_desk
from redeliver_cli.output import Output
from redeliver_cli.plain import at, for_programs, record_for_programs
from redeliver_cli.terms import CHANNEL, KEY

ENDINGS = {
    Ending.DELIVERED: "delivered",
    Ending.RETRY: "failed",
    Ending.REJECT: "refused",
    Ending.GONE: "target gone",
    Ending.INTERRUPTED: "killed in the middle",
}


@click.command(short_help="One notification: what happened, what is next, why it was not sent.")
@click.argument("channel", type=CHANNEL)
@click.argument("key", type=KEY)
@click.option("--body", is_flag=True, help="The full text and the payload too.")
@at_a_desk
def show(desk: Desk, output: Output, channel: str, key: str, body: bool) -> None:
    """Tell the story of a notification: its attempts, what is next, why it was not sent, what would change that.

    Exit code 1 if there is no such notification.

    \b
    redeliver show ops-hook disk-full:web-1
    redeliver show ops-hook disk-full:web-1 --body
    """
    row = desk.ledger.get(Key(channel, key))
    facts = _facts(desk, output, channel, row)
    if row is None and facts.state is None and facts.not_configured is not None:
        there_is(desk, channel, "CHANNEL")
    told = story(row, facts)
    output.document(_for_programs(channel, key, row, told, texts=body))
    output.say(f"{channel} {key}")
    if isinstance(row, Notification):
        _record(output, row, desk)
        _attempts(output, told)
    output.say("")
    output.facts(
        [
            ("next", told.next),
            ("why not sent", told.why),
            ("what would help", told.remedy),
            ("asked again", told.asked_again),
            ("kept", told.kept),
        ]
    )
    if isinstance(row, Notification) and body:
        output.say(f"\n{row.body}")
        if row.payload is not None:
            output.say(f"\npayload: {row.payload}")
    if row is None or (isinstance(row, Notification) and row.expired(desk.clock())):
        click.get_current_context().exit(1)


def _facts(desk: Desk, output: Output, channel: str, row: Row | None) -> Facts:
    finding = row.finding_id if isinstance(row, Notification) else None
    states, document = desk.known(channel), _document(desk, output, channel)
    max_age = document.max_age if isinstance(document, Configured) else None
    return Facts(
        now=desk.clock(),
        policy=replace(desk.settings.policy, max_age=max_age),
        state=states[0] if states else None,
        not_configured=document.why if isinstance(document, NotConfigured) else None,
        finding=desk.register.get(finding) if finding else None,
    )


def _document(desk: Desk, output: Output, channel: str) -> Configured | NotConfigured | None:
    try:
        return looked_up(desk, channel)
    except Unavailable as error:
        output.tell(f"whether the channel is configured could not be found out: {error}")
        return None


def _record(output: Output, record: Notification, desk: Desk) -> None:
    moment = record.dead_lettered_at or record.sent_at or record.updated_at
    maybe = (
        "an attempt ended without an answer after it had left: it may have arrived" if record.maybe_delivered else None
    )
    output.facts(
        [
            ("status", f"{record.status.value} since {at(moment)}"),
            ("kind", record.kind),
            ("subject", record.subject),
            ("recipient", record.recipient),
            ("finding", record.finding_id),
            ("asked for", at(record.created_at)),
            ("not later than", at(record.deliver_by)),
            ("attempts", f"{record.attempt_count} of {desk.settings.policy.max_attempts}"),
            ("redriven", record.redrive_count or None),
            ("maybe delivered", maybe),
            ("batch", record.dispatch_batch_id),
        ]
    )


def _attempts(output: Output, told: Story) -> None:
    if told.attempts:
        output.say("")
        columns = ("attempt ended (UTC)", "outcome", "reason", "code #", "took #")
        output.table(columns, [_attempt(each) for each in told.attempts])


def _attempt(each: Past) -> list[object]:
    took = None if each.milliseconds is None else f"{each.milliseconds} ms"
    return [at(each.at), ENDINGS[each.ending], each.reason, each.status, took]


def _for_programs(channel: str, key: str, row: Row | None, told: Story, *, texts: bool) -> dict[str, object]:
    record = record_for_programs(row, texts=texts) if isinstance(row, Notification) else None
    attempts = [
        {
            "at": for_programs(each.at),
            "outcome": each.ending.name.lower(),
            "reason": each.reason or None,
            "status_code": each.status,
            "milliseconds": each.milliseconds,
        }
        for each in told.attempts
    ]
    sentences = {name: value for name, value in asdict(told).items() if name != "attempts"}
    return {"channel": channel, "dedup_key": key, "record": record, "attempts": attempts, **sentences}
