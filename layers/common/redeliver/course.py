"""What one run learns of one channel: failures in a row, a probe, a hold (SPEC 5)."""

import threading
from collections.abc import Sequence
from datetime import datetime, timedelta

from redeliver.core import moments
from redeliver.core.hold import FAILING, FAILURES_IN_A_ROW, GONE, GONE_FOR, WAIT, Hold, failing_for
from redeliver.core.outcome import Delivered, Reject, Retry
from redeliver.deliver import Settled, longest_wait, target_is_gone
from redeliver.ports import ChannelState


class Course:
    """The course of a channel through one run; shared by its threads.

    `probing` says that one attempt goes first, and others only if it shows that somebody is there.
    """

    def __init__(self, state: ChannelState, *, probing: bool = False) -> None:
        """Begin where the channel's row is."""
        self.state = state
        self.probing = probing
        self.failures = state.failures
        self.hold: Hold | None = None
        self.answered = False
        self._begun = False
        self._lock = threading.Lock()

    def begin(self) -> bool:
        """Tell whether another attempt may start."""
        with self._lock:
            if self.hold is not None or (self.probing and self._begun and not self.answered):
                return False
            self._begun = True
            return True

    def take_back(self) -> None:
        """Say that what began was not sent after all: a probe is still to be made."""
        with self._lock:
            self._begun = False

    def alone(self) -> bool:
        """Tell whether nothing else may be in flight: nobody has answered the probe yet."""
        with self._lock:
            return self.probing and not self.answered

    def note(self, settled: Sequence[Settled], now: datetime, longest: timedelta) -> None:
        """Take in what an attempt came to; `longest` bounds a wait that the endpoint names."""
        with self._lock:
            in_flight = self.hold is not None  # it began before the hold did: that was one trouble, not many
            if any(isinstance(one.outcome, Delivered) for one in settled):
                self.failures, self.answered = 0, True
            elif any(isinstance(one.outcome, Reject) for one in settled):
                self.answered = True  # somebody is there, and has nothing against others
            elif any(map(_is_failure, settled)) and not in_flight:
                self.failures += 1
                if self.failures >= FAILURES_IN_A_ROW:
                    self._leave_alone(now + failing_for(self.failures), FAILING)
            wait = longest_wait(settled)
            if wait is not None:
                self._leave_alone(now + min(wait, longest), WAIT)
            if target_is_gone(settled):
                self._leave_alone(now + GONE_FOR, GONE)

    def _leave_alone(self, until: datetime, reason: str) -> None:
        until = moments.ceil(until)
        if self.hold is None or self.hold.until < until:
            self.hold = Hold(until, reason)


def _is_failure(one: Settled) -> bool:
    """Tell whether an attempt says that the channel is in trouble: one recipient's rate limit does not."""
    return isinstance(one.outcome, Retry) and not (one.record.recipient and one.outcome.wait)
