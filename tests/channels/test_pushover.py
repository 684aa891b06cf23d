import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from infra.local.endpoint import Endpoint, Step
from redeliver.channels.pushover import ANSWERS
from redeliver.channels.transport import Answer, Transport
from redeliver.core.notification import Dispatch
from redeliver.core.outcome import Delivered, Gone, Retry
from redeliver.ports import Channel
from tests.contract.channel_cases import channel_of, record, single
from tests.contract.channel_pushover import DESCRIPTIONS, NO_USER, PATH, TOKEN, USER, refused
from tests.contract.channel_pushover import sent as fields_of

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as running:
        running.script(PATH, default=DESCRIPTIONS[0].success)
        yield running


def pushover(endpoint: Endpoint, pauses: list[float] | None = None) -> Channel:
    taken = [] if pauses is None else pauses
    document = DESCRIPTIONS[0].document(endpoint.url())
    return channel_of(document, Transport(), budget=10.0, sleep=taken.append, chance=lambda: 0.0)


def sent(endpoint: Endpoint, dispatch: Dispatch) -> dict[str, str]:
    assert pushover(endpoint).deliver(dispatch) == Delivered()
    return fields_of(endpoint.requests(PATH)[-1])


def test_a_message(endpoint: Endpoint) -> None:
    assert sent(endpoint, single()) == {"token": TOKEN, "user": USER, "title": "log4j", "message": "Update now."}


def test_a_recipient_replaces_the_user_and_may_be_gone_by_itself(endpoint: Endpoint) -> None:
    assert sent(endpoint, single(recipient="g" * 30))["user"] == "g" * 30
    endpoint.script(PATH, default=refused(NO_USER, user="invalid"))
    assert isinstance(pushover(endpoint).deliver(single(recipient="nobody")), Gone)


def test_a_message_is_never_blank(endpoint: Endpoint) -> None:
    found = sent(endpoint, single(body="\n"))
    assert (found["message"], "title" in found) == ("log4j", False)


@pytest.mark.parametrize(
    ("severity", "priority"),
    [(None, None), ("info", "-1"), ("low", None), ("medium", None), ("high", "1"), ("critical", "1")],
)
def test_no_severity_asks_for_a_confirmation(severity: str | None, priority: str | None, endpoint: Endpoint) -> None:
    payload = severity and json.dumps({"severity": severity})
    assert sent(endpoint, single(payload=payload)).get("priority") == priority


@pytest.mark.parametrize(
    ("length", "kept"), [(250, "🚀" * 250), (251, "🚀" * 249 + "…")]
)  # a character counts once, whatever its bytes
def test_the_title_has_a_limit_of_its_own(length: int, kept: str, endpoint: Endpoint) -> None:
    assert sent(endpoint, single(subject="🚀" * length))["title"] == kept


@pytest.mark.parametrize(("length", "kept"), [(1024, "🚀" * 1024), (1025, "🚀" * 1023 + "…")])
def test_a_long_message_is_cut_in_characters(length: int, kept: str, endpoint: Endpoint) -> None:
    assert sent(endpoint, single(body="🚀" * length))["message"] == kept


def test_a_long_entry_of_a_digest_is_cut(endpoint: Endpoint) -> None:
    found = sent(endpoint, Dispatch((record(body="x" * 2000),), digest=True))
    assert found["message"].startswith("cve (1)\n• log4j\nxxx")
    assert len(found["message"]) == 1024


@pytest.mark.parametrize(
    ("status", "headers", "wait"),
    [
        (429, {"X-Limit-App-Reset": str(int(NOW.timestamp()) + 3600)}, 3600),
        (429, {"X-Limit-App-Reset": str(int(NOW.timestamp()) + 3600), "Retry-After": "7"}, 3600),
        (429, {"X-Limit-App-Reset": str(int(NOW.timestamp()) - 1), "Retry-After": "7"}, 7),
        (429, {"X-Limit-App-Reset": "9" * 500}, None),
        (429, {"X-Limit-App-Reset": "-5"}, None),
        (429, {"X-Limit-App-Reset": "soon"}, None),
        (400, {"X-Limit-App-Reset": str(int(NOW.timestamp()) + 3600)}, None),  # every answer has the header
        (499, {}, None),
        (500, {}, 5),
        (503, {"Retry-After": "6"}, 6),
        (599, {"Retry-After": "4"}, 5),
    ],
)
def test_waits(status: int, headers: dict[str, str], wait: int | None) -> None:
    named = ANSWERS.wait(Answer(status, b"", headers), NOW)
    assert named == (None if wait is None else timedelta(seconds=wait))


def test_within_an_attempt_a_server_in_trouble_is_left_alone_for_five_seconds(endpoint: Endpoint) -> None:
    endpoint.script(PATH, default=Step(502))
    pauses: list[float] = []
    outcome = pushover(endpoint, pauses).deliver(single())
    assert isinstance(outcome, Retry)
    assert min(pauses) >= 5


@pytest.mark.parametrize("body", ['{"status": true}', '{"status": "1"}', '{"status": 2}', '{"status": 0}'])
def test_a_200_that_is_no_success(body: str, endpoint: Endpoint) -> None:
    endpoint.script(PATH, default=Step(body=body))
    assert isinstance(pushover(endpoint).deliver(single()), Retry)
