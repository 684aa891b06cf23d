import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from infra.local.faults.plan import Fault, Met
from infra.local.faults.proxy import Exchange
from tests.faults.account import Case, Seen, cases, seen_by_key, settle
from tests.faults.cast import Key

KEY: Key = ("alerts", "n-1")
NOTIFICATION = {"channel": "alerts", "dedup_key": "n-1"}
LEASE = 30.0
TOOK = Seen(at=1000.0, status=200, id="i", batch_id=None, fault=None)
FAILED = replace(TOOK, status=503)
SENT: dict[str, Any] = {"status": "sent", "attempt_count": 1, "history": "1000,d,,200,50", "dispatch_batch_id": "b"}
DEAD: dict[str, Any] = {"status": "dead_lettered", "attempt_count": 1, "history": "1000,r,http_503,503,50"}
SUPPRESSED = {"status": "suppressed", "attempt_count": 0}
MAYBE = {"maybe_delivered": True}
TWICE = {"attempt_count": 2, "history": "1000,i,interrupted,,;1025,d,,200,50"}


def case(record: Mapping[str, Any] | None, *seen: Seen, **changes: Any) -> Case:
    return replace(Case(KEY, NOTIFICATION, taken=True, record=record, seen=seen), **changes)


GOOD = {
    "sent": case(SENT, TOOK),
    "sent in the second try": case(SENT, FAILED, TOOK),
    "sent twice in one attempt": case({**SENT, **MAYBE}, TOOK, TOOK),
    "sent again after its process died": case({**SENT, **TWICE, **MAYBE}, TOOK, TOOK),
    "perhaps sent once": case({**SENT, **MAYBE}, TOOK),
    "dead": case(DEAD, FAILED, FAILED, FAILED),
    "dead though delivered": case({**DEAD, **MAYBE}, TOOK),
    "suppressed": case(SUPPRESSED, notification={**NOTIFICATION, "suppress": "muted"}),
    "stale from the beginning": case(
        {"status": "dead_lettered", "attempt_count": 0},
        notification={**NOTIFICATION, "deliver_by": "1970-01-01T00:00:00+00:00"},
    ),
    "sent just in time": case(
        SENT, TOOK, notification={**NOTIFICATION, "deliver_by": "1970-01-01T00:16:10+00:00"}
    ),
    "in a digest": case(SENT, replace(TOOK, batch_id="a", status=503), replace(TOOK, batch_id="b")),
    "told at once": case(SENT, TOOK, told=[{"result": "sent", "status": "sent"}]),
    "told later": case(SENT, TOOK, told=[{"result": "accepted", "status": "pending"}]),
    "handed back": case(None, taken=False),
}  # fmt: skip


@pytest.mark.parametrize("good", GOOD.values(), ids=GOOD)
def test_what_may_happen_adds_up(good: Case) -> None:
    account = settle([good], LEASE)
    assert not account.broken
    assert account.sum_is_right


BAD = {
    "what was taken in has a record": case(None),
    "what has a record was asked for": case(SENT, TOOK, notification=None),
    "nothing is left undone": case({**DEAD, "status": "retrying", "next_attempt_at": 1001}, FAILED),
    "what is done holds no claim and is not due": case({**DEAD, "claimed_until": 1001}, FAILED),
    "what is sent was delivered": case(SENT, FAILED),
    "an end that a caller was told of was the end": case(
        {**DEAD, **MAYBE}, TOOK, told=[{"result": "sent", "status": "sent"}]
    ),
    "what was delivered again says maybe_delivered": case(SENT, TOOK, TOOK),
    "what was delivered and is not sent says maybe_delivered": case(DEAD, TOOK),
    "what was delivered again carried one id": case({**SENT, **MAYBE}, TOOK, replace(TOOK, id="j")),
    "a sent digest's batch id is of a message that was delivered": case(SENT, replace(TOOK, batch_id="a")),
    "what is suppressed was never seen": case(
        {**SUPPRESSED, "attempt_count": 1, "history": "1000,r,http_503,503,50"},
        FAILED,
        notification={**NOTIFICATION, "suppress": "muted"},
    ),
    "what is to be suppressed is": case(SENT, TOOK, notification={**NOTIFICATION, "suppress": "muted"}),
    "what was stale was not sent": case(
        SENT, TOOK, notification={**NOTIFICATION, "deliver_by": "1970-01-01T00:16:09+00:00"}
    ),
    "no attempt begins while the lease of another lasts": case(
        {**SENT, **TWICE, **MAYBE, "history": "1000,i,interrupted,,;1015,d,,200,50"}, TOOK, TOOK
    ),
    "every attempt that was charged is told of": case({**SENT, "attempt_count": 2}, TOOK),
    "no more attempts than allowed": case(
        {**DEAD, "attempt_count": 4, "history": ";".join([DEAD["history"]] * 4)}, FAILED
    ),
    "no more requests than its attempts can have made": case(DEAD, *[FAILED] * 4),
}


@pytest.mark.parametrize("rule", BAD)
def test_what_breaks_one_rule_is_told_by_that_rule_alone(rule: str) -> None:
    account = settle([*GOOD.values(), BAD[rule]], LEASE)
    assert account.broken == {rule: [BAD[rule]]}


def test_the_sum_is_of_what_was_taken_in() -> None:
    lost = settle([GOOD["sent"], case(None)], LEASE)
    assert (lost.taken(), lost.count("sent"), lost.sum_is_right) == (2, 1, False)
    waiting = settle([case({"status": "retrying"}), case({"status": "pending"})], LEASE)
    assert (waiting.count("pending"), waiting.sum_is_right) == (2, True)


def test_what_a_queue_hands_back_is_taken_in_only_if_it_was_stored() -> None:
    keys = [("alerts", f"n-{number}") for number in range(3)]
    found = cases(dict.fromkeys(keys, NOTIFICATION), {}, {keys[0], keys[1]}, {keys[1]: SENT}, {})
    assert [one.taken for one in found] == [False, True, True]


def test_each_member_of_a_digest_has_seen_its_request() -> None:
    def exchange(data: object, met: Met | None = None) -> Exchange:
        return Exchange(1000.0, "/hook", json.dumps({"type": "t", "data": data}).encode(), 200, met)

    one, other = ({"channel": "reports", "dedup_key": key, "id": key * 2} for key in "ab")
    seen = seen_by_key(
        [exchange({"batch_id": "b1", "notifications": [one, other]}, Met(Fault.LOST, 0.5)), exchange(one)]
    )
    assert seen == {
        ("reports", "a"): [
            Seen(1000.0, 200, "aa", "b1", "answer lost"),
            Seen(1000.0, 200, "aa", None, None),
        ],
        ("reports", "b"): [Seen(1000.0, 200, "bb", "b1", "answer lost")],
    }
