"""What happened so far in one interleaving, as far as a rule depends on it."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from redeliver.core import moments
from redeliver.core.notification import Key, Notification
from redeliver.core.outcome import Outcome
from tests.explorer.replay import Operation
from tests.explorer.stage import Facts


class Violation(Exception):
    """Something that must hold does not."""


def need(what: object, otherwise: str) -> None:
    """Raise Violation unless it holds."""
    if not what:
        raise Violation(otherwise)


def stored_in(facts: Facts, key: Key, otherwise: str) -> Notification:
    """Return a record; raises Violation if there is none."""
    record = facts.record(key)
    if record is None:
        raise Violation(otherwise)
    return record


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt that has begun, on the claim it was begun on."""

    actor: str
    key: Key
    created_at: datetime
    redrives: int
    number: int
    until: datetime
    begun: datetime
    outcome: Outcome | None = None
    settled: bool = False

    def of(self, record: Notification) -> bool:
        """Tell whether it is an attempt of this record, since its last redrive."""
        return (self.key, self.created_at, self.redrives) == (record.key, record.created_at, record.redrive_count)


@dataclass(frozen=True, slots=True)
class Event:
    """An operation that an actor did, and what came of it."""

    actor: str
    operation: Operation
    result: Any
    now: datetime
    began: datetime  # when the actor did: the moment of its request


@dataclass(frozen=True, slots=True)
class End:
    """An actor that has returned, or failed, and when it had begun."""

    actor: str
    value: object
    now: datetime
    began: datetime


Pairs = tuple[tuple[Any, Any], ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """The attempts, when what was last asked for, and how findings really are."""

    attempts: tuple[Attempt, ...] = ()
    asked: Pairs = ()  # by key
    truth: Pairs = ()  # by finding: when it changed, and whether it is active

    def keeps(self, record: Notification) -> bool:
        """Tell whether a finding keeps a record: it is active or unknown, or was resolved before the last request."""
        changed, active = dict(self.truth).get(record.finding_id, ("", True))
        return record.finding_id is not None and (active or changed < moments.text_of(dict(self.asked)[record.key]))

    def with_attempt(self, old: Attempt | None, new: Attempt) -> "Seen":
        """Return this with another attempt, or with one as it is now."""
        others = tuple(new if known is old else known for known in self.attempts)
        return replace(self, attempts=others if old else (*others, new))

    def with_request(self, key: Key, moment: datetime) -> "Seen":
        """Return this with a record asked for: the latest counts."""
        return replace(self, asked=_with(self.asked, key, max(dict(self.asked).get(key, moment), moment)))

    def with_news(self, finding_id: str, changed_at: str, active: bool) -> "Seen":
        """Return this with news of a finding: the latest counts, and at equal times active."""
        latest = max(dict(self.truth).get(finding_id, ("", False)), (changed_at, active))
        return replace(self, truth=_with(self.truth, finding_id, latest))


def _with(pairs: Pairs, name: Any, value: Any) -> Pairs:
    return tuple(sorted({**dict(pairs), name: value}.items()))
