"""The account of a run: what was taken in, what the table says became of it, and what the endpoint saw."""

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any

from infra.local.faults.proxy import Exchange
from redeliver.core import history
from redeliver.core.history import Ending, Past
from tests.faults.cast import Key

REQUESTS_AN_ATTEMPT = 3  # the first one and two in-request retries (SPEC 6)
MOST_ATTEMPTS = 3  # as the run's stack is deployed
SHORTEST_LEASE = 16  # seconds: time for an attempt and its writes, the margin behind the invocation, less a second
OPEN = ("pending", "retrying")


@dataclass(frozen=True, slots=True)
class Seen:
    """One request that the endpoint got, as far as it concerns one notification."""

    at: float
    status: int
    id: str
    batch_id: str | None
    fault: str | None

    @property
    def delivered(self) -> bool:
        """Tell whether the endpoint took it, whatever its client heard of that."""
        return 200 <= self.status <= 299


@dataclass(frozen=True, slots=True)
class Case:
    """All that is known of one notification.

    `taken` says that its caller was told, or its queue has concluded, that it is stored; `told` holds the answers.
    """

    key: Key
    notification: Mapping[str, Any] | None
    taken: bool
    told: Sequence[Mapping[str, Any]] = ()
    record: Mapping[str, Any] | None = None
    seen: Sequence[Seen] = ()

    @property
    def status(self) -> str:
        """Return the status of the record; empty if there is none."""
        return self.record["status"] if self.record else ""

    @property
    def maybe(self) -> bool:
        """Tell whether the record says that it may have been delivered without anybody having heard of it."""
        return bool(self.record and self.record.get("maybe_delivered"))

    @property
    def attempts(self) -> Sequence[Past]:
        """Return what the record says of its attempts."""
        return history.attempts((self.record or {}).get("history"))

    @property
    def delivered(self) -> int:
        """Return how often the endpoint took it."""
        return sum(one.delivered for one in self.seen)

    def asked(self, name: str) -> Any:
        """Return a field of what was asked for."""
        return (self.notification or {}).get(name)


def _seen_in_time(case: Case, lease: float) -> bool:
    deliver_by = case.asked("deliver_by")
    if deliver_by is None:
        return True
    end = datetime.fromisoformat(deliver_by).timestamp()
    return all(one.at <= end + lease for one in case.seen)


def _batch_delivered(case: Case) -> bool:
    batches = {one.batch_id for one in case.seen if one.delivered}
    return batches <= {None} or (case.record or {}).get("dispatch_batch_id") in batches


def _leases_kept(case: Case) -> bool:
    """Tell whether nobody began an attempt while another might still be making one that was never settled."""
    for died, later in pairwise(case.attempts):
        # An attempt that died is known by when its claim was written, one that was settled by when it ended.
        began = later.at.timestamp() - (later.milliseconds or 0) / 1000
        if died.ending is Ending.INTERRUPTED and began - died.at.timestamp() < SHORTEST_LEASE:
            return False
    return True


# What has to be true of each notification when nothing is left to do; the number is how long an attempt may last that
# began in time.
RULES: Mapping[str, Callable[[Case, float], bool]] = {
    "what was taken in has a record": lambda case, _: not case.taken or case.record is not None,
    "what has a record was asked for": lambda case, _: case.record is None or case.notification is not None,
    "nothing is left undone": lambda case, _: case.status not in OPEN,
    "what is done holds no claim and is not due": lambda case, _: (
        case.status in OPEN or not {"claimed_until", "next_attempt_at"} & (case.record or {}).keys()
    ),
    "what is sent was delivered": lambda case, _: case.status != "sent" or case.delivered >= 1,
    "an end that a caller was told of was the end": lambda case, _: all(
        answer["status"] in (*OPEN, case.status) for answer in case.told
    ),
    "what was delivered again says maybe_delivered": lambda case, _: case.delivered <= 1 or case.maybe,
    "what was delivered and is not sent says maybe_delivered": lambda case, _: (
        case.delivered == 0 or case.status == "sent" or case.maybe
    ),
    "what was delivered again carried one id": lambda case, _: len({one.id for one in case.seen}) <= 1,
    "a sent digest's batch id is of a message that was delivered": lambda case, _: (
        case.status != "sent" or _batch_delivered(case)
    ),
    "what is suppressed was never seen": lambda case, _: case.status != "suppressed" or not case.seen,
    "what is to be suppressed is": lambda case, _: (
        case.record is None or (case.asked("suppress") is not None) == (case.status == "suppressed")
    ),
    "what was stale was not sent": _seen_in_time,
    "no attempt begins while the lease of another lasts": lambda case, _: _leases_kept(case),
    "every attempt that was charged is told of": lambda case, _: (
        len(case.attempts) == (case.record or {}).get("attempt_count", 0)
    ),
    "no more attempts than allowed": lambda case, _: (case.record or {}).get("attempt_count", 0) <= MOST_ATTEMPTS,
    "no more requests than its attempts can have made": lambda case, _: (
        len(case.seen) <= REQUESTS_AN_ATTEMPT * (case.record or {}).get("attempt_count", 0)
    ),
}


@dataclass(frozen=True, slots=True)
class Account:
    """The cases of a run, and what does not add up: offending cases by the rule that they break."""

    cases: Sequence[Case]
    broken: Mapping[str, Sequence[Case]] = field(default_factory=dict)

    def count(self, status: str, channel: str | None = None) -> int:
        """Return how many records have a status; `pending` stands for `retrying` too."""
        wanted = OPEN if status == "pending" else (status,)
        return sum(case.status in wanted for case in self.of(channel))

    def of(self, channel: str | None) -> Iterable[Case]:
        """Return the cases of a channel, or all."""
        return (case for case in self.cases if channel in (None, case.key[0]))

    def taken(self, channel: str | None = None) -> int:
        """Return how many notifications were taken in."""
        return sum(case.taken for case in self.of(channel))

    @property
    def sum_is_right(self) -> bool:
        """Tell whether what was taken in is what was sent, is dead, suppressed, or waits."""
        return self.taken() == sum(map(self.count, ("sent", "dead_lettered", "suppressed", "pending")))


def settle(cases: Sequence[Case], lease: float) -> Account:
    """Return the account of these cases; an attempt that began in time may last for `lease` seconds."""
    broken = {rule: [case for case in cases if not holds(case, lease)] for rule, holds in RULES.items()}
    return Account(cases, {rule: offending for rule, offending in broken.items() if offending})


def seen_by_key(exchanges: Iterable[Exchange]) -> Mapping[Key, Sequence[Seen]]:
    """Return what the endpoint got, by notification: each member of a digest has seen its request."""
    found: dict[Key, list[Seen]] = defaultdict(list)
    for exchange in exchanges:
        data = json.loads(exchange.body)["data"]
        for member in data.get("notifications", [data]):
            fault = exchange.met.fault.value if exchange.met else None
            seen = Seen(exchange.at, exchange.status, member["id"], data.get("batch_id"), fault)
            found[member["channel"], member["dedup_key"]].append(seen)
    return found


def cases(
    notifications: Mapping[Key, Mapping[str, Any]],
    told: Mapping[Key, Sequence[Mapping[str, Any]]],
    handed_back: Collection[Key],
    records: Mapping[Key, Mapping[str, Any]],
    seen: Mapping[Key, Sequence[Seen]],
) -> list[Case]:
    """Return one case for each notification that was asked for, stored or seen.

    What a queue has handed back to its dead-letter queue counts as taken in only if it was stored nevertheless.
    """
    keys = sorted({*notifications, *records, *seen})
    return [
        Case(
            key,
            notifications.get(key),
            key in records or (key in notifications and key not in handed_back),
            told.get(key, ()),
            records.get(key),
            seen.get(key, ()),
        )
        for key in keys
    ]
