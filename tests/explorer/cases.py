"""All cases, and what makes the deeper one of each."""

from dataclasses import replace

from tests.explorer.case import BEYOND_A_LEASE, Case
from tests.explorer.cases_attempts import OF_OPERATORS, OF_SENDS, OF_SWEEPS
from tests.explorer.cases_findings import OF_DAILY_PASSES, OF_EXPIRED, OF_NEWS, OF_OLD_REQUESTS, OF_REQUESTS, OF_SETTLES
from tests.explorer.cases_holds import OF_HOLDS, OF_PROBES

CASES = (
    *OF_SWEEPS,
    *OF_SENDS,
    *OF_OPERATORS,
    *OF_REQUESTS,
    *OF_OLD_REQUESTS,
    *OF_EXPIRED,
    *OF_NEWS,
    *OF_SETTLES,
    *OF_DAILY_PASSES,
    *OF_PROBES,
    *OF_HOLDS,
)


def deeper(case: Case) -> Case:
    """Return a case in which time may pass and a write may fail, whether or not it was one of those before."""
    return replace(case, passes=case.passes or BEYOND_A_LEASE, faults=1)
