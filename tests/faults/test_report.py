from collections import Counter

from infra.local.faults.plan import Fault
from tests.faults.account import Case, Seen, settle
from tests.faults.logs import INVOCATIONS, KILLED
from tests.faults.report import MOST_SHOWN, text
from tests.faults.run import Run

SEEN = Seen(at=1000.25, status=200, id="i", batch_id="b7", fault="answer lost")
SENT = {"status": "sent", "attempt_count": 1, "history": "1000,d,,200,50", "dispatch_batch_id": "b7"}


def finished(*cases: Case, error: str = INVOCATIONS) -> Run:
    return Run(
        seed=7,
        asked=5,
        seconds={"deploy": 1.0, "storm": 2.0, "drain": 3.0},
        met={"store": (1234, Counter({Fault.LOST: 56})), "endpoint": (78, Counter({Fault.HANG: 9}))},
        ends={"SendFunction": Counter({KILLED: 11, error: 1}), "RetrySweeperFunction": Counter()},
        events={"SendFunction": Counter({"write_lost": 3}), "RetrySweeperFunction": Counter()},
        kills=17,
        unrecorded=0,
        account=settle(cases, 30),
    )


def case(number: int, *seen: Seen, **record: object) -> Case:
    key = ("reports", f"n-{number}")
    return Case(key, {"channel": key[0], "dedup_key": key[1]}, taken=True, record={**SENT, **record}, seen=seen)


def cells(report: str, title: str) -> list[str]:
    (line,) = (line for line in report.splitlines() if line.startswith(title))
    return line.removeprefix(title).split()


def test_what_adds_up_is_told_with_its_seed_and_figures() -> None:
    dead = case(2, status="dead_lettered", last_reason="expired", history=None, attempt_count=0)
    run = finished(case(1, SEEN, SEEN, maybe_delivered=True), dead)
    report = text(run)
    assert run.adds_up
    assert report.startswith("seed 7: 2 notifications, asked for 5 times (deploy 1 s, storm 2 s, drain 3 s)")
    assert cells(report, "  in all") == ["1,234", "78"]
    assert cells(report, "  answer lost") == ["56", "0"]
    assert cells(report, "  killed in mid-work") == ["11", "0"]
    assert "killed, idle ones included: 17" in report
    assert cells(report, "  write_lost") == ["3", "0"]
    assert cells(report, "  all") == ["2", "1", "1", "0", "0", "2", "2", "1", "1"]
    assert "dead: 1 expired" in report
    assert "\nadds up" in report


def test_what_does_not_is_told_with_its_requests() -> None:
    run = finished(*(case(number, SEEN, SEEN) for number in range(MOST_SHOWN + 2)))
    report = text(run)
    assert not run.adds_up
    assert "\nDOES NOT ADD UP" in report
    assert "22 times it is not so that what was delivered again says maybe_delivered" in report
    assert "    reports n-0: {'status': 'sent'" in report
    assert "      00:16:40.250 answered 200, answer lost in batch b7" in report
    assert "    and 2 more" in report


def test_errors_of_our_own_do_not_add_up() -> None:
    run = finished(case(1, SEEN), error="KeyError")
    assert not run.adds_up
    assert "met an error that no fault should lead to: KeyError" in text(run)
