"""The history page in a real browser, over the deployed stack: CloudWatch's part is played by `infra.local.page`."""

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pytest

from infra.local.page import HistoryPage
from infra.local.stack import LocalStack
from redeliver.core.notification import Status
from tests.browser import WHY_NOT, Tab, browser, installed
from tests.hostile import HOSTILE, hostile, strings_of
from tests.stack.planted import ago, dead, plant, sent
from tests.stack.scene import Scene

MANY = 10_000


@pytest.fixture(scope="module")
def page(stack: LocalStack) -> Iterator[HistoryPage]:
    with HistoryPage(stack) as serving:
        yield serving


@pytest.fixture(scope="module")
def running(page: HistoryPage) -> Iterator[Tab]:
    program = installed()
    if program is None:
        pytest.skip(WHY_NOT)
    with browser(program) as tab:
        yield tab


@pytest.fixture
def tab(running: Tab, page: HistoryPage) -> Iterator[Tab]:
    """The page, freshly opened; no test may leave a complaint in the console or a dialog of a script."""
    running.tell("Page.setBypassCSP", enabled=True)  # what would run on a page without our policy has to show itself
    running.open(page.url)
    yield running
    assert running.complaints == []
    assert running.dialogs == []


def choose(tab: Tab, **choices: str) -> None:
    """Fill in the form and show what it asks for."""
    for name, value in choices.items():
        tab.run(f"document.querySelector('[name={name}]').value = {json.dumps(value)}")
    tab.turn(lambda: tab.click("a", "Show"))


def keys(tab: Tab) -> list[str]:
    found: list[str] = tab.run("[...document.querySelectorAll('.rh-list .rh-key')].map(e => e.textContent)")
    return found


def text(tab: Tab, selector: str = "#widget") -> str:
    found: str = tab.run(f"document.querySelector({json.dumps(selector)}).innerText")
    return found


def test_it_shows_what_was_sent_waits_and_died_and_filters_it(tab: Tab, scene: Scene) -> None:
    name = scene.channel
    waits = {"status": Status.PENDING, "next_attempt_at": ago(-9), "dead_lettered_at": None, "last_reason": None}
    plant(scene.stack, [sent(name, "s", 3), dead(name, "d", 2), dead(name, "w", 1, kind="other", **waits)])
    tab.open(tab.run("location.href"))
    choose(tab, channel=name)
    assert keys(tab) == ["w", "d", "s"]
    assert "1 to 3 of 3, newest first" in text(tab)
    for status, expected in (("sent", ["s"]), ("dead", ["d"]), ("waiting", ["w"]), ("suppressed", [])):
        choose(tab, status=status)
        assert keys(tab) == expected
        assert tab.run("document.querySelector('[name=status]').value") == status
    choose(tab, status="any", kind="other")
    assert keys(tab) == ["w"]


def test_the_button_asks_and_only_a_yes_sends_again(tab: Tab, scene: Scene) -> None:
    plant(scene.stack, [dead(scene.channel, "d", last_error="HTTP 500: broken")])
    tab.open(tab.run("location.href"))
    choose(tab, channel=scene.channel, status="dead")
    tab.turn(lambda: tab.click(".rh-subject a", "About d"))
    assert "HTTP 500: broken" in text(tab)
    for answer in ("Cancel", "Confirm"):
        tab.click("a", "Send again")
        tab.until("document.querySelector('dialog').open")
        assert "Send this notification again?" in text(tab, "dialog")
        assert scene.stored("d")["status"] == "dead_lettered"
        if answer == "Cancel":
            tab.click("dialog button", answer)
            tab.until("!document.querySelector('dialog').open")
    tab.turn(lambda: tab.click("dialog button", "Confirm"))
    assert "goes out with the next sweep" in text(tab)
    assert scene.stored("d")["status"] == "pending"
    scene.sweep()
    assert scene.told() == ["d"]
    tab.turn(lambda: tab.click("a", "Back to the list"))
    assert keys(tab) == []
    assert tab.run("document.querySelector('[name=status]').value") == "dead"


def test_hostile_texts_stay_texts_in_list_and_story(tab: Tab, scene: Scene) -> None:
    records = [dead(scene.channel, "", number, **hostile(each)) for number, each in enumerate(HOSTILE)]
    plant(scene.stack, records)
    tab.open(tab.run("location.href"))
    choose(tab, channel=scene.channel)
    assert len(keys(tab)) == len(HOSTILE)
    for number, record in enumerate(records):
        tab.turn(partial(tab.click, f".rh-list tbody tr:nth-child({number + 1}) a"))
        shown = tab.run("document.querySelector('#widget').textContent")
        assert all(each in shown for each in strings_of(record))
        odd = "#widget :is(script, img, svg, b, i, u, iframe, .injected)"
        assert tab.run(f"document.querySelectorAll('{odd}').length") == 0
        names = "[...document.querySelectorAll('#widget *')].flatMap(e => e.getAttributeNames())"
        assert tab.run(f"{names}.filter(name => name.startsWith('on'))") == []
        tab.turn(lambda: tab.click("a", "Back to the list"))


def test_a_hostile_key_is_sent_again_through_the_browser(tab: Tab, scene: Scene) -> None:
    record = replace(dead(scene.channel, HOSTILE[4] + "'\"\\"), subject="About it")
    plant(scene.stack, [record])
    tab.open(tab.run("location.href"))
    choose(tab, channel=scene.channel)
    tab.turn(lambda: tab.click(".rh-subject a", "About it"))
    tab.click("a", "Send again")
    tab.turn(lambda: tab.click("dialog button", "Confirm"))
    assert scene.stored(record.dedup_key)["status"] == "pending"


def test_ten_thousand_records_are_shown_soon_and_paged_in_order(tab: Tab, scene: Scene) -> None:
    plant(scene.stack, [sent(scene.channel, f"n{number:05}", number / 60) for number in range(MANY)])
    tab.open(tab.run("location.href"))
    begun = time.monotonic()
    choose(tab, channel=scene.channel)
    took = time.monotonic() - begun
    assert f"1 to 50 of {MANY:,}, newest first" in text(tab)
    assert keys(tab) == [f"n{number:05}" for number in range(50)]
    for _ in range(3):
        tab.turn(lambda: tab.click("a", "Next page"))
    assert keys(tab) == [f"n{number:05}" for number in range(150, 200)]
    assert took < 30  # about two seconds, where nothing else runs
    assert tab.run("document.querySelector('#widget').innerHTML.length") < 200_000


def test_the_page_is_dark_where_the_dashboard_is(tab: Tab, page: HistoryPage) -> None:
    background = "getComputedStyle(document.querySelector('.redeliver-history')).backgroundColor"
    light: str = tab.run(background)
    tab.open(f"{page.url}?theme=dark")
    assert (light, tab.run(background)) == ("rgb(255, 255, 255)", "rgb(22, 29, 38)")
