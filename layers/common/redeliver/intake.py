"""The ways in: a direct call with one notification or many, and a message of the queue (SPEC 4, 12)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

from redeliver.accept import Accept, Answer
from redeliver.core.request import MOST_NOTIFICATIONS
from redeliver.deliver import WRITE_EACH
from redeliver.ports import Deadline, Unavailable

PUT_ASIDE = timedelta(seconds=16)  # longer than a call to the queue takes that is not answered


class DeadLetterQueue(Protocol):
    """Where messages go that no retry can make valid."""

    def put(self, body: str, reason: str) -> None:
        """Keep a message with the reason why it was refused; raises Unavailable."""


@dataclass(frozen=True, slots=True)
class Reserved:
    """A deadline that leaves the time to store so many that are still behind: port Deadline."""

    end: Deadline
    behind: int

    def left(self) -> timedelta:
        """Return the time that is left for one."""
        return self.end.left() - self.behind * WRITE_EACH


def direct(accept: Accept, event: object, deadline: Deadline) -> dict[str, object]:
    """Return the answers to a direct call, in order.

    Raises Unavailable, after having done the others, if one could not be stored: what was stored is then answered
    `duplicate` when the call is made again.
    """
    listed: Any = event.get("notifications") if isinstance(event, Mapping) and "notifications" in event else [event]
    problem = _problem(event, listed)
    if problem is not None:
        accept.telemetry.count("notifications.invalid")
        accept.telemetry.warn("notification_invalid", error=problem)
        return _results([Answer(result="invalid", channel=None, dedup_key=None, error=problem)])
    answers, failures = [], []
    for behind, raw in zip(reversed(range(len(listed))), listed, strict=True):
        try:
            answers.append(accept(raw, Reserved(deadline, behind)))
        except Unavailable as error:
            accept.telemetry.warn("notification_not_stored", error=str(error))
            failures.append(str(error))
    if failures:
        raise Unavailable(f"{len(failures)} of {len(answers) + len(failures)} could not be stored: {failures[0]}")
    return _results(answers)


def message(accept: Accept, body: str, refused: DeadLetterQueue, deadline: Deadline) -> Answer:
    """Take in a message of the queue; an invalid one is put aside with the reason.

    Raises Unavailable if it could be neither stored nor put aside: then it belongs back into the queue.
    """
    raw, unreadable = body, ""
    try:
        raw = json.loads(body)
    except (ValueError, RecursionError) as error:
        unreadable = f"not JSON: {error}; "
    answer = accept(raw, deadline)
    if answer.result == "invalid":
        if deadline.left() < PUT_ASIDE:  # the messages behind it are still to be stored
            raise Unavailable("no time was left to put an invalid message aside; it is put aside when it comes again")
        refused.put(body, f"{unreadable}{answer.error}")
    return answer


def _results(answers: list[Answer]) -> dict[str, object]:
    return {"results": [answer.as_json() for answer in answers]}


def _problem(event: object, listed: object) -> str | None:
    """Return what is wrong with the envelope of a direct call."""
    if not isinstance(listed, list):
        return "notifications: must be a list of notifications"
    if isinstance(event, Mapping) and "notifications" in event:
        unknown = [str(field)[:80] for field in event if field != "notifications"]
        if unknown:
            return f"{unknown[0]!r}: unknown field beside notifications"
    if len(listed) > MOST_NOTIFICATIONS:
        return f"notifications: at most {MOST_NOTIFICATIONS} in one call; got {len(listed)}"
    return None
