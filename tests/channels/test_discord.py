import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from infra.local.endpoint import Endpoint, Step
from redeliver.channels import TYPES
from redeliver.channels.document import InvalidDocument, read_document
from redeliver.channels.severity import COLOURS, Severity
from redeliver.channels.transport import Transport
from redeliver.core.notification import Dispatch
from redeliver.core.outcome import CREDENTIALS_REFUSED, Delivered, Gone, Retry
from redeliver.ports import Channel
from tests.contract.channel_cases import channel_of, record, single
from tests.contract.channel_discord import DESCRIPTIONS, PATH, TOKEN, limited

WEBHOOK = "223704706495545344"


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as running:
        yield running


@pytest.fixture(scope="module")
def transport() -> Transport:
    return Transport()


def discord(endpoint: Endpoint, transport: Transport, **own: Any) -> Channel:
    return channel_of(DESCRIPTIONS[0].document(endpoint.url(), **own), transport, sleep=lambda _: None)


def sent(endpoint: Endpoint) -> list[dict[str, Any]]:
    return [json.loads(request.body) for request in endpoint.requests()]


def test_a_message(endpoint: Endpoint, transport: Transport) -> None:
    assert discord(endpoint, transport).deliver(single(payload='{"severity": "high"}')) == Delivered()
    embed = {
        "description": "**log4j**\n\nUpdate now\\.",
        "color": COLOURS[Severity.HIGH],
        "footer": {"text": "cve"},
    }
    assert sent(endpoint) == [{"embeds": [embed], "allowed_mentions": {"parse": []}}]
    assert [request.path for request in endpoint.requests()] == [PATH]
    assert endpoint.discord.texts(WEBHOOK) == ["**log4j**\n\nUpdate now\\.\ncve"]


@pytest.mark.parametrize(
    ("own", "recipient", "thread"), [("12", None, "12"), (12, None, "12"), (None, "34", "34"), ("12", "34", "34")]
)
def test_a_thread(own: object, recipient: str | None, thread: str, endpoint: Endpoint, transport: Transport) -> None:
    assert discord(endpoint, transport, thread_id=own).deliver(single(recipient=recipient)) == Delivered()
    assert endpoint.requests()[0].path == f"{PATH}&thread_id={thread}"


def test_a_recipient_stays_one_value_of_the_query(endpoint: Endpoint, transport: Transport) -> None:
    discord(endpoint, transport).deliver(single(recipient="1&wait=false#"))
    assert endpoint.requests()[0].path == f"{PATH}&thread_id=1%26wait%3Dfalse%23"


@pytest.mark.parametrize(
    "given",
    [
        "https://discord.com/api/webhooks/1/a-B_c",
        "https://discord.com/api/webhooks/1/a-B_c/",
        "https://discord.com/api/v6/webhooks/1/a-B_c",
        "https://discord.com/api/v10/webhooks/1/a-B_c",
    ],
)
def test_an_address_gets_our_version(given: str) -> None:
    document = read_document({"type": "discord", "url": given}, TYPES)
    assert document.own["url"] == "https://discord.com/api/v10/webhooks/1/a-B_c"
    assert "a-B_c" in document.secrets


@pytest.mark.parametrize(
    "given",
    [
        "https://discord.com/api/webhooks/1",
        "https://discord.com/api/webhooks/one/token",
        "https://discord.com/api/webhooks/1/token/slack",
        "https://discord.com/api/webhooks/1/token?thread_id=1",
        "https://discord.com/webhooks/1/token",
        "https://discord.com/apis/webhooks/1/token",
        "http://discord.com/api/webhooks/1/token",
        "https://user:pass@discord.com/api/webhooks/1/token",
        "https://hooks.slack.com/services/T/B/X",
    ],
)
def test_an_address_of_another_shape(given: str) -> None:
    with pytest.raises(InvalidDocument, match=r"^url must be https:// and discord.com/api/webhooks/<id>/<token>"):
        read_document({"type": "discord", "url": given}, TYPES)


def test_a_short_limit_is_waited_for_in_the_attempt(endpoint: Endpoint, transport: Transport) -> None:
    endpoint.discord.configure({"limits": {WEBHOOK: [1, 0.3, "user"]}})
    slept: list[float] = []
    document = DESCRIPTIONS[0].document(endpoint.url())
    channel = channel_of(document, transport, sleep=slept.append, budget=10.0, chance=lambda: 0.0)
    assert channel.deliver(single()) == Delivered()
    assert slept == [1.0]  # rounded up to seconds


@pytest.mark.parametrize(("how", "wait"), [("user", 65), ("global", 65), ("edge", 65)])
def test_a_long_limit_is_handed_on(how: str, wait: int, endpoint: Endpoint, transport: Transport) -> None:
    endpoint.discord.configure({"limits": {"*": [1, 64.57, how]}})
    outcome = discord(endpoint, transport).deliver(single())
    assert isinstance(outcome, Retry)
    assert outcome.wait == timedelta(seconds=wait)
    assert len(endpoint.requests()) == 1


def test_the_body_tells_the_wait_better_than_the_header(endpoint: Endpoint, transport: Transport) -> None:
    step = limited(64.2)
    endpoint.script(PATH, default=Step(429, {**step.headers, "Retry-After": "99"}, step.body))
    outcome = discord(endpoint, transport).deliver(single())
    assert isinstance(outcome, Retry)
    assert outcome.wait == timedelta(seconds=65)


def test_what_the_imitation_says_is_understood(endpoint: Endpoint, transport: Transport) -> None:
    channel = discord(endpoint, transport)
    endpoint.discord.configure({"deleted": [WEBHOOK]})
    outcome = channel.deliver(single())
    assert isinstance(outcome, Gone)
    assert outcome.reason == "unknown_webhook"
    endpoint.discord.configure({"deleted": [], "tokens": {WEBHOOK: "another"}})
    outcome = channel.deliver(single())
    assert isinstance(outcome, Retry)
    assert outcome.reason == CREDENTIALS_REFUSED
    assert TOKEN not in outcome.error
    endpoint.discord.configure({"tokens": {WEBHOOK: TOKEN}, "unknown": ["7"]})
    outcome = channel.deliver(single(recipient="7"))
    assert isinstance(outcome, Gone)
    assert outcome.reason == "unknown_channel"


def test_what_a_caller_writes_is_no_markup_and_no_mention(endpoint: Endpoint, transport: Transport) -> None:
    body = "# a_b *c* ||d|| <@1> @here `e`\n> f\n- g [h](https://x.example/i_j-k)\n60. :fire:\n+ https:// -# x"
    discord(endpoint, transport).deliver(single(body=body))
    text = sent(endpoint)[0]["embeds"][0]["description"].removeprefix("**log4j**\n\n")
    escaped = r"\# a\_b \*c\* \|\|d\|\| \<\@1\> \@here \`e\`"
    link = r"\- g \[h\](<https://x.example/i_j-k>)"
    assert text == f"{escaped}\n\\> f\n{link}\n60\\. \\:fire\\:\n\\+ https\\:// \\-\\# x"


def test_a_digest(endpoint: Endpoint, transport: Transport) -> None:
    members = (record(payload='{"severity": "low"}'), record(kind="price_drop", subject="Bike", body=""))
    discord(endpoint, transport).deliver(Dispatch(members, digest=True))
    (embed,) = sent(endpoint)[0]["embeds"]
    assert embed == {
        "description": "**cve (1)**\n• **log4j**\nUpdate now\\.\n\n**price\\_drop (1)**\n• Bike",
        "color": COLOURS[Severity.LOW],
    }


@pytest.mark.parametrize(("tail", "kept"), [("aa", "aa"), ("aaa", "a…"), ("🚀", "🚀"), ("a🚀", "a…"), ("__", "…")])
def test_a_long_text_is_cut_at_a_character(tail: str, kept: str, endpoint: Endpoint, transport: Transport) -> None:
    filling = "x" * (4096 - 2 - len("**S**\n\n"))
    assert discord(endpoint, transport).deliver(single(subject="S", body=filling + tail)) == Delivered()
    assert sent(endpoint)[0]["embeds"][0]["description"] == f"**S**\n\n{filling}{kept}"
