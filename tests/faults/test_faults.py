"""A small run of what `make faults` does: a few notifications, one seed."""

from infra.local.faults.plan import Fault
from tests.faults.report import text
from tests.faults.run import run

NUMBER = 120


def test_in_the_end_everything_adds_up() -> None:
    finished = run(seed=1, number=NUMBER)
    assert finished.adds_up, text(finished)
    _, store = finished.met["store"]
    _, endpoint = finished.met["endpoint"]
    # It is worth nothing if nothing happened.
    assert all(store[fault] for fault in (Fault.DELAY, Fault.LOST, Fault.RESET, Fault.ERROR, Fault.THROTTLE))
    assert all(endpoint[fault] for fault in (Fault.DELAY, Fault.LOST, Fault.RESET, Fault.ERROR))
    assert finished.kills >= 1
    account = finished.account
    assert min(map(account.count, ("sent", "dead_lettered", "suppressed"))) >= 1
    assert account.taken() >= 0.9 * NUMBER
    assert any(case.delivered > 1 for case in account.cases)
