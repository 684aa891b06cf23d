from datetime import timedelta

import pytest

from redeliver.channels.answers import SUCCESS, Answers, Means, Row
from redeliver.channels.http import body_text
from redeliver.channels.transport import Answer, NoAnswer
from redeliver.core.outcome import CREDENTIALS_REFUSED, Delivered, Gone, Outcome, Reject, Retry
from tests.contract.channel_cases import NOW

WAIT = timedelta(seconds=7)


@pytest.mark.parametrize(
    ("row", "status", "code", "covered"),
    [
        (Row(400, "no_text", Means.REJECT), 400, "no_text", True),
        (Row(400, "no_text", Means.REJECT), 400, "NO_TEXT", True),
        (Row(400, "no_text", Means.REJECT), 400, "no_texts", False),
        (Row(400, "no_text", Means.REJECT), 401, "no_text", False),
        (Row(400, "no*", Means.REJECT), 400, "no_text", True),
        (Row(400, "no*", Means.REJECT), 400, "yes", False),
        (Row(400, "*", Means.REJECT), 400, "", True),
        (Row(400, "", Means.REJECT), 400, "", True),
        (Row(400, "", Means.REJECT), 400, "no_text", False),
        (Row(400, None, Means.REJECT), 400, "no_text", True),
        (Row(None, "no_text", Means.REJECT), 200, "no_text", True),
        (Row(SUCCESS, None, Means.REJECT), 299, "", True),
        (Row(SUCCESS, None, Means.REJECT), 300, "", False),
    ],
)
def test_what_a_row_covers(row: Row, status: int, code: str, covered: bool) -> None:
    assert row.covers(status, code) is covered


@pytest.mark.parametrize(
    ("means", "outcome"),
    [
        (Means.DELIVERED, Delivered()),
        (Means.REJECT, Reject("http_400", "e")),
        (Means.GONE, Gone("http_400", "e")),
        (Means.CREDENTIALS, Retry(CREDENTIALS_REFUSED, "e")),
        (Means.BUSY, Retry("http_400", "e", WAIT)),
        (Means.RETRY, Retry("http_400", "e", WAIT)),
        (Means.UNKNOWN, Retry("http_400", "e", maybe_delivered=True)),
    ],
)
def test_what_a_row_means(means: Means, outcome: Outcome) -> None:
    assert Row(400, None, means).outcome(400, "e", WAIT) == outcome


TABLE = Answers(
    source="https://example.com",
    code=body_text,
    rows=(
        Row(500, "never", Means.REJECT, "never"),
        Row(500, "busy", Means.BUSY, "busy"),
        Row(503, None, Means.CREDENTIALS),
        Row(500, "never*", Means.GONE, "too late"),
    ),
)


def test_the_first_row_decides() -> None:
    assert TABLE.outcome(Answer(500, b"never"), NOW) == Reject("never", "HTTP 500: never")


def test_what_no_row_covers_is_decided_by_its_status() -> None:
    assert TABLE.outcome(Answer(410, b"x"), NOW) == Gone("http_410", "HTTP 410: x")
    busy = Answer(429, b"", {"Retry-After": "7"})
    assert TABLE.outcome(busy, NOW) == Retry("http_429", "HTTP 429", WAIT)


def test_no_answer_is_what_it_is() -> None:
    lost = NoAnswer("connection_lost", "reset", sent=True)
    assert TABLE.outcome(lost, NOW) == Retry("connection_lost", "reset", maybe_delivered=True)


@pytest.mark.parametrize(
    ("status", "body", "worth"),
    [(500, b"busy", True), (500, b"", True), (500, b"never", False), (503, b"", False), (400, b"busy", False)],
)
def test_only_what_may_help_is_tried_again_at_once(status: int, body: bytes, worth: bool) -> None:
    assert TABLE.worth_retrying(Answer(status, body)) is worth
