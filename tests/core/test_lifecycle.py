from dataclasses import replace
from datetime import datetime, timedelta
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redeliver.core import lifecycle
from redeliver.core.arrows import ARROWS
from redeliver.core.lifecycle import Policy
from redeliver.core.notification import FINAL, OPEN, Notification, Status
from redeliver.core.outcome import Delivered, Gone, Outcome, Reject, Retry
from tests.builders import NOW, at, final, record, request

POLICY = Policy()
DAYS = POLICY.retention
CLAIMED = record(attempt_count=1, claimed_until=at(65), next_attempt_at=at(65))
LATER = {"deliver_by": at(3600).isoformat()}


def settle(outcome: Outcome, now: datetime = NOW, policy: Policy = POLICY, **changes: Any) -> Notification:
    return lifecycle.settle(replace(CLAIMED, **changes), outcome, now, policy, batch_id="b1")


# accept


def test_accept_with_a_first_claim() -> None:
    new = lifecycle.accept(request(), at(0.2), POLICY, due=at(0.2), first_claim_until=at(65.2))
    expected = record(attempt_count=1, claimed_until=at(66), next_attempt_at=at(66), requested_at=at(1))
    assert new == expected


def test_accept_that_waits_is_due_and_unclaimed() -> None:
    assert lifecycle.accept(request(), NOW, POLICY, due=at(60)) == record(next_attempt_at=at(60))


def test_accept_keeps_all_of_the_request() -> None:
    asked = request(recipient="42", payload={"a": 1}, finding_id="CVE-1", **LATER)
    new = lifecycle.accept(asked, NOW, POLICY, due=NOW)
    assert new == record(recipient="42", payload='{"a":1}', finding_id="CVE-1", deliver_by=at(3600))


def test_accept_suppressed() -> None:
    new = lifecycle.accept(request(suppress="known already"), NOW, POLICY, due=NOW, first_claim_until=at(65))
    assert new == final(Status.SUPPRESSED, attempt_count=0, last_reason="known already", expires_at=NOW + DAYS)


@pytest.mark.parametrize(
    ("seconds", "status"),
    [(-1, Status.DEAD_LETTERED), (0, Status.PENDING), (1, Status.PENDING)],
    ids=["past", "now", "later"],
)
def test_accept_of_what_is_stale(seconds: int, status: Status) -> None:
    new = lifecycle.accept(request(deliver_by=at(seconds).isoformat()), NOW, POLICY, due=NOW)
    assert new.status is status
    assert new.last_reason == ("expired" if status is Status.DEAD_LETTERED else None)


def test_accept_with_a_finding_and_final_has_no_expiry() -> None:
    new = lifecycle.accept(request(suppress="x", finding_id="CVE-1"), NOW, POLICY, due=NOW)
    assert new.expires_at is None


# asked again


def test_asking_again_without_a_finding_changes_nothing() -> None:
    stored = final(finding_id="CVE-1", expires_at=at(9))
    assert lifecycle.asked_again(stored, request(), at(5)) == stored


def test_asking_again_with_a_finding_keeps_the_record() -> None:
    stored = final(finding_id="CVE-1", expires_at=at(9))
    asked = lifecycle.asked_again(stored, request(finding_id="CVE-1"), at(5))
    assert asked == final(finding_id="CVE-1", requested_at=at(5))


def test_asking_is_never_recorded_as_earlier_than_it_was() -> None:
    # Else a finding that was resolved in the same second, before the request, would let the record go.
    assert lifecycle.accept(request(finding_id="F"), at(5.2), POLICY, due=NOW).requested_at == at(6)
    assert lifecycle.asked_again(final(), request(finding_id="F"), at(5.2)).requested_at == at(6)


def test_asking_again_takes_a_finding_over_but_never_replaces_one() -> None:
    assert lifecycle.asked_again(final(), request(finding_id="F2"), NOW).finding_id == "F2"
    assert lifecycle.asked_again(final(finding_id="F1"), request(finding_id="F2"), NOW).finding_id == "F1"


def test_asking_again_late_does_not_go_back_in_time() -> None:
    stored = final(finding_id="F", requested_at=at(10))
    assert lifecycle.asked_again(stored, request(finding_id="F"), at(5)).requested_at == at(10)


# due and the next step


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, True),
        ({"status": Status.RETRYING}, True),
        ({"next_attempt_at": at(1)}, False),
        ({"next_attempt_at": at(-1)}, True),
        ({"next_attempt_at": None}, False),
        ({"claimed_until": at(1)}, False),
        ({"claimed_until": NOW}, True),
        *(({"status": status}, False) for status in sorted(FINAL)),
    ],
    ids=str,
)
def test_due(changes: dict[str, Any], expected: bool) -> None:
    assert lifecycle.due(record(**changes), NOW) is expected
    step = lifecycle.next_step(record(**changes), NOW, POLICY, claim_until=at(65))
    assert (step is not None) is expected


def test_claim_touches_no_index_key() -> None:
    claimed = lifecycle.next_step(record(), at(3.5), POLICY, claim_until=at(68.5))
    assert claimed == record(attempt_count=1, claimed_until=at(69), updated_at=at(3))


def test_a_claim_that_nobody_settled_may_have_delivered() -> None:
    again = lifecycle.next_step(CLAIMED, at(65), POLICY, claim_until=at(130))
    assert again is not None
    assert (again.attempt_count, again.maybe_delivered, again.status) == (2, True, Status.PENDING)


@pytest.mark.parametrize(
    ("count", "status"), [(4, Status.RETRYING), (5, Status.DEAD_LETTERED), (6, Status.DEAD_LETTERED)]
)
def test_give_up_when_the_last_claim_died(count: int, status: Status) -> None:
    died = replace(CLAIMED, status=Status.RETRYING, attempt_count=count)
    after = lifecycle.next_step(died, at(65), POLICY, claim_until=at(130))
    assert after is not None
    assert after.status is status
    assert after.maybe_delivered
    if status is Status.DEAD_LETTERED:
        assert (after.last_reason, after.dead_lettered_at, after.attempt_count) == ("interrupted", at(65), count)
        assert (after.next_attempt_at, after.claimed_until) == (None, None)
        assert "ended without writing" in str(after.last_error)


@pytest.mark.parametrize(("known", "reason"), [("http_500", "http_500"), (None, "out_of_attempts")])
def test_give_up_when_the_maximum_was_lowered(known: str | None, reason: str) -> None:
    waiting = record(status=Status.RETRYING, attempt_count=4, last_reason=known, last_error="e")
    after = lifecycle.next_step(waiting, NOW, Policy(max_attempts=3), claim_until=at(65))
    assert after is not None
    assert (after.status, after.last_reason, after.last_error) == (Status.DEAD_LETTERED, reason, "e")
    assert not after.maybe_delivered


@pytest.mark.parametrize(("seconds", "stale"), [(-1, True), (0, False), (1, False)])
def test_stale_instead_of_a_claim(seconds: int, stale: bool) -> None:
    after = lifecycle.next_step(record(deliver_by=at(seconds)), NOW, POLICY, claim_until=at(65))
    assert after is not None
    if stale:
        assert after == final(
            Status.DEAD_LETTERED, attempt_count=0, deliver_by=at(-1), last_reason="expired", expires_at=NOW + DAYS
        )
    else:
        assert after.attempt_count == 1


# settle


def test_delivered() -> None:
    after = settle(Delivered(), at(3.7), last_error="before", last_reason="http_500", status=Status.RETRYING)
    assert after == final(sent_at=at(3), updated_at=at(3), dispatch_batch_id="b1", expires_at=NOW + DAYS)


def test_retry() -> None:
    after = settle(Retry("http_500", "it burns"), at(3.7))
    expected = record(
        status=Status.RETRYING,
        attempt_count=1,
        next_attempt_at=at(304),
        updated_at=at(3),
        last_error="it burns",
        last_reason="http_500",
    )
    assert after == expected


@pytest.mark.parametrize(
    ("wait", "expected"),
    [(None, 300), (299, 300), (300, 300), (301, 301), (86400, 86400), (86401, 86400), (10**7, 86400)],
)
def test_a_named_wait_counts_if_it_is_longer_and_up_to_the_cap(wait: int | None, expected: int) -> None:
    named = None if wait is None else timedelta(seconds=wait)
    assert settle(Retry("http_429", "slower", named)).next_attempt_at == at(expected)


def test_gaps_grow_from_the_failure_not_from_the_first_attempt() -> None:
    one = CLAIMED
    gaps = []
    for failed in (at(7), at(1000), at(5000), at(20000)):
        one = lifecycle.settle(one, Retry("r", "e"), failed, POLICY, batch_id="b")
        assert one.next_attempt_at is not None
        gaps.append((one.next_attempt_at - failed) / timedelta(minutes=1))
        one = lifecycle.claim(one, one.next_attempt_at, one.next_attempt_at + timedelta(seconds=65))
    assert gaps == [5, 10, 20, 40]
    assert lifecycle.settle(one, Retry("r", "e"), at(60000), POLICY, batch_id="b").status is Status.DEAD_LETTERED


@pytest.mark.parametrize(("chance", "expected"), [(0.0, 150), (0.5, 300), (1.0, 450)])
def test_jitter_is_by_chance(chance: float, expected: int) -> None:
    after = lifecycle.settle(CLAIMED, Retry("r", "e"), NOW, Policy(jitter=0.5), batch_id="b", chance=chance)
    assert after.next_attempt_at == at(expected)


def test_jitter_does_not_lift_a_wait_over_the_cap() -> None:
    policy = Policy(jitter=1, max_delay=timedelta(seconds=400))
    after = lifecycle.settle(CLAIMED, Retry("r", "e"), NOW, policy, batch_id="b", chance=0.99)
    assert after.next_attempt_at == at(400)


@pytest.mark.parametrize(
    ("outcome", "count", "reason"),
    [
        (Retry("http_500", "x"), 5, "http_500"),
        (Retry("http_500", "x"), 6, "http_500"),
        (Reject("too_long", "x"), 1, "too_long"),
        (Gone("http_410", "x"), 1, "http_410"),
    ],
    ids=["last attempt", "beyond the last", "rejected", "gone"],
)
def test_dead(outcome: Outcome, count: int, reason: str) -> None:
    after = settle(outcome, at(2), attempt_count=count)
    expected = final(
        Status.DEAD_LETTERED,
        attempt_count=count,
        dead_lettered_at=at(2),
        updated_at=at(2),
        last_error="x",
        last_reason=reason,
        expires_at=NOW + DAYS,
    )
    assert after == expected


@pytest.mark.parametrize(("seconds", "status"), [(299, Status.DEAD_LETTERED), (300, Status.RETRYING)])
def test_a_retry_later_than_deliver_by_is_stale(seconds: int, status: Status) -> None:
    after = settle(Retry("http_500", "x"), deliver_by=at(seconds))
    assert (after.status, after.last_error) == (status, "x")
    assert after.last_reason == ("expired" if status is Status.DEAD_LETTERED else "http_500")


@pytest.mark.parametrize(
    ("before", "now", "expected"), [(False, False, False), (False, True, True), (True, False, True)]
)
def test_maybe_delivered_stays(before: bool, now: bool, expected: bool) -> None:
    assert settle(Retry("timeout", "x", maybe_delivered=now), maybe_delivered=before).maybe_delivered is expected
    assert settle(Reject("r", "x"), maybe_delivered=before).maybe_delivered is before


@pytest.mark.parametrize("outcome", [Retry("r", "e" * 5000), Reject("r", "e" * 5000), Gone("r", "e" * 5000)])
def test_error_texts_are_capped_and_storable(outcome: Outcome) -> None:
    assert len(str(settle(outcome).last_error)) == 1024


@pytest.mark.parametrize("outcome", [Delivered(), Retry("r", "e"), Reject("r", "e"), Gone("r", "e")], ids=str)
def test_settle_of_a_record_with_a_finding_never_sets_an_expiry(outcome: Outcome) -> None:
    assert settle(outcome, attempt_count=5, finding_id="CVE-1").expires_at is None


# redrive and cancel


def test_redrive() -> None:
    dead = final(
        Status.DEAD_LETTERED, attempt_count=5, expires_at=at(99), deliver_by=at(-9), last_error="x", redrive_count=1
    )
    after = lifecycle.redrive(dead, at(9.5))
    assert after == record(redrive_count=2, next_attempt_at=at(9), updated_at=at(9), last_error="x")


@pytest.mark.parametrize("status", sorted(set(Status) - {Status.DEAD_LETTERED}))
def test_only_dead_letters_are_redriven(status: Status) -> None:
    assert lifecycle.redrive(record(status=status), NOW) is None


@pytest.mark.parametrize(("expires", "possible"), [(-1, False), (0, False), (1, True)])
def test_no_redrive_past_the_expiry(expires: int, possible: bool) -> None:
    assert (lifecycle.redrive(final(Status.DEAD_LETTERED, expires_at=at(expires)), NOW) is not None) is possible


def test_cancel() -> None:
    after = lifecycle.cancel(record(claimed_until=NOW), NOW, POLICY, reason="withdrawn")
    assert after == final(Status.SUPPRESSED, attempt_count=0, last_reason="withdrawn", expires_at=NOW + DAYS)


def test_no_cancel_of_what_is_final_or_held() -> None:
    assert lifecycle.cancel(record(claimed_until=at(1)), NOW, POLICY, reason="x") is None
    assert all(lifecycle.cancel(final(status), NOW, POLICY, reason="x") is None for status in FINAL)


# whatever happens


OUTCOMES: st.SearchStrategy[Outcome] = st.one_of(
    st.just(Delivered()),
    st.builds(Retry, st.text(), st.text(), st.none() | st.timedeltas(), st.booleans()),
    st.builds(Reject, st.text(), st.text()),
    st.builds(Gone, st.text(), st.text()),
)


@given(
    OUTCOMES, st.integers(0, 10**9), st.floats(0, 1, exclude_max=True), st.floats(0, 1), st.sampled_from([None, "F"])
)
def test_settle_is_total_and_its_records_make_sense(
    outcome: Outcome, count: int, chance: float, jitter: float, finding_id: str | None
) -> None:
    claimed = replace(CLAIMED, attempt_count=count, finding_id=finding_id)
    policy = Policy(jitter=jitter)
    after = lifecycle.settle(claimed, outcome, NOW, policy, batch_id="b", chance=chance)
    assert (after.next_attempt_at is None) == (after.status in FINAL)
    assert after.claimed_until is None
    assert (after.dead_lettered_at is None) == (after.status is not Status.DEAD_LETTERED)
    assert (after.sent_at is None) == (after.status is not Status.SENT)
    assert (after.expires_at is None) == (after.status in OPEN or finding_id is not None)
    assert after.next_attempt_at is None or NOW <= after.next_attempt_at <= NOW + policy.max_delay
    assert len(after.last_error or "") <= 1024


def test_the_arrows_say_where_the_functions_lead() -> None:
    arrows = {arrow.name: arrow for arrow in ARROWS}
    outcomes: list[Outcome] = [Delivered(), Retry("r", "e"), Reject("r", "e")]
    for status, outcome, count in product(OPEN, outcomes, (1, 5)):
        assert settle(outcome, status=status, attempt_count=count).status in arrows["settle"].after
    assert arrows["settle"].before == arrows["claim"].before == arrows["cancel"].before == OPEN
    assert arrows["accept"].before == frozenset()
    assert arrows["redrive"].after == {Status.PENDING}
