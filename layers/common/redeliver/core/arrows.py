"""The arrows of the state machine by name: which states each leaves, and which it leads to (SPEC 3).

`lifecycle` holds what they do; tests hold both, and the diagram in the documents, to each other.
"""

from dataclasses import dataclass

from redeliver.core.notification import OPEN, Status


@dataclass(frozen=True, slots=True)
class Arrow:
    """One arrow: the states it leaves (none: there is no record) and the states it may lead to."""

    name: str
    before: frozenset[Status]
    after: frozenset[Status]


_NONE: frozenset[Status] = frozenset()
ARROWS = (
    Arrow("accept", _NONE, frozenset({Status.PENDING, Status.SUPPRESSED, Status.DEAD_LETTERED})),
    Arrow("claim", OPEN, OPEN),
    Arrow("settle", OPEN, frozenset({Status.SENT, Status.RETRYING, Status.DEAD_LETTERED})),
    Arrow("give up", OPEN, frozenset({Status.DEAD_LETTERED})),
    Arrow("stale", OPEN, frozenset({Status.DEAD_LETTERED})),
    Arrow("park", frozenset(Status), frozenset({Status.DEAD_LETTERED})),  # the store's: there is no record to decide on
    Arrow("redrive", frozenset({Status.DEAD_LETTERED}), frozenset({Status.PENDING})),
    Arrow("cancel", OPEN, frozenset({Status.SUPPRESSED})),
)
