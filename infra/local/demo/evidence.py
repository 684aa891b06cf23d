"""What was really seen: the table's history, what the endpoint received, what CloudWatch and the logs hold."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

from infra.local.demo.cast import ADS, Request, Secrets, Way

State = Mapping[str, Any]
Key = tuple[str, str]
Metric = tuple[str, tuple[str, ...]]  # name, values of the dimensions beside `service`


def key_of(request: Request) -> Key:
    """Return the identity of a notification."""
    return request["channel"], request["dedup_key"]


@dataclass(frozen=True, slots=True)
class Asked:
    """Something that was asked of redeliver; only a direct call is answered."""

    at: float
    way: Way
    request: Request
    answer: Mapping[str, Any] | None = None

    @property
    def result(self) -> str | None:
        """Return the word of the answer."""
        return self.answer["result"] if self.answer else None


@dataclass(frozen=True)
class Call:
    """A request that the endpoint received."""

    at: float
    path: str
    headers: Mapping[str, str]
    body: str

    @cached_property
    def content(self) -> Any:
        """Return the body's JSON."""
        return json.loads(self.body)

    @cached_property
    def members(self) -> tuple[Key, ...]:
        """Return the notifications in a webhook's message."""
        data = self.content.get("data", {})
        return tuple((each["channel"], each["dedup_key"]) for each in data.get("notifications", [data]))


@dataclass(frozen=True, slots=True)
class Plan:
    """A settle that planned another attempt: seconds of the epoch."""

    attempt: int
    settled_at: int
    next_attempt_at: int


@dataclass(frozen=True)
class History:
    """Every state one record was in, oldest first; `forgotten` says that TTL removed it."""

    states: Sequence[State]
    forgotten: bool = False

    @property
    def last(self) -> State:
        """Return the state in which the record is, or was when it was forgotten."""
        return self.states[-1]

    @property
    def key(self) -> Key:
        """Return the identity."""
        return self.last["channel"], self.last["dedup_key"]

    def times_became(self, status: str) -> int:
        """Return how often the record entered a status."""
        before = [None, *(state["status"] for state in self.states)]
        return sum(old != new == status for old, new in pairwise(before))

    @cached_property
    def attempts(self) -> tuple[int, ...]:
        """Return how many attempts were charged, before and after each redrive."""
        most: dict[int, int] = {}
        for state in self.states:
            most[state["redrive_count"]] = max(most.get(state["redrive_count"], 0), state["attempt_count"])
        return tuple(most.values())

    @cached_property
    def plans(self) -> tuple[Plan, ...]:
        """Return the retries that were planned, each once however often the record was written meanwhile."""
        planned = [s for s in self.states if s["status"] == "retrying" and "next_attempt_at" in s]
        waiting = [s for s in planned if "claimed_until" not in s]
        first = {(s["attempt_count"], s["next_attempt_at"]): s for s in reversed(waiting)}
        return tuple(Plan(s["attempt_count"], s["updated_at"], s["next_attempt_at"]) for s in reversed(first.values()))


@dataclass(frozen=True)
class Evidence:
    """All that the verdict is made from."""

    secrets: Secrets
    asked: Sequence[Asked] = ()
    histories: Mapping[Key, History] = field(default_factory=dict)
    calls: Sequence[Call] = ()
    messages: Mapping[str, Sequence[str]] = field(default_factory=dict)
    posts: Mapping[str, Sequence[str]] = field(default_factory=dict)  # what Slack and Discord show, by channel
    up_since: Mapping[str, float] = field(default_factory=dict)
    refused: Sequence[tuple[str, str]] = ()  # bodies and reasons in the dead-letter queue
    logs: Sequence[str] = ()
    metrics: Mapping[Metric, float] = field(default_factory=dict)
    quiet_sweep_calls: int = 0
    problem: str | None = None  # why the story was not told to its end

    def history(self, request: Request) -> History:
        """Return what happened to a notification; raises KeyError if it was never stored."""
        return self.histories[key_of(request)]

    def calls_for(self, history: History) -> list[Call]:
        """Return the requests that carried a notification."""
        if history.last["channel"] == ADS:
            return [c for c in self.calls if c.content.get("chat_id") == history.last["recipient"]]
        return [c for c in self.webhook_calls() if history.key in c.members]

    def webhook_calls(self) -> list[Call]:
        """Return the requests to webhooks."""
        return [call for call in self.calls if call.path.startswith("/hooks/")]

    def taken(self, path: str) -> list[Call]:
        """Return the calls to a webhook that it has accepted."""
        return [call for call in self.calls if call.path == path and call.at >= self.up_since.get(path, float("inf"))]

    def results(self, request: Request) -> list[str]:
        """Return what direct calls about a notification were answered, sorted."""
        return sorted(a.result for a in self.asked if a.result and key_of(a.request) == key_of(request))

    @property
    def forgotten(self) -> int:
        """Return how many records TTL removed."""
        return sum(history.forgotten for history in self.histories.values())

    def lines(self, event: str) -> list[dict[str, Any]]:
        """Return the log lines of an event."""
        found = [json.loads(line) for line in self.logs if f'"message":"{event}"' in line]
        return [line for line in found if line["message"] == event]

    def waits(self, history: History) -> list[float]:
        """Return the seconds the endpoint was left alone between the attempts at a notification."""
        calls = self.calls_for(history)
        return list(_gaps(calls, [plan.next_attempt_at for plan in history.plans]))


def differs(what: str, found: object, wanted: object) -> Iterator[str]:
    """Yield what is wrong if the two are not equal."""
    if found != wanted:
        yield f"{what}: {found!r} instead of {wanted!r}"


def _gaps(calls: Sequence[Call], starts: Sequence[int]) -> Iterator[float]:
    for start in starts:
        before = [call.at for call in calls if call.at < start]
        after = [call.at for call in calls if call.at >= start]
        if before and after:
            yield min(after) - max(before)
