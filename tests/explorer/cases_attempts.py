"""Sweeps, sends and operators on the same records."""

from redeliver.ports import Mode
from tests.explorer import acts
from tests.explorer.acts import cancel, holding, redrive, sweep
from tests.explorer.case import BEYOND_A_LEASE, Case

SWEEPS = {"sweep A": sweep, "sweep B": sweep}
SENDS = {"send A": acts.send(), "send B": acts.send()}
EITHER = (acts.SENT_OFF, acts.DOWN)

OF_SWEEPS = (
    Case(
        name="two sweeps, two due records",
        actors=SWEEPS,
        begin=holding(acts.ONE, acts.TWO),
        answers=EITHER,
        schedules=10_000_000,
    ),
    Case(
        name="two sweeps, a settle after its lease",
        actors=SWEEPS,
        begin=holding(acts.ONE),
        answers=EITHER,
        passes=BEYOND_A_LEASE,
        schedules=150_000,
    ),
    Case(
        name="two sweeps, the last attempt",
        actors=SWEEPS,
        begin=holding(acts.LAST_CHANCE),
        answers=EITHER,
        passes=BEYOND_A_LEASE,
        schedules=150_000,
    ),
    Case(
        name="two sweeps, a notification that grows stale",
        actors=SWEEPS,
        begin=holding(acts.STALE_SOON),
        answers=(*EITHER, acts.REFUSED),
        passes=BEYOND_A_LEASE,
        faults=1,
        schedules=900_000,
    ),
    Case(
        name="two sweeps, an index that lags",
        actors=SWEEPS,
        begin=holding(acts.ONE),
        answers=EITHER,
        passes=BEYOND_A_LEASE,
        index_lags=True,
        schedules=150_000,
    ),
    Case(
        name="two sweeps, a write that fails",
        actors=SWEEPS,
        begin=holding(acts.ONE),
        answers=EITHER,
        passes=BEYOND_A_LEASE,
        faults=1,
        schedules=1_000_000,
    ),
    Case(
        name="two sweeps, a row that cannot be read",
        actors=SWEEPS,
        begin=holding(unreadable=True),
        faults=1,
        schedules=5_000,
    ),
    Case(
        name="two sweeps, a digest of two",
        actors=SWEEPS,
        begin=holding(acts.ONE, acts.TWO),
        answers=EITHER,
        mode=Mode.DIGEST,
        passes=BEYOND_A_LEASE,
        schedules=4_000_000,
    ),
    Case(
        name="two sweeps, a digest of two that may be refused",
        actors=SWEEPS,
        begin=holding(acts.ONE, acts.TWO),
        answers=(acts.SENT_OFF, acts.REFUSED),
        mode=Mode.DIGEST,
        schedules=6_000_000,
    ),
)

OF_SENDS = (
    Case(
        name="a request delivered twice",
        actors=SENDS,
        begin=holding(),
        answers=(acts.SENT_OFF, acts.DOWN, acts.REFUSED),
        passes=BEYOND_A_LEASE,
        again=tuple(SENDS),
        schedules=10_000,
    ),
    Case(
        name="a request delivered twice, over an expired record",
        actors=SENDS,
        begin=holding(acts.EXPIRED),
        passes=BEYOND_A_LEASE,
        again=tuple(SENDS),
        schedules=4_000,
    ),
    Case(
        name="a request delivered twice, a write that fails",
        actors=SENDS,
        begin=holding(),
        answers=EITHER,
        again=tuple(SENDS),
        faults=1,
        schedules=8_000,
    ),
    Case(
        name="a request delivered twice, and a sweep",
        actors={**SENDS, "sweep": sweep},
        begin=holding(),
        passes=BEYOND_A_LEASE,
        again=tuple(SENDS),
        schedules=4_000_000,
    ),
    Case(
        name="a sweep and a duplicate request",
        actors={"sweep": sweep, "send": acts.send(finding_id="CVE-1")},
        begin=holding(acts.ONE),
        answers=EITHER,
        passes=BEYOND_A_LEASE,
        again=("send",),
        schedules=500_000,
    ),
)

OF_OPERATORS = (
    Case(
        name="a sweep and a redrive",
        actors={"sweep": sweep, "redrive": redrive},
        begin=holding(acts.DEAD_LETTER),
        answers=EITHER,
        faults=1,
        schedules=400,
    ),
    Case(
        name="two redrives and a sweep",
        actors={"redrive A": redrive, "redrive B": redrive, "sweep": sweep},
        begin=holding(acts.DEAD_LETTER),
        answers=(acts.SENT_OFF, acts.DOWN, acts.REFUSED),
        schedules=20_000,
    ),
    Case(
        name="a late settle, a sweep that gives up, a redrive",
        actors={**SWEEPS, "redrive": redrive},
        begin=holding(acts.LAST_CHANCE),
        passes=BEYOND_A_LEASE,
        schedules=1_000_000,
    ),
    Case(
        name="a sweep and a cancel",
        actors={"sweep": sweep, "cancel": cancel},
        begin=holding(acts.ONE),
        answers=EITHER,
        passes=BEYOND_A_LEASE,
        schedules=5_000,
    ),
    Case(
        name="a request, a sweep and a cancel",
        actors={"send": acts.send(), "sweep": sweep, "cancel": cancel},
        begin=holding(),
        answers=(*EITHER, acts.REFUSED),
        passes=BEYOND_A_LEASE,
        again=("send",),
        schedules=2_000_000,
    ),
    Case(
        name="a redrive, a cancel and a sweep",
        actors={"redrive": redrive, "cancel": cancel, "sweep": sweep},
        begin=holding(acts.DEAD_LETTER),
        passes=BEYOND_A_LEASE,
        schedules=20_000,
    ),
)
