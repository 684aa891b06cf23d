"""One record: its story, its text, and the button that sends a dead letter again."""

from collections.abc import Sequence

from redeliver.core.history import Ending, Past
from redeliver.core.notification import Key, Notification, Row, Status
from redeliver.operator.bulk import RESOLVED, STALE
from redeliver.operator.desk import Told
from redeliver.page.asked import View, of_view
from redeliver.page.listing import heads, pill
from redeliver.page.markup import Markup, button, joined, moment, said, tag

_LONGEST = 8_000  # characters of a body or a payload
_ENDINGS = {
    Ending.DELIVERED: "delivered",
    Ending.RETRY: "failed, to be tried again",
    Ending.REJECT: "refused",
    Ending.GONE: "the target is gone",
    Ending.INTERRUPTED: "interrupted: nobody wrote down how it ended",
}
_SURE = "Send this notification again? It gets all its attempts, and goes out with the next sweep."
_SURE_ALL_THE_SAME = "It may no longer be wanted. Send it again all the same?"


def detail(told: Told, key: Key, view: View, endpoint: str, notice: Markup) -> Markup:
    """Return the story of a record under a notice."""
    back = button("← Back to the list", endpoint, {"do": "list", "view": of_view(view)}, style="rh-quiet")
    row = told.row
    record = row if isinstance(row, Notification) else None
    parts = [
        tag("div", [back, *_redrive(row, key, view, endpoint)], class_="rh-bar"),
        notice,
        tag("h2", said(record.subject if record else "There is no such record", 1100)),
        tag("p", [*([pill(row)] if row is not None else []), said(key.channel), " · ", _key(key)]),
        _sentences(told),
    ]
    if told.story.attempts:
        parts += [tag("h3", "Attempts"), _attempts(told.story.attempts)]
    if record is not None:
        parts += [*_texts(record), tag("h3", "The record"), _facts(_fields(record))]
    return joined(parts)


def notice_of(refusal: str | None, key: Key, view: View, endpoint: str) -> Markup:
    """Return what became of a redrive; what is stale or resolved may be insisted on."""
    if refusal is None:
        return tag("p", "It waits again, and goes out with the next sweep.", class_="rh-note rh-good")
    parts: list[str] = [f"Not sent again: {refusal}."]
    if refusal in (STALE, RESOLVED):
        ask = _asking(key, view) | {"insisted": True}
        again = button("Send all the same", endpoint, ask, style="rh-quiet", confirmation=_SURE_ALL_THE_SAME)
        parts += [" ", again]
    return tag("p", parts, class_="rh-note rh-bad")


def _redrive(row: Row | None, key: Key, view: View, endpoint: str) -> list[Markup]:
    if not isinstance(row, Notification) or row.status is not Status.DEAD_LETTERED:
        return []
    return [button("Send again", endpoint, _asking(key, view), style="rh-press", confirmation=_SURE)]


def _asking(key: Key, view: View) -> dict[str, object]:
    return {"do": "redrive", "channel": key.channel, "dedup_key": key.dedup_key, "view": of_view(view)}


def _key(key: Key) -> Markup:
    return tag("span", said(key.dedup_key, 1100), class_="rh-key")


def _sentences(told: Told) -> Markup:
    story = told.story
    sent = isinstance(told.row, Notification) and told.row.status is Status.SENT
    named = {
        "What happens next": story.next,
        "Why it is so" if sent else "Why it was not sent": story.why,
        "What would change that": story.remedy,
        "What keeps it": story.kept,
        "Asked for again": story.asked_again,
    }
    return _facts({name: said(value, 2000) for name, value in named.items() if value})


def _attempts(attempts: Sequence[Past]) -> Markup:
    head = heads(("When (UTC)", "How it ended", "Reason", "Answer", "Took (ms)"))
    rows = [
        tag(
            "tr",
            [
                tag("td", moment(past.at), class_="rh-time"),
                tag("td", _ENDINGS[past.ending]),
                tag("td", said(past.reason)),
                tag("td", "" if past.status is None else str(past.status), class_="rh-number"),
                tag("td", "" if past.milliseconds is None else f"{past.milliseconds:,}", class_="rh-number"),
            ],
        )
        for past in attempts
    ]
    return tag("div", tag("table", [head, tag("tbody", rows)], class_="rh-narrow"), class_="rh-wide")


def _texts(record: Notification) -> list[Markup]:
    named = (("Body", record.body), ("Payload", record.payload), ("When its finding is resolved", record.resolve_with))
    return [part for name, value in named if value for part in (tag("h3", name), tag("pre", said(value, _LONGEST)))]


def _fields(record: Notification) -> dict[str, Markup]:
    texts = {
        "Kind": record.kind,
        "Recipient": record.recipient,
        "Finding": record.finding_id,
        "Last reason": record.last_reason,
        "Last error": record.last_error,
        "Batch": record.dispatch_batch_id,
    }
    moments = {
        "Asked for first": record.created_at,
        "Last changed": record.updated_at,
        "Not to be sent after": record.deliver_by,
        "Sent": record.sent_at,
        "Died": record.dead_lettered_at,
    }
    counts = f"{record.attempt_count}, redriven {record.redrive_count} times"
    maybe = {"May have arrived": said("an attempt ended without an answer")} if record.maybe_delivered else {}
    return {
        **{name: said(value, 1100) for name, value in texts.items() if value},
        **{name: joined([moment(value), " UTC"]) for name, value in moments.items() if value is not None},
        "Attempts": said(counts),
        **maybe,
    }


def _facts(facts: dict[str, Markup]) -> Markup:
    pairs = [part for name, value in facts.items() for part in (tag("dt", name), tag("dd", value))]
    return tag("dl", pairs, class_="rh-facts")
