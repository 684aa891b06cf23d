"""The list: which records are looked at, and a page of them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from redeliver.core.notification import OPEN, Notification, Row, Status, Unreadable
from redeliver.operator.paging import Cursor, Page
from redeliver.operator.search import moment_of
from redeliver.page.asked import STATUSES, View, of_view
from redeliver.page.markup import Markup, button, joined, moment, said, tag, text
from redeliver.ports import ChannelState

_HEADS = ("When (UTC)", "Channel", "Kind", "Subject and key", "Status", "Attempts", "What it came to")
Held = Mapping[str, datetime | None]  # by channel, until when
_LONGEST = 160  # characters of a text in the list; the story has more


def listing(page: Page, view: View, channels: Sequence[ChannelState], endpoint: str, now: datetime) -> Markup:
    """Return the list with its form."""
    held = [state for state in channels if state.held(now)]
    return joined(
        [
            _form(view, [state.channel for state in channels], _place(page, view), endpoint),
            *(_held(state) for state in held if view.channel in (None, state.channel)),
            _table(page.rows, view, endpoint, {state.channel: state.hold_until for state in held})
            if page.rows
            else tag("p", _nothing(page), class_="rh-note"),
            _foot(page, view, endpoint),
        ]
    )


def pill(row: Row) -> Markup:
    """Return where a record is, in a word and a colour."""
    status = "unreadable" if isinstance(row, Unreadable) else row.status.value
    return tag("span", status.replace("_", " "), class_=f"rh-pill rh-{status}")


def _form(view: View, channels: Sequence[str], place: str, endpoint: str) -> Markup:
    known = channels if view.channel is None or view.channel in channels else [*channels, view.channel]
    names = [("", text("all channels")), *((name, text(name)) for name in known)]
    statuses = [(name, text(label)) for name, (label, _) in STATUSES.items()]
    form = tag(
        "form",
        [
            tag("label", ["Channel", _select("channel", names, view.channel or "")]),
            tag("label", ["Status", _select("status", statuses, view.status)]),
            tag("label", ["Kind", tag("input", name="kind", value=view.kind, maxlength="64", placeholder="any kind")]),
        ],
    )
    show = button("Show", endpoint, {}, style="rh-press")
    return tag("div", [form, show, tag("span", place, class_="rh-place")], class_="rh-bar")


def _select(name: str, choices: Sequence[tuple[str, Markup]], chosen: str) -> Markup:
    options = [
        tag("option", label, value=value, selected="selected" if value == chosen else None) for value, label in choices
    ]
    return tag("select", options, name=name)


def _place(page: Page, view: View) -> str:
    order = "longest due first" if STATUSES[view.status][1] and STATUSES[view.status][1] <= OPEN else "newest first"
    if page.first is None or not page.rows:
        return order
    return f"{page.first:,} to {page.first + len(page.rows) - 1:,} of {page.total:,}, {order}"


def _nothing(page: Page) -> str:
    return (
        "Nothing of the kind so far; there is more to look through." if page.next else "There is nothing of the kind."
    )


def _held(state: ChannelState) -> Markup:
    parts = [said(state.channel), " is on hold until ", moment(state.hold_until), " UTC: ", said(state.hold_reason)]
    if state.hold_note:
        parts += [" (", said(state.hold_note), ")"]
    return tag("p", parts, class_="rh-note rh-bad")


def _table(rows: Sequence[Row], view: View, endpoint: str, held: Held) -> Markup:
    head = heads(_HEADS)
    body = tag("tbody", [_row(row, view, endpoint, held.get(row.key.channel)) for row in rows])
    return tag("div", tag("table", [head, body], class_="rh-list"), class_="rh-wide")


def heads(names: Sequence[str]) -> Markup:
    """Return the head of a table; columns of numbers are aligned as these are."""
    numbers = ("Attempts", "Answer", "Took (ms)")
    cells = [tag("th", name, class_="rh-number" if name in numbers else None) for name in names]
    return tag("thead", tag("tr", cells))


def _row(row: Row, view: View, endpoint: str, held: datetime | None) -> Markup:
    known = row if isinstance(row, Notification) else None
    ask = {"do": "story", "channel": row.key.channel, "dedup_key": row.key.dedup_key, "view": of_view(view)}
    title = said(known.subject if known else "an item that is no record", _LONGEST)
    subject = joined([title, tag("span", said(row.key.dedup_key, _LONGEST), class_="rh-key")])
    return tag(
        "tr",
        [
            tag("td", moment(moment_of(known) if known else None), class_="rh-time"),
            tag("td", said(row.key.channel)),
            tag("td", said(known.kind if known else "—")),
            tag("td", button(subject, endpoint, ask), class_="rh-subject"),
            tag("td", pill(row)),
            tag("td", str(known.attempt_count) if known else "—", class_="rh-number"),
            tag("td", _came_to(row, held), class_="rh-soft"),
        ],
    )


def _came_to(row: Row, held: datetime | None) -> list[Markup]:
    if isinstance(row, Unreadable):
        return [said(row.problem, _LONGEST)]
    parts = [said(row.last_reason)] if row.last_reason else []
    if row.last_error and row.status is not Status.SENT:
        parts.append(tag("div", said(row.last_error, _LONGEST)))
    if row.status in OPEN:
        times = [
            each for each in (row.next_attempt_at, held) if each is not None
        ]  # nothing goes out before a hold is over
        parts.append(tag("div", ["next ", moment(max(times, default=None))], class_="rh-time"))
    return parts


def _foot(page: Page, view: View, endpoint: str) -> Markup:
    steps = []
    if view.cursor != Cursor():
        first = {"do": "list", "view": of_view(replace(view, cursor=Cursor()))}
        steps.append(button("⇤ First page", endpoint, first, style="rh-quiet"))
    if page.next is not None:
        following = {"do": "list", "view": of_view(replace(view, cursor=page.next))}
        steps.append(button("Next page →", endpoint, following, style="rh-quiet"))
    if not page.ordered:
        more = "There are more records than are sorted at once: the order is that of one stretch after the other."
        steps.append(tag("span", more, class_="rh-soft"))
    return tag("div", steps, class_="rh-foot")
