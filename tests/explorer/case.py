"""What a case consists of: who acts, on what, and what the scheduler may do beside choosing who goes on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from redeliver.core.outcome import Delivered, Outcome
from redeliver.core.policy import Policy
from redeliver.ports import Mode
from tests.explorer.replay import Act
from tests.explorer.stage import Stage
from tests.world import World

POLICY = Policy(base_delay=timedelta(minutes=5), max_delay=timedelta(minutes=30), max_attempts=3)
BEYOND_A_LEASE = timedelta(seconds=66)  # an invocation has 60 s, a lease 5 s more; a probe 60 s


@dataclass(frozen=True, kw_only=True)
class Case:
    """Every order of what `actors` do is tried, and each of them may die at any point.

    `answers` are what the endpoint may say, each time anew; `passes` may pass at one point; `faults` is how many writes
    may be answered by an error, done or not. `again` names the actors whose request the queue delivers once more, if
    they died or failed. There are at least so many `schedules`: a case that explores nothing would break no rule.
    """

    name: str
    actors: Mapping[str, Act]
    begin: Callable[[World], object]
    schedules: int
    answers: tuple[Outcome, ...] = (Delivered(),)
    passes: timedelta | None = None
    faults: int = 0
    again: tuple[str, ...] = ()
    mode: Mode = Mode.IMMEDIATE
    policy: Policy = POLICY
    index_lags: bool = False  # the indexes show until the end what they showed at the beginning
    stage: Callable[[], Stage] = field(default=Stage)
