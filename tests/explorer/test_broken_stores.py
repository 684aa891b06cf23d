"""The explorer finds what is wrong with a store that is broken on purpose, and names the interleaving."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.explorer import broken
from tests.explorer.broken import Careless
from tests.explorer.cases import CASES
from tests.explorer.search import Broken, Search
from tests.explorer.stage import Stage
from tests.memory import MemoryFindings, MemoryNotifications, MemoryStates

BY_NAME = {case.name: case for case in CASES}


def problem(name: str, stage: Callable[[], Stage]) -> str:
    """Return what the explorer says of a case over a broken store."""
    with pytest.raises(Broken) as found:
        Search(replace(BY_NAME[name], stage=stage)).run()
    return str(found.value)


@pytest.mark.parametrize(
    ("ignored", "name", "expected"),
    [
        ("attempt_count claimed_until", "two sweeps, two due records", "attempted twice within one lease"),
        ("attempt_count claimed_until", "a request delivered twice, and a sweep", "a claim that is lost was settled"),
        ("attempt_count claimed_until", "a sweep and a cancel", "under the lease of another"),
        ("redrive_count", "two redrives and a sweep", "a redrive is not counted"),
        ("redrive_count status", "two redrives and a sweep", "redriven though it is no dead letter"),
        ("finding_id", "a sweep and a duplicate request", "the expiry of a finding's record was set by"),
        ("expires_at", "the daily pass and a request", "asked for again, and not kept"),
        ("expires_at", "the daily pass, a redrive and a sweep", "an open record can be forgotten"),
        ("requested_at", "a finding resolved between two requests that name it", "forgotten though a finding keeps it"),
    ],
)
def test_the_explorer_finds_a_store_that_ignores_its_condition(ignored: str, name: str, expected: str) -> None:
    careless = Careless(tuple(ignored.split()))
    assert expected in problem(name, lambda: Stage(make=careless))


@pytest.mark.parametrize(
    ("store", "name", "expected"),
    [
        (broken.WritesOver, "a sweep and a duplicate request", "a record that is there was written over"),
        (broken.StampsWhatIsAskedFor, "the daily pass and a request", "asked for after the end of it"),
        (broken.StampsByOldNews, "the daily pass and an active finding", "forgotten though its finding is active"),
    ],
)
def test_the_explorer_finds_a_store_that_writes_what_it_must_not(
    store: type[MemoryNotifications], name: str, expected: str
) -> None:
    assert expected in problem(name, lambda: Stage(make=store))


@pytest.mark.parametrize(
    ("findings", "name", "expected"),
    [(broken.BelievesAnyNews, "a finding resolved, and active later", "forgotten though a finding keeps it")],
)
def test_the_explorer_finds_findings_that_go_back_in_time(
    findings: type[MemoryFindings], name: str, expected: str
) -> None:
    assert expected in problem(name, lambda: Stage(findings=findings()))


@pytest.mark.parametrize(
    ("states", "name", "expected"),
    [
        (broken.LetsEverybodyProbe, "two sweeps, a probe that is due", "two probes at once"),
        (broken.EndsAnyHold, "a probe and an operator's hold", "a hold that another has set was ended"),
        (broken.HoldsOverAnyHold, "a sweep that holds the channel, and an operator", "an operator's hold was written"),
        (broken.HoldsOverAnyHold, "a sweep and a send that hold the channel", "a hold was made shorter"),
    ],
)
def test_the_explorer_finds_rows_of_channels_that_anybody_writes(
    states: type[MemoryStates], name: str, expected: str
) -> None:
    assert expected in problem(name, lambda: Stage(states=states()))
