"""Writes whose answer is lost, so that botocore makes them again: who wrote knows that it was done, nobody else."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest

from redeliver.core import lifecycle, retention
from redeliver.core.finding import FindingStatus
from redeliver.core.hold import FAILING, OPERATOR, Hold
from redeliver.core.notification import Key, Status, Unreadable
from redeliver.core.outcome import Delivered
from redeliver.core.policy import Policy
from redeliver.ports import ChannelState
from tests.builders import NOW, at, final, finding, record, request
from tests.stores import Store, dynamo

POLICY = Policy()
Act = Callable[[Store], Any]
_CLAIMED = lifecycle.claim(record(), NOW, at(65))
_HOLD = Hold(at(60), FAILING)


@pytest.fixture
def store() -> Iterator[Store]:
    with dynamo() as opened:
        yield opened


@contextmanager
def first_answer_lost(store: Store, between: Callable[[], object] = lambda: None) -> Iterator[list[str]]:
    """Let every first answer be lost inside: DynamoDB has done the work, `between` happens, botocore asks again."""
    lost: list[str] = []

    def again(attempts: int, operation: Any, **_: Any) -> Any:
        if attempts > 1 or lost or operation.name == "GetItem":
            return None
        lost.append(operation.name)
        between()
        return 0  # seconds until it asks again

    ports: list[Any] = [store.ledger, store.findings, store.states]
    hooks = [port._table.connection.client.meta.events for port in ports]
    for events in hooks:
        events.register_first("needs-retry.dynamodb", again)
    try:
        yield lost
    finally:
        for events in hooks:
            events.unregister("needs-retry.dynamodb", again)


def _prepared(*records: Any) -> Act:
    return lambda store: [store.ledger.add(each, NOW) for each in records]


def _held(store: Store) -> None:
    store.states.open("ops")
    store.states.hold("ops", Hold(at(-1), FAILING), at(-60), 5)


def _probe(store: Store) -> bool:
    return store.states.probe(ChannelState("ops", at(-1), FAILING, 5), NOW) is not None


_DEAD = final(Status.DEAD_LETTERED)
_EXPIRING = final(expires_at=at(86400))
_REDRIVEN: Any = lifecycle.redrive(_DEAD, NOW)
_CANCELLED: Any = lifecycle.cancel(record(), NOW, POLICY, reason="old")
_SETTLED = lifecycle.settle(_CLAIMED, Delivered(), NOW, POLICY, batch_id="b")
_PLANTED = Unreadable(Key("ops", "k1"), "x")

CASES: dict[str, tuple[Act, Act]] = {
    "a first request": (_prepared(), lambda store: store.ledger.add(_CLAIMED, NOW)),
    "one where another has expired": (
        _prepared(final(expires_at=at(-1))),
        lambda store: store.ledger.add(_CLAIMED, NOW),
    ),
    "a claim": (_prepared(record()), lambda store: store.ledger.replace(record(), _CLAIMED)),
    "a settle": (_prepared(_CLAIMED), lambda store: store.ledger.replace(_CLAIMED, _SETTLED)),
    "a redrive": (_prepared(_DEAD), lambda store: store.ledger.replace(_DEAD, _REDRIVEN)),
    "a cancel": (
        _prepared(record()),
        lambda store: store.ledger.replace(record(), _CANCELLED),
    ),
    "parking": (lambda store: store.plant(_PLANTED.key, 0, None), lambda store: store.ledger.park(_PLANTED, NOW)),
    "a hold": (lambda store: store.states.open("ops"), lambda store: store.states.hold("ops", _HOLD, NOW, 5)),
    "a probe": (_held, _probe),
    "a recovery": (_held, lambda store: store.states.free(ChannelState("ops", at(-1), FAILING, 5), 0)),
    "a release by hand": (_held, lambda store: store.holds.release("ops")),
    "news of a finding": (_prepared(), lambda store: store.findings.put(finding(FindingStatus.ACTIVE))),
    "a settled finding": (
        lambda store: store.findings.put(finding(FindingStatus.ACTIVE)),
        lambda store: store.findings.settle(finding(FindingStatus.ACTIVE), None),
    ),
    "a release of an expiry": (
        _prepared(_EXPIRING),
        lambda store: store.records.release(_EXPIRING, retention.released(_EXPIRING, NOW)),
    ),
}


@pytest.mark.parametrize(("before", "write"), CASES.values(), ids=CASES)
def test_a_write_whose_answer_was_lost_is_known_to_be_done(store: Store, before: Act, write: Act) -> None:
    before(store)
    with first_answer_lost(store) as lost:
        assert write(store)
    assert lost


def test_a_claim_is_still_its_own_when_the_record_was_asked_for_again_meanwhile(store: Store) -> None:
    store.ledger.add(record(), NOW)
    asked = lifecycle.asked_again(_CLAIMED, request(finding_id="f1"), at(1))
    with first_answer_lost(store, lambda: store.ledger.replace(_CLAIMED, asked)):
        assert store.ledger.replace(record(), _CLAIMED)
    assert store.ledger.get(record().key) == asked


def test_a_hold_is_still_its_own_when_a_recipient_moved_meanwhile(store: Store) -> None:
    store.states.open("ops")
    with first_answer_lost(store, lambda: store.addresses.move("ops", "-1", "-100")):
        assert store.states.hold("ops", _HOLD, NOW, 5)


def test_what_another_has_written_since_is_nobody_elses(store: Store) -> None:
    """The claim was done and died with its lease; another sweep took the record since: only that one may attempt it."""
    store.ledger.add(record(), NOW)
    second = lifecycle.claim(_CLAIMED, at(70), at(135))
    with first_answer_lost(store, lambda: store.ledger.replace(_CLAIMED, second)):
        assert not store.ledger.replace(record(), _CLAIMED)


def test_two_writers_of_the_very_same_claim_never_both_have_it(store: Store) -> None:
    store.ledger.add(record(), NOW)
    others: list[bool] = []
    with first_answer_lost(store, lambda: others.append(store.ledger.replace(record(), _CLAIMED))):
        assert store.ledger.replace(record(), _CLAIMED)
    assert others == [False]


def test_a_hold_that_an_operator_has_replaced_since_is_the_operators(store: Store) -> None:
    store.states.open("ops")
    by_hand = Hold(at(600), OPERATOR)
    with first_answer_lost(store, lambda: store.holds.impose("ops", by_hand, "maintenance")):
        assert not store.states.hold("ops", _HOLD, NOW, 5)
    state = store.states.open("ops")
    with first_answer_lost(store, lambda: store.holds.impose("ops", Hold(at(900), OPERATOR), "longer")):
        assert store.states.probe(state, at(600)) is None


def test_a_transaction_is_made_again_under_its_own_token(store: Store) -> None:
    """By that token DynamoDB answers the second try as the first; moto does not, so here the tokens are compared."""
    one, said, tokens = final(finding_id="f1"), finding(FindingStatus.RESOLVED), []
    store.findings.put(said)
    store.ledger.add(one, NOW)
    ledger: Any = store.ledger
    events = ledger._table.connection.client.meta.events

    def note(request: Any, **_: Any) -> None:
        tokens.append(json.loads(request.body)["ClientRequestToken"])

    events.register("before-send.dynamodb.TransactWriteItems", note)
    try:
        with first_answer_lost(store):
            store.records.stamp(said, [(one, retention.stamped(one, NOW, timedelta(days=1)))])
    finally:
        events.unregister("before-send.dynamodb.TransactWriteItems", note)
    assert len(tokens) > 1
    assert tokens[0] == tokens[1]
