"""Short scenes of the same system, in many more ways than the long sequences come to."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from redeliver.core.notification import Key
from redeliver.core.outcome import Outcome
from tests.builders import raw
from tests.model.machine import BASES, DAILY, DOWN, OPS, OUTCOMES
from tests.model.process import OFF, Trouble, troubles
from tests.model.rivals import RACES, Race
from tests.model.rules import OTHERS
from tests.model.test_state_machine import ALIKE, Machine


@contextmanager
def system(base: int = 300, *, to_the_end: bool = True) -> Iterator[Machine]:
    """Give a system, and see afterwards that all was as promised, and comes to its end."""
    machine = Machine()
    try:
        machine.begin(base)
        yield machine
        machine.all_is_as_promised()
        if to_the_end:
            machine.weather_clears()
    finally:
        machine.opened.close()


@settings(max_examples=1500, **ALIKE)
@given(base=st.sampled_from(BASES), race=RACES)
def test_what_is_written_is_what_was_read(base: int, race: Race) -> None:
    with system(base, to_the_end=False) as machine:
        machine.much_happens_between_reading_and_writing(race)


@settings(max_examples=100, **ALIKE)
@given(seconds=st.integers(50, 70), off=st.sampled_from([OFF, 0.0, -OFF]), first=st.booleans())
def test_a_lease_outlives_its_invocation_by_any_clock(seconds: int, off: float, first: bool) -> None:
    with system() as machine:
        machine.outcomes = [DOWN]
        machine.ask(raw())
        machine.world.clock.pass_by(300 + OFF)
        if first:
            machine.lethal = True
            machine.sweep_once(Trouble(off=-off))
            machine.lethal = False
        else:
            machine.another_claims(OPS[0], Trouble(off=-off))
        machine.world.clock.pass_by(seconds)
        machine.sweep_once(Trouble(off=off))


@settings(max_examples=200, **ALIKE)
@given(
    minutes=st.integers(1, 9),
    age=st.sampled_from([None, 60, 7200]),
    outcome=OUTCOMES,
    trouble=troubles(24, ["sweep", "sweep", "hold", *OTHERS]),
)
def test_one_goes_first_after_an_outage(minutes: int, age: int | None, outcome: Outcome, trouble: Trouble) -> None:
    with system() as machine:
        machine.a_busy_time(weather=DOWN, finding=None, after=400, minutes=minutes)
        machine.name_an_age(None if age is None else timedelta(seconds=age))
        machine.world.clock.pass_by(3600)
        machine.outcomes = [outcome]
        machine.sweep_once(trouble)


@settings(max_examples=200, **ALIKE)
@given(
    status=st.sampled_from(["resolved", "deleted", "active"]),
    key=st.sampled_from([OPS[0], DAILY[0]]),
    trouble=troubles(9, OTHERS),
    pass_too=st.booleans(),
    lags=st.booleans(),
)
def test_no_news_is_overtaken(status: str, key: Key, trouble: Trouble, pass_too: bool, lags: bool) -> None:
    with system() as machine:
        if lags:
            machine.something_rare(what="lag", age=None)
        machine.ask(raw(channel=key.channel, dedup_key=key.dedup_key, finding_id="F1"))
        machine.sweep_once()
        machine.world.clock.pass_by(60)
        if pass_too:
            machine.change("F1", status, 0, Trouble(refused_from=2))
            machine.world.clock.pass_by(3600)
            machine.heal(trouble)
        else:
            machine.change("F1", status, 0, trouble)
            machine.heal()
