from datetime import timedelta

import pytest

from redeliver.core import retention
from redeliver.core.finding import FindingStatus
from tests.builders import NOW, at, final, finding, record

DAYS = timedelta(days=90)


@pytest.mark.parametrize(
    ("age", "expected"),
    [(0, 90), (89, 90), (90, 90), (91, 91), (5 * 366, 5 * 366)],
    ids=["new", "day before", "on the day", "day after", "older than DynamoDB looks back"],
)
def test_expiry_is_never_in_the_past(age: int, expected: int) -> None:
    created = NOW - timedelta(days=age)
    assert retention.expiry(created, NOW, DAYS) == created + timedelta(days=expected)


def test_expiry_is_never_a_fraction_of_a_second_too_early() -> None:
    assert retention.expiry(NOW - 2 * DAYS, at(0.5), DAYS) == at(1)


def test_expiry_of_a_record_from_the_end_of_time_is_a_moment() -> None:
    assert retention.expiry(at(0).replace(year=9999), NOW, DAYS) >= NOW


def test_expiry_after_a_fraction_of_a_day_is_not_a_fraction_of_a_second_too_early() -> None:
    assert retention.expiry(NOW, NOW, timedelta(seconds=1.5)) == at(2)


@pytest.mark.parametrize(
    ("requested", "expected"),
    [(-1, True), (0, True), (1, False)],
    ids=["asked before it was resolved", "asked at that very second", "asked again afterwards"],
)
def test_resolved_finding_lets_go_what_was_asked_before(requested: float, expected: bool) -> None:
    kept = final(finding_id="CVE-1", requested_at=at(requested))
    assert retention.may_be_forgotten(kept, finding(FindingStatus.RESOLVED)) is expected


@pytest.mark.parametrize("known", [None, finding(FindingStatus.ACTIVE, 99)], ids=["unknown", "active"])
def test_active_and_unknown_findings_keep(known: None) -> None:
    assert not retention.may_be_forgotten(final(finding_id="CVE-1"), known)


def test_final_without_finding_may_go_and_open_may_not() -> None:
    assert retention.may_be_forgotten(final(), None)
    assert not retention.may_be_forgotten(record(), None)
    assert not retention.may_be_forgotten(record(finding_id="CVE-1"), finding())


@pytest.mark.parametrize(
    ("status", "expires", "expected"),
    [
        (FindingStatus.RESOLVED, at(9), True),
        (FindingStatus.RESOLVED, None, False),
        (FindingStatus.ACTIVE, None, True),
        (FindingStatus.ACTIVE, at(9), False),
    ],
    ids=["resolved and stamped", "resolved, not stamped", "active and kept", "active, but stamped"],
)
def test_in_order(status: FindingStatus, expires: None, expected: bool) -> None:
    assert retention.in_order(final(finding_id="CVE-1", expires_at=expires), finding(status)) is expected


def test_open_record_is_never_in_order() -> None:
    assert not retention.in_order(record(finding_id="CVE-1"), finding(FindingStatus.ACTIVE))


def test_stamped_and_released_undo_each_other() -> None:
    stamped = retention.stamped(final(finding_id="CVE-1"), at(5.5), DAYS)
    assert (stamped.expires_at, stamped.updated_at) == (NOW + DAYS, at(5))
    assert retention.released(stamped, at(7.5)) == final(finding_id="CVE-1", updated_at=at(7))


# found by `python -m tests.mutation`


def test_expiry_of_a_record_from_the_end_of_time_is_the_last_day_of_the_calendar() -> None:
    assert retention.expiry(at(0).replace(year=9999), NOW, DAYS) == at(0).replace(year=9999, month=12, day=31, hour=0)


@pytest.mark.parametrize(("length", "named"), [(984, True), (985, False)], ids=["just fits", "one byte too long"])
def test_a_resolution_is_named_after_its_notification_as_long_as_that_fits(length: int, named: bool) -> None:
    told = retention.resolution(final(dedup_key="k" * length, finding_id="F", resolve_with="{}"), finding())
    assert told is not None
    assert str(told["dedup_key"]).startswith("k" * length) is named
    assert len(str(told["dedup_key"])) == (1024 if named else 104)
