"""Retention against everybody else."""

from datetime import timedelta

from tests.builders import finding
from tests.explorer import acts
from tests.explorer.acts import heal, holding, news, redrive, send, sweep
from tests.explorer.case import BEYOND_A_LEASE, Case

ASK = send(finding_id="CVE-1")
RESOLVED_LONG_AGO = finding(changed=-3600)

OF_REQUESTS = tuple(
    Case(
        name=f"a finding resolved {when} a request that names it again",
        actors={"resolved": news("resolved", changed), "send": ASK},
        begin=holding(acts.SENT_OF_A_FINDING),
        passes=timedelta(hours=1),
        again=("send",),
        faults=1,
        schedules=5_000,
    )
    for when, changed in (("before", -5), ("just before", 0.2), ("after", 5))
) + tuple(
    Case(
        name=f"a finding resolved {when} the first request that names it",
        actors={"resolved": news("resolved", changed), "send": ASK},
        begin=holding(),
        again=("send",),
        index_lags=lags,
        schedules=500,
    )
    for when, changed, lags in (("before", -5, False), ("after", 5, True))
)

OF_OLD_REQUESTS = (
    Case(
        name="a finding resolved between two requests that name it",
        actors={"send A": ASK, "send B": ASK},
        begin=holding(acts.SENT_OF_A_FINDING, known=finding(changed=30)),
        passes=BEYOND_A_LEASE,
        again=("send A", "send B"),
        schedules=5_000,
    ),
)

OF_EXPIRED = tuple(
    Case(
        name=f"a request over an expired record whose finding is {status}",
        actors={"send": ASK, status: news(status, changed)},
        begin=holding(acts.EXPIRED_SOON, known=RESOLVED_LONG_AGO),
        passes=BEYOND_A_LEASE,
        again=("send",),
        faults=1,
        schedules=9_000,
    )
    for status, changed in (("resolved", 100), ("active", 1))
)

OF_NEWS = tuple(
    Case(
        name=f"a finding resolved, and active {when}",
        actors={"resolved": news("resolved", 0), "active": news("active", changed)},
        begin=holding(acts.SENT_OF_A_FINDING),
        faults=1,
        schedules=300,
    )
    for when, changed in (("later", 1), ("at the same moment", 0), ("before that", -1))
)

OF_SETTLES = (
    Case(
        name="a finding resolved while its record is settled",
        actors={"resolved": news("resolved", 5), "sweep": sweep},
        begin=holding(acts.OPEN_OF_A_FINDING),
        answers=(acts.SENT_OFF, acts.REFUSED),
        passes=BEYOND_A_LEASE,
        schedules=20_000,
    ),
    Case(
        name="a settle and a request that names a finding for the first time",
        actors={"sweep": sweep, "send": ASK},
        begin=holding(acts.ONE),
        answers=(acts.SENT_OFF, acts.DOWN, acts.REFUSED),
        passes=BEYOND_A_LEASE,
        schedules=800_000,
    ),
)

OF_DAILY_PASSES = (
    Case(
        name="the daily pass and a request",
        actors={"heal": heal, "send": ASK},
        begin=holding(acts.SENT_OF_A_FINDING, known=RESOLVED_LONG_AGO),
        faults=1,
        schedules=2_000,
    ),
    Case(
        name="the daily pass and an active finding",
        actors={"heal": heal, "active": news("active", 0)},
        begin=holding(acts.SENT_OF_A_FINDING, known=RESOLVED_LONG_AGO),
        faults=1,
        schedules=300,
    ),
    Case(
        name="the daily pass and a sweep",
        actors={"heal": heal, "sweep": sweep},
        begin=holding(acts.OPEN_OF_A_FINDING, known=RESOLVED_LONG_AGO),
        faults=1,
        schedules=10_000,
    ),
    Case(
        name="the daily pass, a request, and news of both kinds",
        actors={"heal": heal, "send": ASK, "resolved": news("resolved", 1), "active": news("active", 2)},
        begin=holding(acts.SENT_OF_A_FINDING, known=RESOLVED_LONG_AGO),
        again=("send",),
        schedules=200_000_000,
    ),
    Case(
        name="a redrive, a request, news and a sweep",
        actors={"redrive": redrive, "send": ASK, "resolved": news("resolved", 5), "sweep": sweep},
        begin=holding(acts.DEAD_LETTER),
        again=("send",),
        schedules=5_000_000_000,
    ),
    Case(
        name="the daily pass, a redrive and a sweep",
        actors={"heal": heal, "redrive": redrive, "sweep": sweep},
        begin=holding(acts.DEAD_OF_A_FINDING, known=RESOLVED_LONG_AGO),
        schedules=50_000,
    ),
)
