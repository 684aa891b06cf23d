import json
from collections.abc import Iterator
from typing import Any

import pytest

from infra.local.endpoint import Endpoint
from redeliver.channels.transport import Transport
from redeliver.core.notification import Dispatch
from redeliver.core.outcome import CREDENTIALS_REFUSED, Delivered, Retry
from tests.contract.channel_cases import channel_of, record, single
from tests.contract.channel_gotify import DESCRIPTIONS, PATH, TOKEN, UNAUTHORIZED


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as running:
        running.script(PATH, default=DESCRIPTIONS[0].success)
        yield running


def sent(endpoint: Endpoint, dispatch: Dispatch, **own: Any) -> dict[str, Any]:
    channel = channel_of(DESCRIPTIONS[0].document(endpoint.url(), **own), Transport(), budget=10.0)
    assert channel.deliver(dispatch) == Delivered()
    found: dict[str, Any] = json.loads(endpoint.requests(PATH)[-1].body)
    return found


def test_a_message(endpoint: Endpoint) -> None:
    assert sent(endpoint, single()) == {
        "title": "log4j",
        "message": "Update now.",
        "extras": {"client::display": {"contentType": "text/plain"}},
    }
    assert endpoint.requests()[0].headers["X-Gotify-Key"] == TOKEN


def test_the_path_of_a_server_may_end_with_a_slash_or_not(endpoint: Endpoint) -> None:
    for url in ("/gotify", "/gotify/"):
        assert sent(endpoint, single(), url=endpoint.url(url))["title"] == "log4j"


@pytest.mark.parametrize("body", ["", " \n "])
def test_a_message_is_never_blank(body: str, endpoint: Endpoint) -> None:
    found = sent(endpoint, single(body=body))
    assert found["message"] == "log4j"
    assert "title" not in found


@pytest.mark.parametrize(
    ("severities", "priority"),
    [
        ([None], None),
        (["info"], 1),
        (["low"], 3),
        (["medium"], 5),
        (["high"], 8),
        (["critical"], 10),
        (["low", "high", None], 8),
    ],
)
def test_the_priority_is_that_of_the_worst(
    severities: list[str | None], priority: int | None, endpoint: Endpoint
) -> None:
    members = tuple(record(payload=each and json.dumps({"severity": each})) for each in severities)
    assert sent(endpoint, Dispatch(members, digest=True)).get("priority") == priority


@pytest.mark.parametrize(("count", "title"), [(1, "1 notification"), (2, "2 notifications")])
def test_a_digest_says_how_many(count: int, title: str, endpoint: Endpoint) -> None:
    assert sent(endpoint, Dispatch((record(),) * count, digest=True))["title"] == title


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("é" * 32_767 + "x", "é" * 32_767 + "x"),  # exactly 65,535 bytes
        ("é" * 32_767 + "xx", "é" * 32_766 + "…"),
    ],
)
def test_a_long_message_is_cut_in_bytes(body: str, message: str, endpoint: Endpoint) -> None:
    assert sent(endpoint, single(body=body))["message"] == message


def test_an_application_that_is_gone_has_the_document_read_again(endpoint: Endpoint) -> None:
    endpoint.script(PATH, default=UNAUTHORIZED)
    channel = channel_of(DESCRIPTIONS[0].document(endpoint.url()), Transport(), budget=10.0)
    outcome = channel.deliver(single())
    assert isinstance(outcome, Retry)
    assert outcome.reason == CREDENTIALS_REFUSED
