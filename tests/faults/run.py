"""One run from its seed to its account."""

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from infra.local.faults.plan import Fault
from tests.faults import logs
from tests.faults.account import Account, cases, seen_by_key, settle
from tests.faults.stage import FUNCTIONS, TIMEOUT, Stage
from tests.faults.storm import Storm

LONGEST_ATTEMPT = TIMEOUT + 10.0  # seconds from a claim to a request of its attempt that the proxy delayed most


@dataclass(frozen=True, slots=True)
class Run:
    """What a run came to: `met` are requests and faults by proxy, `ends` and `events` are from the functions' logs."""

    seed: int
    asked: int  # times, for all notifications together
    seconds: Mapping[str, float]
    met: Mapping[str, tuple[int, Counter[Fault]]]
    ends: Mapping[str, Counter[str]]
    events: Mapping[str, Counter[str]]
    kills: int  # of processes, idle ones included
    unrecorded: int  # requests that the endpoint got and the proxy did not forward, or the other way round
    account: Account

    @property
    def adds_up(self) -> bool:
        """Tell whether all is as promised, and everything was seen that happened."""
        return self.account.sum_is_right and not (self.account.broken or self.unforeseen or self.unrecorded)

    @property
    def unforeseen(self) -> list[str]:
        """Return the errors that functions ended with and should not have."""
        return logs.unforeseen(end for ends in self.ends.values() for end in ends)


def run(seed: int, number: int) -> Run:
    """Deploy, let the storm pass, drain, and draw up the account."""
    began = time.monotonic()
    with Stage(seed) as stage:
        storm = Storm(stage, seed, number)
        up = time.monotonic() - began
        storm.run()
        exchanges = stage.hook.exchanges
        found = cases(
            {ask.key: ask.notification for ask in storm.asks},
            storm.told,
            stage.handed_back(),
            stage.records(),
            seen_by_key(exchanges),
        )
        lines = {function: stage.stack.logs(function) for function in FUNCTIONS}
        return Run(
            seed,
            sum(ask.times for ask in storm.asks),
            {"deploy": up, **storm.seconds},
            {"store": stage.store.plan.met(), "endpoint": stage.hook.plan.met()},
            {function: logs.ends(said) for function, said in lines.items()},
            {function: logs.events(said) for function, said in lines.items()},
            storm.killer.kills,
            abs(len(stage.endpoint.requests()) - len(exchanges)),
            settle(found, LONGEST_ATTEMPT),
        )
