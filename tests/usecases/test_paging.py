"""The records a page at a time: newest first, none twice, none left out."""

import random
from itertools import chain

import pytest

from redeliver.core.notification import OPEN, Key, Status
from redeliver.operator.paging import LIMITS, PAGE, Cursor, Limits, Page, page
from redeliver.operator.search import DEAD, Filter, moment_of
from tests.builders import NOW, at, final, record
from tests.memory_timeline import MemoryTimeline
from tests.world import World

CHANNELS = ["a", "b", "c"]


def look(world: World, wanted: Filter | None = None, cursor: Cursor | None = None, limits: Limits = LIMITS) -> Page:
    timeline = MemoryTimeline(world.memory)
    return page(timeline, world.memory, CHANNELS, wanted or Filter(), cursor or Cursor(), NOW, limits)


def all_of(world: World, wanted: Filter | None = None, limits: Limits = LIMITS) -> list[list[str]]:
    """Return the keys of every page."""
    pages, cursor = [], Cursor()
    while True:
        found = look(world, wanted, cursor, limits)
        pages.append([row.key.dedup_key for row in found.rows])
        if found.next is None:
            return pages
        cursor = found.next


def crowd(world: World, number: int = 230) -> list[str]:
    """Put records into three channels, many of the same second; return their keys, newest first."""
    chance = random.Random(7)
    made = []
    for each in range(number):
        moment = at(chance.randrange(40))
        made.append(
            final(channel=chance.choice(CHANNELS), dedup_key=f"k{each}", sent_at=moment, kind=f"kind-{each % 50}")
        )
    world.put(*made)
    return [
        one.dedup_key for one in sorted(made, key=lambda one: (-moment_of(one).timestamp(), one.channel, one.dedup_key))
    ]


def test_pages_have_all_records_once_the_newest_first() -> None:
    world = World()
    expected = crowd(world)
    pages = all_of(world)
    assert [len(each) for each in pages] == [50, 50, 50, 50, 30]
    assert list(chain(*pages)) == expected


def test_of_ten_thousand_records_paging_reaches_all() -> None:
    world = World()
    expected = crowd(world, 10_000)
    pages = all_of(world, limits=Limits(page=500))
    assert len(pages) == 20
    assert list(chain(*pages)) == expected


def test_a_page_says_its_place_where_that_is_known() -> None:
    world = World()
    crowd(world)
    first = look(world)
    assert (first.ordered, first.first, first.total) == (True, 1, 230)
    assert first.next is not None
    second = look(world, cursor=first.next)
    assert (second.first, second.total) == (51, 230)
    rare = look(world, Filter(kind="kind-3"))
    assert (len(rare.rows), rare.total) == (5, 5)


def test_beyond_one_window_all_records_come_once() -> None:
    world = World()
    expected = crowd(world)
    pages = all_of(world, limits=Limits(table=60))
    assert sorted(chain(*pages)) == sorted(expected)
    first = look(world, limits=Limits(table=60))
    assert (first.ordered, first.first, first.total) == (False, None, None)


def test_a_window_that_ends_with_its_channel_goes_on_with_the_next() -> None:
    world = World()
    world.put(*(final(channel=name, dedup_key=f"{name}{number}") for name in "abc" for number in range(2)))
    assert list(chain(*all_of(world, limits=Limits(table=2)))) == ["a0", "a1", "b0", "b1", "c0", "c1"]


@pytest.mark.parametrize("statuses", [DEAD, OPEN], ids=["dead letters", "waiting"])
def test_what_an_index_has_is_paged_by_it(statuses: frozenset[Status]) -> None:
    world = World()
    for number in range(120):
        dead = final(Status.DEAD_LETTERED, channel="a", dedup_key=f"d{number:03}", dead_lettered_at=at(number))
        due = record(channel="b", dedup_key=f"w{number:03}", next_attempt_at=at(number))
        world.put(dead, due)
    found = list(chain(*all_of(world, Filter(statuses=statuses))))
    ascending = [f"{'d' if statuses is DEAD else 'w'}{number:03}" for number in range(120)]
    assert found == (ascending[::-1] if statuses is DEAD else ascending)  # the newest death; the longest due


def test_a_rare_kind_is_found_behind_many_that_are_not_wanted() -> None:
    world = World()
    deaths = [
        final(Status.DEAD_LETTERED, channel="a", dedup_key=f"d{number:03}", dead_lettered_at=at(-number), kind="usual")
        for number in range(300)
    ]
    rare = final(Status.DEAD_LETTERED, channel="a", dedup_key="rare", dead_lettered_at=at(-400), kind="rare")
    world.put(*deaths, rare)
    wanted = Filter(statuses=DEAD, kind="rare")
    assert all_of(world, wanted) == [["rare"]]


def test_a_page_fetches_only_so_much_and_the_next_goes_on() -> None:
    world = World()
    world.put(*(record(channel="a", dedup_key=f"w{number:03}", kind="usual") for number in range(230)))
    world.put(record(channel="a", dedup_key="w999", kind="rare"))
    assert all_of(world, Filter(statuses=OPEN, kind="rare"), Limits(fetched=100)) == [[], [], ["w999"]]


def test_what_counts_as_absent_or_has_moved_since_is_left_out() -> None:
    world = World()
    world.put(final(Status.DEAD_LETTERED, channel="a", dedup_key="gone", expires_at=NOW))
    world.put(final(Status.DEAD_LETTERED, channel="a", dedup_key="here"))
    world.put(final(Status.SENT, channel="a", dedup_key="sent", dead_lettered_at=NOW))  # as a lagging index has it
    assert all_of(world, Filter(statuses=DEAD)) == [["here"]]


def test_what_cannot_be_read_is_shown_last() -> None:
    world = World()
    world.put(final(channel="a", dedup_key="old", sent_at=at(-9)))
    world.memory.plant(Key("a", "bad"))
    assert all_of(world) == [["old", "bad"]]


def test_one_channel_is_looked_at_though_it_has_no_row() -> None:
    world = World()
    world.put(final(channel="unknown", dedup_key="k"), final(channel="a", dedup_key="other"))
    assert all_of(world, Filter(channel="unknown")) == [["k"]]


def test_a_full_last_page_has_none_behind_it() -> None:
    world = World()
    world.put(*(final(channel="a", dedup_key=f"k{number}") for number in range(PAGE)))
    assert look(world).next is None
