"""The options that say which records are meant."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import click

from redeliver.core.notification import Status
from redeliver.operator.ports import Span
from redeliver.operator.search import Filter
from redeliver_cli.desk import Desk
from redeliver_cli.terms import CHANNEL, FINDING, PAST

_OPTIONS = (
    click.option("--until", type=PAST, help="What came into its state until then: 30m ago, or a moment."),
    click.option("--since", type=PAST, help="What came into its state since then: 2h ago, or a moment."),
    click.option("--finding", type=FINDING, help="Only of this finding."),
    click.option("--reason", metavar="WORD", help="Only with this last reason, such as http_503 or timeout."),
    click.option("--kind", metavar="WORD", help="Only of this kind."),
    click.option("--channel", type=CHANNEL, help="Only of this channel."),
)


def filtered(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of a filter."""
    for option in _OPTIONS:
        command = option(command)
    return command


def there_is(desk: Desk, channel: str | None, named: str) -> None:
    """Refuse the name of a channel that has neither a document nor a row: it is mistyped."""
    if channel is not None and not desk.known(channel) and not desk.configured(channel):
        raise click.UsageError(f"{named}: there is no channel {channel!r}; `redeliver channels` lists them")


def wanted_by(
    statuses: frozenset[Status],
    *,
    channel: str | None,
    kind: str | None,
    reason: str | None,
    finding: str | None,
    since: datetime | None,
    until: datetime | None,
) -> Filter:
    """Return the filter that the options make."""
    if since is not None and until is not None and until < since:
        raise click.UsageError("--until: must not be before --since")
    return Filter(
        channel=channel, statuses=statuses, kind=kind, reason=reason, finding_id=finding, span=Span(since, until)
    )
