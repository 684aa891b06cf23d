"""The stand-in for CloudWatch's console: what a click becomes, and that nobody else's page can call through it."""

import http.client
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from infra.local.page import HistoryPage, event_of
from infra.local.stack import FunctionFailedError
from tests.browser import WHY_NOT, Tab, browser, installed

CALL = {"endpoint": "arn:x", "parameters": {"do": "list"}, "forms": {"all": {"kind": "cve"}}, "theme": "dark"}
WIDGET = """<form><input name="kind" value="typed"><select name="status"><option>sent</option></select></form>
<p id="seen">first</p>
<a>call</a><cwdb-action action="call" endpoint="arn:x">{"key": "a\\u003cb"}</cwdb-action>
<a>twice</a><cwdb-action action="call" endpoint="arn:x" event="dblclick">{}</cwdb-action>
<a>sure</a><cwdb-action action="call" endpoint="arn:x" confirmation="Is &lt;b&gt; sure?">{"key": "sure"}</cwdb-action>
<a>popup</a><cwdb-action action="html" display="popup"><em>more of it</em></cwdb-action>
<a>html</a><cwdb-action><h1>instead</h1></cwdb-action>"""


class Function:
    """Stands for the deployed function: keeps what it is called with."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.fails = False

    def invoke(self, function: str, payload: object) -> str:
        assert function == "HistoryFunction"
        assert isinstance(payload, dict)
        if self.fails:
            raise FunctionFailedError("HistoryFunction: broken")
        self.events.append(payload)
        return WIDGET.replace("first", f"call {len(self.events)}")


@pytest.fixture
def function() -> Function:
    return Function()


@pytest.fixture
def page(function: Function) -> Iterator[HistoryPage]:
    with HistoryPage(function) as serving:
        yield serving


@pytest.fixture
def tab(page: HistoryPage) -> Iterator[Tab]:
    program = installed()
    if program is None:
        pytest.skip(WHY_NOT)
    with browser(program) as running:
        running.open(page.url)
        yield running


def status(page: HistoryPage, method: str, path: str, body: str = "", **headers: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", page.port, timeout=20)
    try:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body or None, named)
        return connection.getresponse().status
    finally:
        connection.close()


def test_an_event_is_what_was_clicked_and_the_context_of_the_widget() -> None:
    event = event_of(CALL)
    assert event["do"] == "list"
    assert event["widgetContext"]["forms"] == {"all": {"kind": "cve"}}
    assert event["widgetContext"]["theme"] == "dark"


def test_only_its_own_page_may_call(page: HistoryPage, function: Function) -> None:
    ours = {"Content_Type": "application/json"}
    assert status(page, "POST", "/call", json.dumps(CALL), **ours) == 200
    assert status(page, "POST", "/call", json.dumps(CALL), Content_Type="text/plain") == 404
    assert status(page, "POST", "/call", json.dumps(CALL), Host="evil.example", **ours) == 404
    assert status(page, "POST", "/other", json.dumps(CALL), **ours) == 404
    assert status(page, "GET", "/", Host="evil.example") == 404
    assert status(page, "GET", "/../page.py") == 404
    assert len(function.events) == 1


def test_a_function_that_fails_is_said(page: HistoryPage, function: Function) -> None:
    function.fails = True
    assert status(page, "POST", "/call", json.dumps(CALL), Content_Type="application/json") == 502


def test_a_click_calls_with_the_parameters_and_the_form(tab: Tab, function: Function) -> None:
    tab.run("document.querySelector('input').value = 'changed'")
    tab.turn(lambda: tab.click("a", "call"))
    assert tab.run("document.getElementById('seen').textContent") == "call 2"
    assert function.events[-1]["key"] == "a<b"
    assert function.events[-1]["widgetContext"]["forms"] == {"all": {"kind": "changed", "status": "sent"}}


def test_a_double_click_is_waited_for(tab: Tab, function: Function) -> None:
    tab.click("a", "twice")
    tab.turn(lambda: tab.run("[...document.querySelectorAll('a')][1].dispatchEvent(new MouseEvent('dblclick'))"))
    assert len(function.events) == 2


def test_a_confirmation_is_shown_as_text_and_a_no_calls_nothing(tab: Tab, function: Function) -> None:
    tab.click("a", "sure")
    tab.until("document.querySelector('dialog').open")
    assert "Is <b> sure?" in tab.run("document.querySelector('dialog').innerText")
    tab.click("dialog button", "Cancel")
    tab.until("!document.querySelector('dialog').open")
    assert len(function.events) == 1
    tab.click("a", "sure")
    tab.turn(lambda: tab.click("dialog button", "Confirm"))
    assert function.events[-1]["key"] == "sure"


def test_html_is_shown_in_a_popup_or_instead(tab: Tab) -> None:
    tab.click("a", "popup")
    tab.until("document.querySelector('dialog').open")
    assert tab.run("document.querySelector('dialog em').textContent") == "more of it"
    tab.click("dialog button", "Close")
    tab.turn(lambda: tab.click("a", "html"))
    assert tab.run("document.querySelector('#widget h1').textContent") == "instead"


def test_scripts_of_a_widget_do_not_run(tab: Tab) -> None:
    tab.run("document.getElementById('widget').innerHTML = '<img src=x onerror=alert(1)>'")
    end = time.monotonic() + 30
    # The policy may also refuse the image itself; whether it says so before the handler differs from run to run.
    while not any("inline event handler" in each for each in tab.complaints) and time.monotonic() < end:
        assert tab.run("document.querySelectorAll('#widget img').length") == 1
    assert tab.dialogs == []
    assert all("Content Security Policy" in each for each in tab.complaints)
    assert any("inline event handler" in each for each in tab.complaints)
