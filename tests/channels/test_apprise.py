import json
import logging
import sys
import time
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from infra.local.endpoint import Endpoint, Step
from redeliver.channels import TYPES
from redeliver.channels.document import InvalidDocument, read_document
from redeliver.channels.transport import Transport
from redeliver.core.outcome import CREDENTIALS_REFUSED, Delivered, Retry
from redeliver.ports import Channel, NotConfigured
from tests.contract.channel_apprise import DESCRIPTIONS, PATH
from tests.contract.channel_cases import NOW, Documents, channel_of, directory_of, single

BUDGET = 10.0


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as running:
        yield running


def apprise(endpoint: Endpoint, budget: float = BUDGET, query: str = "", **own: Any) -> Channel:
    document = DESCRIPTIONS[0].document(endpoint.url(), **own)
    return channel_of({**document, "url": document["url"] + query}, Transport(), budget=budget)


def why_not(**changes: Any) -> str:
    document = DESCRIPTIONS[0].document("http://127.0.0.1:1", **changes)
    found = directory_of(Documents({"ops": document}), Transport()).look_up("ops", NOW)
    assert isinstance(found, NotConfigured)
    return found.why


def test_without_the_library_the_channel_is_not_configured_and_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "apprise", None)
    assert "AppriseLayerArn" in why_not()


def test_that_addresses_are_not_checked_has_to_be_agreed_to() -> None:
    assert "allow_private_network must be true" in why_not(allow_private_network=False)


@pytest.mark.parametrize("url", ["json", "://x", "json:/x", "json://a b", "json://a\nb", "1json://x", 7])
def test_what_is_no_url(url: Any) -> None:
    assert why_not(url=url).startswith("url must be an Apprise URL")


def test_a_service_that_it_does_not_know_has_the_document_read_again(endpoint: Endpoint) -> None:
    outcome = apprise(endpoint, url="nosuch://127.0.0.1/s3cret-part").deliver(single())
    assert isinstance(outcome, Retry)
    assert (outcome.reason, outcome.maybe_delivered) == (CREDENTIALS_REFUSED, False)
    assert "s3cret-part" not in outcome.error


def test_what_it_says_is_kept_without_secrets(endpoint: Endpoint) -> None:
    endpoint.script(PATH, default=Step(500))
    outcome = apprise(endpoint).deliver(single())
    assert isinstance(outcome, Retry)
    assert "error=500" in outcome.error


@pytest.mark.parametrize(
    ("url", "secret"),
    [
        ("slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#general", "TIiajkdnlazkcOXrIdevi7FQ"),
        ("tgram://123456789:AAHfiqksKZ8WmR2zSjiQ7/42", "AAHfiqksKZ8WmR2zSjiQ7"),
        ("mailto://user:p%40ssw0rd@example.com?to=a@example.org", "p@ssw0rd"),
        ("mailto://user:p%40ssw0rd@example.com", "p%40ssw0rd"),
        ("ntfy://example.com/topic?token=tk_AgQdq7mVBoFD37zQ", "tk_AgQdq7mVBoFD37zQ"),
    ],
)
def test_every_part_of_the_url_is_a_secret(url: str, secret: str) -> None:
    document = read_document({"type": "apprise", "url": url, "allow_private_network": True}, TYPES)
    assert {url, secret} <= document.secrets


class Kept(logging.Handler):
    """A log of our own: pytest's takes what is not passed on, too."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.names.append(record.name)


def test_its_lines_are_kept_out_of_our_log(endpoint: Endpoint, caplog: pytest.LogCaptureFixture) -> None:
    endpoint.script(PATH, default=Step(500))
    caplog.set_level(logging.DEBUG)
    kept = Kept()
    logging.getLogger().addHandler(kept)
    try:
        apprise(endpoint).deliver(single())
    finally:
        logging.getLogger().removeHandler(kept)
    assert "apprise" in [each.name for each in caplog.records]  # it does say something
    assert kept.names == []


def test_redirects_are_not_followed(endpoint: Endpoint) -> None:
    endpoint.script(PATH, Step(307, {"Location": endpoint.url("/elsewhere")}))
    assert isinstance(apprise(endpoint).deliver(single()), Retry)
    assert not endpoint.requests("/elsewhere")


@pytest.mark.parametrize("query", ["?retry=3", "?optional=yes", "?retry=2&optional=yes"])
def test_the_url_cannot_repeat_a_message_or_call_a_failure_a_success(query: str, endpoint: Endpoint) -> None:
    endpoint.script(f"{PATH}", default=Step(500))
    outcome = apprise(endpoint, query=query).deliver(single())
    assert isinstance(outcome, Retry)
    assert outcome.reason == "apprise_failed"
    assert len(endpoint.requests()) == 1


def test_the_length_is_that_of_the_document(endpoint: Endpoint) -> None:
    channel = apprise(endpoint, longest=100)
    assert channel.capacity == 100
    assert channel.deliver(single(body="x" * 101)) == Delivered()
    assert json.loads(endpoint.requests()[0].body)["message"] == "x" * 99 + "…"


def test_a_service_that_takes_less_gets_less(endpoint: Endpoint) -> None:
    host = endpoint.url().partition("://")[2]
    channel = apprise(endpoint, url=f"mmost://{host}/a8b3j4k5l6m7n8o9p0q1r2s3t4", longest=30_000)
    assert channel.deliver(single(body="x" * 30_000)) == Delivered()
    assert len(json.loads(endpoint.requests()[0].body)["text"]) <= 4000  # Apprise knows what Mattermost takes


def test_half_a_surrogate_pair_is_no_obstacle_to_any_service(endpoint: Endpoint) -> None:
    form = endpoint.url(PATH).replace("http", "form", 1)
    assert apprise(endpoint, url=form).deliver(single(subject="a\ud800", body="b\ud800")) == Delivered()
    assert "b%3F" in endpoint.requests()[0].body


@pytest.mark.parametrize(("severity", "type_"), [("critical", "failure"), ("medium", "warning"), ("low", "info")])
def test_severity_is_apprises_type(severity: str, type_: str, endpoint: Endpoint) -> None:
    apprise(endpoint).deliver(single(payload=json.dumps({"severity": severity})))
    assert json.loads(endpoint.requests()[0].body)["type"] == type_


def test_what_looks_like_an_escape_or_a_template_stays_as_it_is(endpoint: Endpoint) -> None:
    body = "a\\nb :smile: {{app_title}} ${HOME} <b>"
    apprise(endpoint).deliver(single(body=body))
    assert json.loads(endpoint.requests()[0].body)["message"] == body


def test_nothing_is_sent_any_more_when_loading_took_all_of_the_time(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "apprise", slow_library())
    outcome = apprise(endpoint, budget=0.1).deliver(single())
    assert isinstance(outcome, Retry)
    assert (outcome.reason, outcome.maybe_delivered) == ("timeout", False)
    time.sleep(0.4)
    assert SENT == []


SENT: list[str] = []


def slow_library() -> ModuleType:
    """Return a library whose services take 0.3 s to make."""

    class Library:
        def __init__(self, asset: object) -> None:
            pass

        @staticmethod
        def instantiate(url: str, asset: object) -> SimpleNamespace:
            time.sleep(0.3)
            return SimpleNamespace()

        def add(self, service: object) -> None:
            pass

        def notify(self, message: str, *_: object, **__: object) -> None:
            SENT.append(message)

    module = ModuleType("apprise")
    module.__dict__.update(
        __spec__=ModuleSpec("apprise", None),
        Apprise=Library,
        AppriseAsset=lambda **_: None,
        PersistentStoreMode=SimpleNamespace(MEMORY=""),
        OverflowMode=SimpleNamespace(TRUNCATE=""),
    )
    return module


def test_a_document_that_does_not_go_together_is_told_by_the_type_itself() -> None:
    document = read_document({"type": "apprise", "url": "json://x"}, TYPES)
    with pytest.raises(InvalidDocument):
        TYPES["apprise"](document)
