import pytest

from tests.faults import logs

END = "END RequestId: 7"
STORE = ["Traceback (most recent call last):", '  File "x.py", line 1, in y', "    raise Unavailable"]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["START", '{"message":"sweep_finished"}', END], {}),
        (["Worker process died", END], {logs.KILLED: 1}),
        (["Task timed out after 20.00 seconds", END], {logs.TIMED_OUT: 1}),
        ([*STORE, "redeliver.ports.Unavailable: DynamoDB: x", END], {"redeliver.ports.Unavailable": 1}),
        ([*STORE, "KeyError: 'x'", "", "During the handling", *STORE, "AttributeError: y", END], {"AttributeError": 1}),
        (['{"message":"item_failed","error":"Unavailable(\'x\')"}', END], {"item: Unavailable": 1}),
        (["Error: what somebody logged", END], {}),
    ],
    ids=["well", "killed", "timed out", "store", "chained", "item", "no traceback"],
)
def test_how_an_invocation_ended(lines: list[str], expected: dict[str, int]) -> None:
    found = logs.ends(lines + lines)
    assert found == {logs.INVOCATIONS: 2, **{end: 2 * number for end, number in expected.items()}}


def test_errors_of_our_own_are_unforeseen() -> None:
    ends = [*logs.FORESEEN, *logs.ITEMS_FORESEEN, "AttributeError", "item: KeyError", "pynamodb.exceptions.PutError"]
    assert logs.unforeseen(ends) == ["AttributeError", "item: KeyError", "pynamodb.exceptions.PutError"]


def test_events_are_counted_by_their_name() -> None:
    found = logs.events(['{"message":"write_lost"}', '{"message":"write_lost"}', '{"message":"notification_sent"}'])
    assert found == {**dict.fromkeys(logs.EVENTS, 0), "write_lost": 2}
