import pytest

from redeliver.core.finding import FindingStatus, outdoes
from tests.builders import finding

ACTIVE, RESOLVED = FindingStatus.ACTIVE, FindingStatus.RESOLVED


@pytest.mark.parametrize(
    ("news", "changed", "stored", "expected"),
    [
        (ACTIVE, 1, RESOLVED, True),
        (RESOLVED, 1, ACTIVE, True),
        (RESOLVED, -1, ACTIVE, False),
        (ACTIVE, -1, RESOLVED, False),
        (ACTIVE, 0, RESOLVED, True),
        (RESOLVED, 0, ACTIVE, False),
        (RESOLVED, 0, RESOLVED, True),
        (ACTIVE, 0, ACTIVE, True),
    ],
    ids=[
        "newer active", "newer resolved", "older resolved", "older active",
        "equal times: active wins", "equal times: resolved loses", "the same again, resolved", "the same again, active",
    ],
)  # fmt: skip
def test_outdoes(news: FindingStatus, changed: float, stored: FindingStatus, expected: bool) -> None:
    assert outdoes(finding(news, changed), finding(stored)) is expected


def test_anything_outdoes_the_unknown() -> None:
    assert outdoes(finding(), None)


def test_news_a_nanosecond_later_wins() -> None:
    earlier = finding(ACTIVE, changed_at="2026-11-30T12:00:00.000000001Z")
    later = finding(RESOLVED, changed_at="2026-11-30T12:00:00.000000002Z")
    assert outdoes(later, earlier)
    assert not outdoes(earlier, later)
