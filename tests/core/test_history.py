from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redeliver.core import history, lifecycle
from redeliver.core.history import LONGEST, Ending, Past
from redeliver.core.notification import Notification
from redeliver.core.outcome import Delivered, Gone, Outcome, Reject, Retry
from redeliver.core.policy import Policy
from tests.builders import NOW, at, final, record

PASTS = st.builds(
    Past,
    st.integers(0, 10**6).map(at),
    st.sampled_from(Ending),
    st.from_regex(r"[a-z0-9_.]{0,40}", fullmatch=True),
    st.none() | st.integers(100, 599),
    st.none() | st.integers(0, 10**7),
)


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (Delivered(status=202), Past(NOW, Ending.DELIVERED, "", 202, 51)),
        (Retry("http_503", "x", status=503), Past(NOW, Ending.RETRY, "http_503", 503, 51)),
        (Retry("timeout", "x"), Past(NOW, Ending.RETRY, "timeout", None, 51)),
        (Reject("too_long", "x", 400), Past(NOW, Ending.REJECT, "too_long", 400, 51)),
        (Gone("chat_not_found", "x", 400), Past(NOW, Ending.GONE, "chat_not_found", 400, 51)),
    ],
    ids=str,
)
def test_an_attempt_is_kept_as_it_ended(outcome: Outcome, expected: Past) -> None:
    assert history.attempts(history.added(None, history.past(outcome, NOW, 51))) == [expected]


@given(st.lists(PASTS, max_size=40))
def test_the_latest_attempts_are_kept_in_bounds(pasts: list[Past]) -> None:
    kept: str | None = None
    for one in pasts:
        kept = history.added(kept, one)
        assert len(kept.encode()) <= LONGEST
    found = list(history.attempts(kept))
    assert found == pasts[len(pasts) - len(found) :]
    assert len(found) >= min(len(pasts), 7)


@pytest.mark.parametrize("length", [1, 7, 40])
def test_the_latest_are_kept_and_as_many_as_have_room(length: int) -> None:
    kept, pasts = None, [Past(at(n), Ending.RETRY, "x" * length, 500, 30_000) for n in range(60)]
    for one in pasts:
        kept = history.added(kept, one)
    assert kept is not None
    entry = kept.partition(";")[0]
    assert 512 - len(f";{entry}") < len(kept) <= 512
    found = history.attempts(kept)
    assert found == pasts[-len(found) :]


def test_512_bytes_are_not_too_long() -> None:
    """The bound that docs/operate.md and the budgets of SPEC 10 name."""
    entry = history.added(None, Past(NOW, Ending.DELIVERED))
    for length, attempts in ((511, 2), (512, 2), (513, 1)):
        before = "x" * (length - len(f";{entry}"))
        assert len(history.added(before, Past(NOW, Ending.DELIVERED)).split(";")) == attempts


@given(st.text() | st.lists(st.text("0123456789,;drxg i")).map(";".join))
def test_a_history_that_cannot_be_read_is_none(text: str) -> None:
    history.attempts(text)
    assert len(history.added(text, Past(NOW, Ending.DELIVERED))) <= max(LONGEST, 20)


def test_reasons_are_words() -> None:
    kept = history.added(None, Past(NOW, Ending.RETRY, "a;b,c\n" + "é" * 99))
    (found,) = history.attempts(kept)
    assert found.reason == "a_b_c_" + "_" * 34


def one_attempt(before: Notification, outcome: Outcome, took: int) -> Notification:
    claimed = lifecycle.claim(before, NOW, at(65))
    return lifecycle.settle(claimed, outcome, at(1), Policy(), batch_id="b", milliseconds=took)


def test_a_settle_adds_its_attempt_and_a_redrive_keeps_them() -> None:
    failed = one_attempt(record(), Retry("http_503", "x", status=503), 1200)
    dead = one_attempt(failed, Gone("http_410", "x", 410), 30)
    again = lifecycle.redrive(dead, at(5))
    assert again is not None
    assert [(p.ending, p.reason, p.status, p.milliseconds) for p in history.attempts(again.history)] == [
        (Ending.RETRY, "http_503", 503, 1200),
        (Ending.GONE, "http_410", 410, 30),
    ]


@pytest.mark.parametrize("count", [1, 5])
def test_an_attempt_that_nobody_settled_is_told_when_the_record_is_looked_at(count: int) -> None:
    died = record(attempt_count=count, claimed_until=NOW, updated_at=NOW - timedelta(seconds=65))
    after = lifecycle.next_step(died, at(1), Policy(), claim_until=at(66))
    assert after is not None
    assert history.attempts(after.history) == [Past(died.updated_at, Ending.INTERRUPTED, "interrupted")]


def test_without_attempts_there_is_no_history() -> None:
    assert history.attempts(final().history) == []
    claimed = lifecycle.claim(record(), NOW, at(65))
    assert claimed.history is None
