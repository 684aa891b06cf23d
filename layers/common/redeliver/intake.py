"""The ways in: a call with one notification or many, and a message of the queue (SPEC 4, 12)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

from redeliver.accept import Accept, Answer
from redeliver.core.envelope import DIRECT, Asked, unwrapped
from redeliver.core.request import MOST_NOTIFICATIONS
from redeliver.deliver import WRITE_EACH
from redeliver.ports import Deadline, Unavailable

PUT_ASIDE = timedelta(seconds=16)  # longer than a call to the queue takes that is not answered


class DeadLetterQueue(Protocol):
    """Where requests go that no retry can make valid."""

    def put(self, body: str, reason: str) -> None:
        """Keep a request with the reason why it was refused; raises Unavailable."""


@dataclass(frozen=True, slots=True)
class Reserved:
    """A deadline that leaves the time to store so many that are still behind: port Deadline."""

    end: Deadline
    behind: int

    def left(self) -> timedelta:
        """Return the time that is left for one."""
        return self.end.left() - self.behind * WRITE_EACH


def direct(accept: Accept, event: object, refused: DeadLetterQueue, deadline: Deadline) -> dict[str, object]:
    """Return the answers to a call, in order; what is invalid is put aside too, since nobody may read its answer.

    A function cannot tell whether it was called synchronously (docs/adr/0012).

    Raises Unavailable, after having done the others, if one could be neither stored nor put aside: what was stored is
    then answered `duplicate` when the call is made again.
    """
    asked, problem = _asked(event)
    if problem is not None:
        accept.telemetry.count("notifications.invalid")
        accept.telemetry.warn("notification_invalid", error=problem)
        refused.put(asked[0].text, asked[0].refusal(problem))
        return _results([Answer(result="invalid", channel=None, dedup_key=None, error=problem)])
    answers, failures, invalid = list[Answer](), list[str](), list[tuple[Asked, Answer]]()
    for behind, one in zip(reversed(range(len(asked))), asked, strict=True):
        try:
            answer = accept(one.value, Reserved(deadline, behind + len(invalid)))
        except Unavailable as error:
            accept.telemetry.warn("notification_not_stored", error=str(error))
            failures.append(str(error))
            continue
        answers.append(answer)
        if answer.result == "invalid":
            invalid.append((one, answer))
    if failures:  # who makes the call again meets what is invalid again
        raise Unavailable(f"{len(failures)} of {len(asked)} could not be stored: {failures[0]}")
    for one, answer in invalid:
        refused.put(one.text, one.refusal(str(answer.error)))
    return _results(answers)


def message(accept: Accept, body: str, refused: DeadLetterQueue, deadline: Deadline) -> Answer:
    """Take in a message of the queue; an invalid one is put aside with the reason.

    Raises Unavailable if it could be neither stored nor put aside: then it belongs back into the queue.
    """
    asked = Asked.of_text(body)
    answer = accept(asked.value, deadline)
    if answer.result == "invalid":
        if deadline.left() < PUT_ASIDE:  # the messages behind it are still to be stored
            raise Unavailable("no time was left to put an invalid message aside; it is put aside when it comes again")
        refused.put(asked.text, asked.refusal(str(answer.error)))
    return answer


def _results(answers: list[Answer]) -> dict[str, object]:
    return {"results": [answer.as_json() for answer in answers]}


def _asked(event: object) -> tuple[list[Asked], str | None]:
    """Return what a call asks for, and what is wrong with its envelope, if anything is."""
    if not (isinstance(event, Mapping) and "notifications" in event):
        return unwrapped(event), None
    listed: Any = event["notifications"]
    problem = _problem(event, listed)
    if problem is not None:
        return [Asked(event, DIRECT)], problem
    return [Asked(each, DIRECT) for each in listed], None


def _problem(event: Mapping[str, object], listed: object) -> str | None:
    if not isinstance(listed, list):
        return "notifications: must be a list of notifications"
    unknown = [str(field)[:80] for field in event if field != "notifications"]
    if unknown:
        return f"{unknown[0]!r}: unknown field beside notifications"
    if len(listed) > MOST_NOTIFICATIONS:
        return f"notifications: at most {MOST_NOTIFICATIONS} in one call; got {len(listed)}"
    return None
