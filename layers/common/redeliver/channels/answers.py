"""What the answers of an endpoint mean, as data: a table of statuses and codes, from its provider's documents."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import assert_never

from redeliver.channels.attempt import Attempt, header_wait
from redeliver.channels.transport import Answer, NoAnswer, Post
from redeliver.core.outcome import (
    CREDENTIALS_REFUSED,
    Delivered,
    Gone,
    Outcome,
    Reject,
    Retry,
    from_status,
    worth_retrying_at_once,
)

SUCCESS = range(200, 300)
UNREADABLE = "unreadable_answer"


class Means(Enum):
    """What an answer comes to, in the words of `docs/channels.md`."""

    DELIVERED = "delivered"
    REJECT = "the message is refused"
    GONE = "the target is gone"
    CREDENTIALS = "the credentials are refused: the document is read again, then retry"
    BUSY = "retry after the wait that is named"
    RETRY = "retry"
    UNKNOWN = "retry, perhaps delivered"  # a success that cannot be read may have been one


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table: which answers, and what they mean.

    `status` None is any; so is `code` None, while "" is an answer without a code. A code is compared whole, without
    case; one that ends with `*` is a beginning. A `reason` that is left out says the status. `note` is for the reader:
    what the provider says, or where.
    """

    status: int | range | None
    code: str | None
    means: Means
    reason: str = ""
    note: str = ""

    def covers(self, status: int, code: str) -> bool:
        """Tell whether an answer is one of these."""
        if isinstance(self.status, range):
            if status not in self.status:
                return False
        elif self.status not in (None, status):
            return False
        if self.code is None:
            return True
        wanted, given = self.code.casefold(), code.casefold()
        return given.startswith(wanted[:-1]) if wanted.endswith("*") else given == wanted

    def outcome(self, status: int, error: str, wait: timedelta | None) -> Outcome:
        """Return what such an answer comes to."""
        reason = self.reason or f"http_{status}"
        match self.means:
            case Means.DELIVERED:
                return Delivered(status=status)
            case Means.REJECT:
                return Reject(reason, error, status)
            case Means.GONE:
                return Gone(reason, error, status)
            case Means.CREDENTIALS:
                return Retry(CREDENTIALS_REFUSED, error, status=status)
            case Means.BUSY | Means.RETRY:
                return Retry(reason, error, wait, status=status)
            case Means.UNKNOWN:
                return Retry(reason, error, maybe_delivered=True, status=status)
        assert_never(self.means)


def no_code(_: Answer) -> str:
    """Return that an answer has no code: its status says it all."""
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """How the answers of one endpoint are read: the first row that covers one decides, else its status (SPEC 6).

    `source` is the document they are from, `code_name` what it calls its codes; `title` tells several tables apart.
    """

    rows: tuple[Row, ...]
    source: str
    code: Callable[[Answer], str] = no_code
    wait: Callable[[Answer, datetime], timedelta | None] = header_wait
    code_name: str = "code"
    title: str = ""

    def send(self, attempt: Attempt, post: Post | Callable[[datetime], Post]) -> Outcome:
        """Make a request, composed anew for each try if it is a function; return what it came to."""
        return self.outcome(self.ask(attempt, post), attempt.now())

    def ask(self, attempt: Attempt, post: Post | Callable[[datetime], Post]) -> Answer | NoAnswer:
        """Make a request; again, while its answer says that this may help at once."""
        return attempt.post((lambda _: post) if isinstance(post, Post) else post, self.wait, self.worth_retrying)

    def worth_retrying(self, answer: Answer) -> bool:
        """Tell whether the in-request layer may try again: never what the table has an end for."""
        if not worth_retrying_at_once(answer.status):
            return False
        row = self.row(answer)
        return row is None or row.means in (Means.BUSY, Means.RETRY)

    def outcome(self, result: Answer | NoAnswer, now: datetime) -> Outcome:
        """Return what a request came to."""
        if isinstance(result, NoAnswer):
            return result.outcome
        row, wait = self.row(result), self.wait(result, now)
        if row is None:
            return from_status(result.status, result.text, wait)
        return row.outcome(result.status, result.text, wait)

    def row(self, answer: Answer) -> Row | None:
        """Return the row that decides about an answer, if one does."""
        code = self.code(answer)
        return next((row for row in self.rows if row.covers(answer.status, code)), None)
