"""The story of a notification: every way in which it may not have been sent has its sentence and its remedy."""

from datetime import timedelta

import pytest

from redeliver.core import history, moments
from redeliver.core.finding import Finding, FindingStatus
from redeliver.core.history import Ending
from redeliver.core.hold import FAILING, GONE, NOT_CONFIGURED, OPERATOR, WAIT
from redeliver.core.notification import Key, Notification, Status, Unreadable
from redeliver.core.outcome import Delivered, Gone, Outcome, Reject, Retry
from redeliver.core.policy import Policy
from redeliver.operator.story import DEATHS, Facts, Story, story
from redeliver.ports import ChannelState
from tests.builders import NOW, at, final, finding, record
from tests.world import World

DEAD = Status.DEAD_LETTERED


def told(row: Notification | Unreadable | None, **facts: object) -> Story:
    usual: dict[str, object] = {"now": NOW, "policy": Policy()}
    return story(row, Facts(**{**usual, **facts}))  # type: ignore[arg-type] # well typed in each case


def held(reason: str | None, note: str | None = None) -> ChannelState:
    return ChannelState("ops", at(600), reason, hold_note=note)


@pytest.mark.parametrize("reason", sorted(DEATHS))
def test_every_death_says_what_it_means_and_what_would_help(reason: str) -> None:
    found = told(final(DEAD, last_reason=reason, last_error="the endpoint's words"))
    meaning, remedy = DEATHS[reason]
    assert found.next == "nothing by itself"
    assert found.why == f"{meaning}: the endpoint's words"
    assert found.remedy == remedy


def test_a_death_of_another_reason_names_it() -> None:
    found = told(final(DEAD, last_reason="http_503", last_error="HTTP 503"))
    assert found.why == "its last attempt failed with http_503: HTTP 503"
    assert found.remedy == "mend the cause, then redrive it"


def test_a_dead_letter_says_what_a_redrive_alone_would_not_get_past() -> None:
    dead = final(DEAD, last_reason="http_503")
    no_document = told(dead, not_configured="url is missing", state=held(NOT_CONFIGURED))
    assert str(no_document.remedy).endswith("; before that, mend the channel's document: url is missing")
    on_hold = told(dead, state=held(GONE))
    assert "on hold (gone) until 2026-11-30 12:10:00 UTC, or until `redeliver release`" in str(on_hold.remedy)
    assert "hold" not in str(told(dead, state=ChannelState("ops", at(-1), GONE)).remedy)


@pytest.mark.parametrize(
    ("reason", "why", "remedy", "then"),
    [
        (NOT_CONFIGURED, "no usable document", "mend the document", "it is attempted"),
        (WAIT, "asked for a pause", "wait", "it is attempted"),
        (FAILING, "five attempts in a row", "mend the endpoint", "one record of the channel is tried"),
        (GONE, "target no longer exists", "put a new target", "one record of the channel is tried"),
        (OPERATOR, "an operator holds", "`redeliver release`", "it is attempted"),
        ("mistyped", "is on hold", "`redeliver release`", "it is attempted"),
        (None, "is on hold", "`redeliver release`", "it is attempted"),
    ],
)
def test_every_hold_says_why_and_until_when(reason: str | None, why: str, remedy: str, then: str) -> None:
    found = told(record(), state=held(reason, "note of Ana"))
    assert why in str(found.why)
    assert "(note of Ana)" in str(found.why)
    assert remedy in str(found.remedy)
    assert (
        found.next == f"its channel is left alone until 2026-11-30 12:10:00 UTC, then {then}; 5 of 5 attempts are left"
    )


def test_no_document_says_what_is_wrong_with_it() -> None:
    found = told(record(), not_configured="url is missing: it must be an https:// address")
    assert found.next == "nothing until its channel has a usable document; 5 of 5 attempts are left"
    assert found.why == "its channel cannot be used: url is missing: it must be an https:// address"
    assert found.remedy == "mend the document; it is looked at again by itself"


def test_what_is_being_attempted_says_so_whatever_the_channel_is() -> None:
    found = told(record(attempt_count=2, claimed_until=at(30)), state=held(FAILING), not_configured="x")
    assert found.next == (
        "it is being attempted now, until 2026-11-30 12:00:30 UTC at the latest; 3 of 5 attempts are left"
    )
    assert (found.why, found.remedy) == ("its attempt has not been settled yet", None)


def test_what_failed_and_waits_says_how_and_until_when() -> None:
    waiting = record(
        status=Status.RETRYING, attempt_count=4, next_attempt_at=at(60), last_reason="http_503", last_error="HTTP 503"
    )
    found = told(waiting)
    assert found.next == "the next attempt is at 2026-11-30 12:01:00 UTC; 1 of 5 attempts are left"
    assert found.why == "its last attempt failed: http_503: HTTP 503"
    assert found.remedy == "mend the endpoint, or wait"


def test_what_is_due_is_taken_by_the_next_sweep() -> None:
    found = told(record())
    assert found.next == "the next sweep takes it; 5 of 5 attempts are left"
    assert (found.why, found.remedy) == ("it has not been attempted yet", None)


@pytest.mark.parametrize(
    ("waiting", "policy", "reason"),
    [
        (record(deliver_by=at(-1)), Policy(), "expired"),
        (record(created_at=at(-7200)), Policy(max_age=timedelta(hours=1)), "expired"),
        (record(attempt_count=5, claimed_until=at(-1)), Policy(), "interrupted"),
        (record(attempt_count=3), Policy(max_attempts=3), "out_of_attempts"),
    ],
)
def test_what_the_next_sweep_will_not_send_says_so(waiting: Notification, policy: Policy, reason: str) -> None:
    assert told(waiting, policy=policy).next == (
        f"the first sweep after 2026-11-30 12:00:00 UTC parks it instead of sending it: {reason}"
    )


def test_what_was_suppressed_says_by_what() -> None:
    found = told(final(Status.SUPPRESSED, last_reason="same as yesterday"))
    assert found.next == "nothing by itself"
    assert found.why == "it was suppressed: same as yesterday"
    assert found.remedy == "send it under another dedup key if it is wanted after all"


def test_what_was_sent_needs_no_remedy() -> None:
    found = told(final())
    assert (found.next, found.why, found.remedy) == ("nothing: it was delivered", None, None)


@pytest.mark.parametrize("row", [None, final(expires_at=NOW)])
def test_what_is_not_there_or_forgotten_says_where_to_look(row: Notification | None) -> None:
    found = told(row)
    assert found.next == "nothing: there is no such notification"
    assert "forgotten since" in str(found.why)
    assert "notification_invalid" in str(found.remedy)


def test_a_row_that_cannot_be_read_says_what_is_wrong_with_it() -> None:
    found = told(Unreadable(Key("ops", "bad"), "kind is missing", parked=True))
    assert found.why == "its row cannot be read as a record: kind is missing"
    assert "mend the row" in str(found.remedy)


def test_a_duplicate_is_told() -> None:
    assert told(final()).asked_again is None
    world = World()
    world.clock.pass_by(0.4)
    world.send()
    assert told(world.get()).asked_again is None  # the first request is not another one, whenever in its second it came
    assert "12:00:09 UTC, which was answered `duplicate`" in str(told(final(requested_at=at(9))).asked_again)


@pytest.mark.parametrize(
    ("kept", "known", "says"),
    [
        (record(), None, "until it has ended"),
        (final(expires_at=at(60)), None, "forgotten after 2026-11-30 12:01:00 UTC"),
        (final(finding_id="CVE-1"), None, "nobody has said that its finding 'CVE-1' is resolved"),
        (final(finding_id="CVE-1"), finding(FindingStatus.ACTIVE), "is active since 2026-11-30T12:00:00"),
        (final(finding_id="CVE-1", requested_at=at(9)), finding(), "asked for again at 2026-11-30 12:00:09 UTC"),
        (final(finding_id="CVE-1"), finding(), "retention has not got round to it yet"),
    ],
)
def test_what_keeps_a_record_from_being_forgotten(kept: Notification, known: Finding | None, says: str) -> None:
    assert says in str(told(kept, finding=known).kept)


def test_the_attempts_are_told_oldest_first() -> None:
    past: str | None = None
    ends: list[Outcome] = [Retry("timeout", "", status=None), Reject("bad", "", 400), Gone("gone", "", 410)]
    for number, outcome in enumerate(ends):
        past = history.added(past, history.past(outcome, at(number), 100 * number))
    past = history.added(past, history.past(Delivered(status=200), at(3), None))
    found = told(final(history=past)).attempts
    assert [each.ending for each in found] == [Ending.RETRY, Ending.REJECT, Ending.GONE, Ending.DELIVERED]
    assert [each.status for each in found] == [None, 400, 410, 200]
    assert [each.milliseconds for each in found] == [0, 100, 200, None]
    assert [each.at for each in found] == [at(number) for number in range(4)]


def test_a_real_life_tells_itself() -> None:
    world = World()
    world.channel.will(Retry("http_503", "HTTP 503", status=503), Reject("bad_markup", "HTTP 400", 400))
    world.send()
    world.sweep(after=300)
    found = story(world.get(), Facts(now=world.clock.now, policy=world.policy))
    assert [(each.reason, each.status) for each in found.attempts] == [("http_503", 503), ("bad_markup", 400)]
    assert found.why == "its last attempt failed with bad_markup: HTTP 400"
    assert moments.floor(found.attempts[-1].at) == at(300)


def test_a_final_record_that_nobody_gave_an_expiry_says_so() -> None:
    kept = story(final(Status.DEAD_LETTERED), Facts(now=NOW, policy=Policy())).kept
    assert kept is not None
    assert "finding" not in kept
