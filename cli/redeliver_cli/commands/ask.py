"""`send` and `finding`: what applications do, by hand."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import IO, Any

import click

from redeliver.core import moments
from redeliver.core.json_text import BYTE_ORDER_MARK, decoded
from redeliver.core.request import MOST_NOTIFICATIONS, InvalidRequest, parse
from redeliver_cli.desk import Desk
from redeliver_cli.options import at_a_desk
from redeliver_cli.output import Output
from redeliver_cli.plain import for_programs
from redeliver_cli.terms import CHANNEL, FINDING, FUTURE, KEY, PAST

_MOST_BYTES = 5_000_000  # of one call: Lambda takes 6 MB
_BAD = frozenset({"invalid", "dead_lettered"})
_OPTIONS = {"dedup_key": "--key", "finding_id": "--finding"}  # those that are not named as their field
_RETAINED = (
    "{stamped} more records may be forgotten in time, {released} are kept again, {kept_active} were kept already"
)


@click.command(short_help="Send one notification by options, or many from JSON lines.")
@click.argument("lines", type=click.File(encoding="utf-8", errors="surrogateescape"), required=False)
@click.option("--channel", type=CHANNEL, help="Which way out.")
@click.option("--key", "dedup_key", type=KEY, help="Its dedup key: the same one again is a duplicate.")
@click.option("--kind", help="What sort of event: 1 to 64 of a-z 0-9 _ . -")
@click.option("--subject", help="One line of up to 1 KB.")
@click.option("--body", help="Text of up to 64 KB.")
@click.option("--recipient", help="Instead of the channel's own target.")
@click.option("--finding", "finding_id", type=FINDING, help="The fact behind it; it is kept while that is active.")
@click.option("--payload", metavar="JSON", help="Any JSON of up to 64 KB, for webhooks.")
@click.option("--deliver-by", type=FUTURE, help="Not later than that: 2h from now, or a moment.")
@click.option("--suppress", metavar="TEXT", help="Record it as not to be sent, and why.")
@at_a_desk
def send(desk: Desk, output: Output, lines: IO[str] | None, **options: Any) -> None:
    """Send one notification by options, or as many as LINES has JSON objects, one a line; `-` is standard input.

    Exit code 1 if any was refused or cannot be delivered; refused lines are named by number, all others are sent.

    \b
    redeliver send --channel ops-hook --key disk-full:web-1 --kind disk_full --subject "web-1 is full" --body "97 %"
    redeliver send - < notifications.jsonl
    """
    given = {name: value for name, value in options.items() if value is not None}
    if (lines is None) == (not given):
        raise click.UsageError("name one: LINES, a file of JSON lines or -, or the options of one notification")
    account = _Account(output)
    if lines is None:
        account.one(desk, _request(given))
    else:
        account.many(desk, lines)
    if account.counts.keys() & _BAD:
        click.get_current_context().exit(1)


def _request(given: dict[str, Any]) -> dict[str, object]:
    request = {name: for_programs(value) for name, value in given.items()}
    if "payload" in request:
        try:
            request["payload"] = decoded(str(request["payload"]))
        except (ValueError, RecursionError) as error:
            raise click.UsageError(f"--payload: must be JSON: {error}") from None
    try:
        parse(request)
    except InvalidRequest as error:
        field, colon, problem = str(error).partition(":")
        option = _OPTIONS.get(field, f"--{field.replace('_', '-')}")
        raise click.UsageError(f"{option}{colon}{problem}") from None
    return request


class _Account:
    """Calls `send`, and keeps what became of each."""

    def __init__(self, output: Output) -> None:
        self.counts: Counter[str] = Counter()
        self._output = output

    def one(self, desk: Desk, request: dict[str, object]) -> None:
        """Send one, and tell."""
        [answer] = desk.functions.call("SendFunction", {"notifications": [request]})["results"]
        self.counts[answer["result"]] += 1
        self._output.document(answer)
        self._output.say(_sentence(answer))

    def many(self, desk: Desk, lines: Iterable[str]) -> None:
        """Send many, and tell how many became what."""
        refused: list[dict[str, object]] = []
        try:
            for chunk in _chunks(self._valid(lines, refused)):
                wanted = [request for _, request in chunk]
                answers = desk.functions.call("SendFunction", {"notifications": wanted})["results"]
                for (number, _), answer in zip(chunk, answers, strict=True):
                    self.counts[answer["result"]] += 1
                    if answer["result"] in _BAD:
                        self._refuse(number, _sentence(answer), refused)
                self._output.tell(f"… {self.counts.total():,} done")
        finally:
            self._output.document({"results": dict(self.counts), "refused": refused})
            self._output.say(
                ", ".join(f"{number:,} {word}" for word, number in self.counts.items()) or "nothing to send"
            )

    def _valid(self, lines: Iterable[str], refused: list[dict[str, object]]) -> Iterator[tuple[int, dict[str, object]]]:
        for number, line in enumerate(lines, 1):
            if not line.removeprefix(BYTE_ORDER_MARK).strip():
                continue
            try:
                request = decoded(line)
                parse(request)
            except InvalidRequest as error:
                self._refuse_as_invalid(number, str(error), refused)
            except (ValueError, RecursionError) as error:
                self._refuse_as_invalid(number, f"is not JSON: {error}", refused)
            else:
                yield number, request

    def _refuse_as_invalid(self, number: int, why: str, refused: list[dict[str, object]]) -> None:
        self.counts["invalid"] += 1
        self._refuse(number, why, refused)

    def _refuse(self, number: int, why: str, refused: list[dict[str, object]]) -> None:
        refused.append({"line": number, "why": why})
        self._output.tell(f"line {number}: {why}")


def _sentence(answer: dict[str, Any]) -> str:
    text = f"{answer['channel']} {answer['dedup_key']}: {answer['result']}"
    if answer["result"] == "duplicate":
        text += f" of one that is {answer['status']}"
    return f"{text}: {answer['error']}" if answer.get("error") else text


def _chunks(requests: Iterable[tuple[int, dict[str, object]]]) -> Iterator[list[tuple[int, dict[str, object]]]]:
    chunk: list[tuple[int, dict[str, object]]] = []
    size = 0
    for number, request in requests:
        more = len(json.dumps(request))
        if chunk and (len(chunk) == MOST_NOTIFICATIONS or size + more > _MOST_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append((number, request))
        size += more
    if chunk:
        yield chunk


@click.command(short_help="Say that a finding is active, resolved or deleted.")
@click.argument("finding_id", metavar="ID", type=FINDING)
@click.argument("state", metavar="active|resolved|deleted", type=click.Choice(["active", "resolved", "deleted"]))
@click.option("--changed-at", type=PAST, help="When it changed, if not now: 2h ago, or a moment.")
@at_a_desk
def finding(desk: Desk, output: Output, finding_id: str, state: str, changed_at: datetime | None) -> None:
    """Tell retention that a finding changed: what it keeps, and what may be forgotten now. Old news is ignored.

    \b
    redeliver finding CVE-2024-3094 resolved
    redeliver finding CVE-2024-3094 active --changed-at 2h
    """
    moment = changed_at or desk.clock()
    detail = {"finding_id": finding_id, "status": state, "changed_at": moment.isoformat()}
    event = {"source": "redeliver.cli", "detail-type": "Finding Status Changed", "detail": detail}
    counts = desk.functions.call("RetentionFunction", event)
    known = desk.register.get(finding_id)
    stored = None if known is None else {"status": known.status.value, "changed_at": known.changed_at}
    output.document({**detail, **counts, "stored": stored})
    if known is None:
        output.say(f"{finding_id}: retention has taken the news, and has forgotten the finding since")
        return
    since = f"{finding_id} is {known.status.value} since {known.changed_at[:19].replace('T', ' ')} UTC"
    if known.changed_at > moments.text_of(moment):
        output.say(f"ignored: {since}, which is newer")
        return
    output.say(f"{since}: {_RETAINED.format(**counts)}")
