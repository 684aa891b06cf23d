"""When to try again."""

from datetime import timedelta

_TICK = timedelta(microseconds=1)
_LONGEST_SHIFT = 67  # doublings after which any base has passed any cap a timedelta can hold


def delay(attempts: int, base: timedelta, cap: timedelta) -> timedelta:
    """Return `min(base * 2^(attempts-1), cap)`, the wait after that many attempts (SPEC 3).

    Total: nothing attempted, or fewer than nothing, waits like the first attempt. Neither is ever negative.
    """
    doublings = min(max(attempts - 1, 0), _LONGEST_SHIFT)
    ticks = max(base // _TICK, 0) << doublings
    return min(ticks, max(cap // _TICK, 0)) * _TICK


def jittered(wait: timedelta, fraction: float, chance: float) -> timedelta:
    """Return the wait moved by up to `fraction` of itself either way; `chance` in [0, 1) says where in between."""
    return wait * (1 + fraction * (2 * chance - 1))
