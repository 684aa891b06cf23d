"""The search itself: that it leaves nothing out, and that its rules can be broken."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from redeliver.core.notification import Dispatch, Key, Notification, Status
from tests.builders import at
from tests.explorer.acts import ONE, TWO, cancel, holding, send, sweep
from tests.explorer.broken import Careless
from tests.explorer.case import Case
from tests.explorer.cases import CASES
from tests.explorer.replay import Act, Strayed
from tests.explorer.search import Broken, Search
from tests.explorer.stage import Stage
from tests.world import World

SMALL = [case for case in CASES if case.schedules < 5_000]


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_merging_points_leaves_no_schedule_out(case: Case) -> None:
    merged, each = Search(case).run(), Search(case, merging=False).run()
    assert (merged.schedules, merged.longest) == (each.schedules, each.longest)
    assert each.ends == each.schedules > merged.ends


def test_an_actor_dies_at_every_point_of_its_way() -> None:
    alone = Case(name="a send", actors={"send": send()}, begin=holding(), schedules=8)
    # Before each of open, add, deliver, answer and settle; after each write and the message; or not at all.
    assert Search(alone).run().schedules == 5 + 3 + 1


def test_the_interleaving_is_named_step_by_step() -> None:
    careless = Careless(("attempt_count", "claimed_until"))
    case = Case(
        name="a sweep and a cancel",
        actors={"sweep": sweep, "cancel": cancel},
        begin=holding(ONE),
        schedules=1,
        stage=lambda: Stage(make=careless),
    )
    with pytest.raises(Broken) as found:
        Search(case).run()
    assert str(found.value).splitlines() == [
        "a sweep and a cancel: ended after its end, or under the lease of another",
        "step  actor      what it does, and what it is told",
        "   1  sweep      states.all → [ops free, failures 0]",
        "   2  sweep      lanes.page ops → [k1]",
        "   3  sweep      lanes.fetch [k1] → [k1 pending#0 due +0s]",
        "   4  cancel     ledger.get k1 → k1 pending#0 due +0s",
        "   5  sweep      ledger.replace k1: pending#0 due +0s ⇒ pending#1 claimed until +66s → True",
        "   6  cancel     ledger.replace k1: pending#0 due +0s ⇒ suppressed#0 expires +7.776e+06s → True",
    ]


def read(world: World) -> Notification:
    """Return k1 as it is stored."""
    row = world.ledger.get(Key("ops", "k1"))
    assert isinstance(row, Notification)
    return row


def writes(**changes: Any) -> Act:
    """Return what changes k1 in a way that no arrow does."""
    return lambda world: world.ledger.replace(before := read(world), replace(before, **changes))


def claims_and_forgets(world: World) -> None:
    """Claim, send, and say nothing of it."""
    claimed = world.deliver().claim(world.channel, read(world), world.deadline())
    if claimed is not None:
        world.channel.deliver(Dispatch((claimed,)))


def sends_without_a_claim(world: World) -> None:
    """Send what nobody has claimed."""
    world.channel.deliver(Dispatch((read(world),)))


def reads_what_is_not_there(world: World) -> None:
    """Fail by a fault of its own."""
    assert world.ledger.get(Key("ops", "k3")) is not None


@pytest.mark.parametrize(
    ("act", "expected"),
    [
        (writes(attempt_count=1, next_attempt_at=at(1e9)), "in the end: stuck"),
        (writes(attempt_count=4, claimed_until=at(60)), "a claim is not counted|more attempts are counted than"),
        (writes(status=Status.SENT, next_attempt_at=None, sent_at=at(0)), "in the end: marked as sent, and was not"),
        (writes(status=Status.SENT, next_attempt_at=None), "sent, and nobody knows when"),
        (writes(status=Status.SUPPRESSED), "waits for nothing, or waits though final"),
        (claims_and_forgets, "ended without having written what its attempt came to"),
        (sends_without_a_claim, "attempted without a live lease"),
        (reads_what_is_not_there, "failed: AssertionError"),
    ],
)
def test_an_actor_that_breaks_a_rule_is_found(act: Act, expected: str) -> None:
    case = Case(name="one", actors={"one": act, "sweep": sweep}, begin=holding(ONE, TWO), schedules=1)
    with pytest.raises(Broken, match=expected):
        Search(case).run()


def test_an_actor_that_depends_on_more_than_it_is_told_is_not_explored() -> None:
    numbers: Iterator[int] = count()
    case = Case(
        name="one",
        actors={"one": lambda world: [world.ledger.get(Key("ops", f"k{next(numbers)}")) for _ in range(3)]},
        begin=holding(),
        schedules=1,
    )
    with pytest.raises(Strayed):
        Search(case).run()
