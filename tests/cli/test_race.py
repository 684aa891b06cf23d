"""Many operators, killed programs: each dead letter goes again once. With more of them: `tests.benchmarks.redrive`."""

from redeliver.core.notification import Status
from tests.cli.bare_stack import bare_stack
from tests.cli.race import put_dead_letters, race

NUMBER = 500


def test_each_of_many_is_redriven_once_by_two_operators_of_whom_one_is_killed_and_starts_again() -> None:
    with bare_stack() as stack:
        put_dead_letters(stack, NUMBER)
        finish = race(stack, NUMBER)
    assert len(finish.records) == NUMBER
    assert {(record.status, record.redrive_count) for record in finish.records} == {(Status.PENDING, 1)}
    assert 0 < finish.left_at_kill < NUMBER
    assert 0 < sum(finish.moved) < NUMBER  # the killed one has moved the others
