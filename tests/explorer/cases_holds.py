"""A channel's row, written by two."""

from dataclasses import replace

from redeliver.core.hold import FAILING, FAILURES_IN_A_ROW
from redeliver.ports import ChannelState
from tests.builders import at
from tests.explorer import acts
from tests.explorer.acts import hold, holding, send, sweep
from tests.explorer.case import BEYOND_A_LEASE, Case

PROBE_DUE = ChannelState("ops", at(-1), FAILING, FAILURES_IN_A_ROW)
SEND = send(dedup_key="k2")

OF_PROBES = (
    Case(
        name="two sweeps, a probe that is due",
        actors={"sweep A": sweep, "sweep B": sweep},
        begin=holding(acts.ONE, acts.TWO, state=PROBE_DUE),
        answers=(acts.SENT_OFF, acts.DOWN),
        schedules=2_000_000,
    ),
    Case(
        name="two sweeps, a probe that takes longer than its minute",
        actors={"sweep A": sweep, "sweep B": sweep},
        begin=holding(acts.ONE, state=PROBE_DUE),
        answers=(acts.SENT_OFF, acts.DOWN),
        passes=BEYOND_A_LEASE,
        schedules=400_000,
    ),
    Case(
        name="two sweeps, a probe to a recipient that asks to wait",
        actors={"sweep A": sweep, "sweep B": sweep},
        begin=holding(*(replace(one, recipient=one.dedup_key) for one in (acts.ONE, acts.TWO)), state=PROBE_DUE),
        answers=(acts.SENT_OFF, acts.BUSY),
        schedules=2_000_000,
    ),
    Case(
        name="a probe and a new request",
        actors={"sweep": sweep, "send": SEND},
        begin=holding(acts.ONE, state=PROBE_DUE),
        answers=(acts.SENT_OFF, acts.DOWN, acts.GONE),
        passes=BEYOND_A_LEASE,
        again=("send",),
        schedules=10_000,
    ),
    Case(
        name="a probe and an operator's hold",
        actors={"sweep": sweep, "operator": hold},
        begin=holding(acts.ONE, state=PROBE_DUE),
        answers=(acts.SENT_OFF, acts.DOWN, acts.BUSY),
        passes=BEYOND_A_LEASE,
        faults=1,
        schedules=10_000,
    ),
)

OF_HOLDS = (
    Case(
        name="a sweep and a send that hold the channel",
        actors={"sweep": sweep, "send": SEND},
        begin=holding(acts.ONE),
        answers=(acts.SENT_OFF, acts.BUSY, acts.GONE),
        again=("send",),
        faults=1,
        schedules=5_000_000,
    ),
    Case(
        name="a sweep that holds the channel, and an operator",
        actors={"sweep": sweep, "operator": hold},
        begin=holding(acts.ONE),
        answers=(acts.BUSY, acts.GONE),
        faults=1,
        schedules=1_000,
    ),
)
