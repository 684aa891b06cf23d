"""The history page over the use cases: what it shows, and that nothing in a record can change it."""

import json
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from typing import Any

import pytest

from redeliver.core.hold import Hold
from redeliver.core.notification import EXPIRED, Key, Status
from redeliver.operator.desk import Desk
from redeliver.operator.paging import Cursor, Entry
from redeliver.page.asked import Asked, InvalidAsk, View, of_view, read
from redeliver.page.widget import Widget
from tests.builders import NOW, at, final, record
from tests.hostile import HOSTILE, hostile, strings_of
from tests.memory_timeline import MemoryTimeline
from tests.world import World

ARN = "arn:aws:lambda:eu-central-1:000000000000:function:history"
DEAD = Status.DEAD_LETTERED
ATTRIBUTES = {
    "class", "role", "tabindex", "action", "display", "endpoint", "confirmation", "name", "value", "selected",
    "maxlength", "placeholder",
}  # fmt: skip


class Reader(HTMLParser):
    """Reads a page as a browser would: its elements, its text, and what can be clicked."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.calls: dict[str, tuple[dict[str, str | None], dict[str, Any]]] = {}
        self._open: list[str] = []
        self._since_link = ""
        self.feed(page)
        self.close()
        assert not self._open, f"never closed: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag != "input":
            self._open.append(tag)
        if tag == "a":
            self._since_link = ""

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open[-1:] == ["cwdb-action"]:
            self.calls[self._since_link] = (self.elements[-1][1], json.loads(data))
        elif self._open[-1:] != ["style"]:
            self.texts.append(data)
            if "a" in self._open:
                self._since_link += data


def widget(world: World) -> Widget:
    return Widget(
        Desk(
            ledger=world.ledger,
            lanes=world.lanes,
            timeline=MemoryTimeline(world.memory),
            states=world.states,
            register=world.known,
            telemetry=world.telemetry,
            policy=world.policy,
            clock=world.clock,
        )
    )


def ask(world: World, event: Mapping[str, Any] | None = None, **forms: str) -> Reader:
    return Reader(widget(world)({**(event or {}), "widgetContext": {"forms": {"all": forms}}}, ARN))


def told(world: World, key: str = "k1") -> Reader:
    return ask(world, {"do": "story", "channel": "ops", "dedup_key": key})


def seen(page: Reader) -> str:
    return " ".join(page.texts)


@pytest.fixture
def world() -> World:
    return World()


def test_it_describes_itself() -> None:
    assert widget(World())({"describe": True}, ARN).startswith("## History of notifications\n")


def test_it_is_light_or_dark_as_the_dashboard_is(world: World) -> None:
    by_theme = {
        theme: widget(world)({"widgetContext": {"theme": theme}}, ARN).partition(">")[0] for theme in ("light", "dark")
    }
    assert "rh-dark" in by_theme["dark"]
    assert "rh-dark" not in by_theme["light"]


def test_the_form_goes_before_the_parameters_of_the_widget(world: World) -> None:
    world.put(final(dedup_key="a", kind="one"), final(dedup_key="b", kind="two"))
    by_parameters = ask(world, {"kind": "one"})
    assert [label for label in by_parameters.calls if label != "Show"] == ["Cheapera"]
    assert ("input", "one") in [(name, given.get("value")) for name, given in by_parameters.elements]
    by_form = ask(world, {"kind": "one"}, kind=" two ", channel="", status="any")
    assert [label for label in by_form.calls if label != "Show"] == ["Cheaperb"]
    assert len(ask(world, {"kind": "one"}, kind="").calls) == 3


def test_the_chosen_filter_stays_chosen(world: World) -> None:
    world.put(final(DEAD))
    page = ask(world, channel="unheard-of", status="dead", kind="x")
    chosen = [given["value"] for name, given in page.elements if name == "option" and "selected" in given]
    assert chosen == ["unheard-of", "dead"]


def test_pages_lead_to_each_other_and_a_story_back_to_its_page(world: World) -> None:
    world.put(*(final(DEAD, dedup_key=f"d{number:02}", dead_lettered_at=at(-number)) for number in range(60)))
    first = ask(world, status="dead")
    assert "1 to 50 of 60, newest first" in seen(first)
    assert "⇤ First page" not in first.calls
    second = ask(world, first.calls["Next page →"][1], status="sent")  # chosen, but not asked for
    assert "51 to 60 of 60" in seen(second)
    assert "Next page →" not in second.calls
    story = ask(world, second.calls["Cheaperd55"][1])
    again = ask(world, story.calls["← Back to the list"][1])
    assert list(again.calls) == list(second.calls)
    assert list(ask(world, again.calls["⇤ First page"][1]).calls) == list(first.calls)


def test_a_story_tells_what_happened_and_what_is_next(world: World) -> None:
    history = "1796040000,r,http_503,503,212;1796040300,x,http_404,404,9"
    world.put(final(DEAD, last_reason="http_404", last_error="no such hook", history=history, finding_id="CVE-1"))
    page = seen(told(world))
    for text in ("failed, to be tried again", "refused", "503", "212", "no such hook", "mend the cause", "'CVE-1'"):
        assert text in page


@pytest.mark.parametrize(
    ("key", "text"), [("nothing", "there is no such notification"), ("bad", "its row cannot be read as a record")]
)
def test_what_is_no_record_has_its_story_too(world: World, key: str, text: str) -> None:
    world.memory.plant(Key("ops", "bad"))
    assert text in seen(told(world, key))
    assert "Send again" not in told(world, key).calls


def test_what_cannot_be_read_is_in_the_list(world: World) -> None:
    world.states.open("ops")
    world.memory.plant(Key("ops", "bad"))
    assert "an item that is no recordbad" in ask(world).calls


def test_only_a_dead_letter_can_be_sent_again_and_only_after_a_question(world: World) -> None:
    world.put(final(DEAD), final(dedup_key="sent"), record(dedup_key="open"))
    given, parameters = told(world).calls["Send again"]
    assert given["confirmation"]
    assert (given["action"], given["endpoint"]) == ("call", ARN)
    for key in ("sent", "open"):
        assert "Send again" not in told(world, key).calls
    ask(world, parameters)
    assert (world.get().status, world.get().redrive_count) == (Status.PENDING, 1)
    assert [line["dedup_key"] for line in world.telemetry.of("notification_redriven")] == ["k1"]
    assert "no longer in that state" in seen(ask(world, parameters))


def test_what_is_stale_goes_only_if_it_is_insisted(world: World) -> None:
    world.put(final(DEAD, last_reason=EXPIRED))
    refused = ask(world, told(world).calls["Send again"][1])
    assert "Not sent again: stale." in seen(refused)
    assert world.get().status is DEAD
    given, parameters = refused.calls["Send all the same"]
    assert given["confirmation"]
    ask(world, parameters)
    assert world.get().status is Status.PENDING


def test_a_store_that_is_busy_is_said_and_not_raised(world: World) -> None:
    world.put(final(DEAD))
    world.ledger.will("refused")
    page = ask(world, {"do": "redrive", "channel": "ops", "dedup_key": "k1"})
    assert "This did not work" in seen(page)
    assert world.get().status is DEAD


def test_a_hold_is_shown_while_it_lasts(world: World) -> None:
    world.put(record(next_attempt_at=at(30)))
    world.states.hold("ops", Hold(at(60), "wait"), NOW)
    assert "is on hold until" in seen(ask(world))
    assert "next 2026-11-30 12:01:00" in seen(ask(world))  # nothing goes out before
    world.clock.pass_by(61)
    assert "is on hold until" not in seen(ask(world))
    assert "next 2026-11-30 12:00:30" in seen(ask(world))


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_of_a_record_becomes_a_part_of_the_page(world: World, text: str) -> None:
    harmless = final(DEAD, **hostile("harmless"))
    world.put(harmless)
    names = [name for name, _ in ask(world).elements]
    story = [name for name, _ in told(world, "harmless").elements]
    nasty = World()
    dead = final(DEAD, **hostile(text))
    nasty.put(dead)
    page = ask(nasty)
    assert [name for name, _ in page.elements] == names
    detail = told(nasty, dead.dedup_key)
    assert [name for name, _ in detail.elements] == story
    shown = "".join(detail.texts)
    assert all(each in shown for each in strings_of(dead))
    allowed = {
        "class",
        "role",
        "tabindex",
        "action",
        "display",
        "endpoint",
        "confirmation",
        "name",
        "value",
        "selected",
    }
    for _, given in [*page.elements, *detail.elements]:
        assert set(given) <= allowed | {"maxlength", "placeholder"}


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_key_survives_the_way_through_a_button(world: World, text: str) -> None:
    dead = final(DEAD, **hostile(text))
    world.put(dead)
    (_, parameters) = next(call for label, call in ask(world).calls.items() if label != "Show")
    assert parameters["dedup_key"] == dead.dedup_key
    ask(world, ask(world, parameters).calls["Send again"][1])
    assert world.get(dead.dedup_key).status is Status.PENDING


def test_parameters_read_the_same_as_html_and_as_they_are(world: World) -> None:
    for text in HOSTILE:
        world.put(final(DEAD, **hostile(text)))
    page = widget(world)({}, ARN)
    contents = [part.partition(">")[2].partition("</cwdb-action>")[0] for part in page.split("<cwdb-action ")[1:]]
    assert len(contents) == len(HOSTILE) + 1
    for content in contents:
        assert content.isascii()
        assert not set(content) & set("<>&'")
        json.loads(content)


def cases() -> Iterator[tuple[dict[str, Any], str]]:
    yield {"do": "drop"}, "do: must be"
    yield {"do": ["list"]}, "do: must be"
    yield {"do": "list", "view": "x"}, "view: must be an object"
    yield {"do": "list", "view": {"status": "gone"}}, "status: must be one of"
    yield {"do": "list", "view": {"channel": 5}}, "channel: must be a text"
    yield {"do": "list", "view": {"kind": "k" * 1025}}, "kind: must be a text"
    yield {"do": "list", "view": {"kind": "\ud800"}}, "kind: must be text"
    yield {"do": "list", "view": {"cursor": {"before": {"channel": "a"}}}}, "cursor: before must have"
    yield {"do": "list", "view": {"cursor": {"after": {"channel": "a", "dedup_key": "b", "at": True}}}}, "cursor: after"
    yield {"do": "list", "view": {"cursor": {"after": {"channel": "a", "dedup_key": "b", "at": 10**15}}}}, "a moment"
    yield {"do": "story", "channel": "ops"}, "channel, dedup_key: are required"
    yield {"do": "redrive", "dedup_key": "k"}, "channel, dedup_key: are required"
    yield {"widgetContext": {"forms": {"all": "x"}}}, "all: must be an object"


@pytest.mark.parametrize(("event", "message"), list(cases()), ids=str)
def test_a_call_that_makes_no_sense_names_its_field(world: World, event: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidAsk, match=message):
        read(event)
    assert "This did not work" in seen(Reader(widget(world)(event, ARN)))


def test_a_view_comes_back_as_it_went() -> None:
    entry = Entry(at(5), Key("ops", " a key "))
    for view in (
        View(),
        View("ops", "dead", "cve", Cursor("ops", entry, None)),
        View(cursor=Cursor(None, None, entry)),
    ):
        carried = json.loads(json.dumps(of_view(view)))
        assert read({"do": "list", "view": carried}) == Asked(view)
