"""Which addresses a document may hold: what can never work is refused at once, what is legitimate is not."""

from collections.abc import Mapping
from typing import Any

import pytest

from redeliver.channels import TYPES
from redeliver.channels.document import InvalidDocument, read_document
from redeliver.channels.transport import NoAnswer, Post, Transport
from redeliver.channels.urls import Url
from tests.contract.channel_cases import all_described

BASES = {  # the fields to which the type appends a path
    "telegram": "api_base",
    "slack": "api_base",
    "pushover": "api_base",
    "pagerduty": "api_base",
    "gotify": "url",
    "ntfy": "server",
}
WHOLE = {"webhook": "url", "teams": "url", "slack": "url"}  # the fields that are requested as they are
DOCUMENTS: Mapping[str, dict[str, Any]] = {
    each.type: each.document("https://example.com") for each in reversed(all_described().values())
}
FIELDS = [*BASES.items(), *WHOLE.items()]


def document_of(type_: str, field: str, value: str, *, private: bool = False) -> dict[str, Any]:
    own = {"type": "slack"} if (type_, field) == ("slack", "url") else DOCUMENTS[type_]
    if (type_, field) == ("slack", "api_base"):
        own = {"type": "slack", "bot_token": "xoxb-1234567890", "channel_id": "C0123456789"}
    return {**own, field: value, "allow_private_network": private}


def reads(type_: str, field: str, value: str, *, private: bool = False) -> bool:
    try:
        document = read_document(document_of(type_, field, value, private=private), TYPES)
        TYPES[type_](document)
    except InvalidDocument as error:
        if not str(error).startswith(f"{field} must be "):
            raise
        return False
    return True


NEVER = [
    "https://*.example",
    "https://*",
    "https://💩.la/",
    "https://a..b/",
    "https://.a/",
    "https://-a.example/",
    "https://a-.example/",
    f"https://{'a' * 64}.example/",
    f"https://{'a.' * 127}example/",
    "https://a,b.example/",
    "https://a'b.example/",
    "https://x:0/",
    "https://x:65536/",
    "https://x:8o/",
    "https://",
    "https:///x",
    "https://:443/",
    "https://./",
    "https://256.1.1.1/",
    "https://1.2.3.4.5/",
    "https://[::1",
    "https://[::g]/",
    "https://[1.2.3.4]/",
    "https://\u200bexample.com/",
    "https://me@example.com/",
    "https://@example.com/",
    "https://example.com\\@evil.example/",
    "https:example.com",
    "//example.com",
]
ALWAYS = [
    "https://example.com",
    "https://EXAMPLE.com:443/",
    "https://example.com./",
    "https://a.b.example:65535/",
    "https://my_service.example/",
    "https://xn--bcher-kva.example/",
    "https://bücher.example/",
    "https://BÜCHER.example/",
    "https://faß.example/",
    "https://例え.テスト/",
    "https://1.1.1.1/",
    "https://[2606:4700:4700::1111]/",
    f"https://{'a' * 63}.example/",
    "https://example.com/behind/a/proxy",
]
PRIVATE = [
    "http://example.com/",
    "https://127.0.0.1/",
    "https://127.1/",
    "https://2130706433/",
    "https://0x7f.1/",
    "https://10.0.0.1:8443/",
    "https://169.254.169.254/",
    "https://[::1]/",
    "https://[fd00::1]/",
    "http://gotify:8080/",
    "http://localhost/",
]


@pytest.mark.parametrize(("type_", "field"), FIELDS)
@pytest.mark.parametrize("value", NEVER)
def test_what_can_never_work_is_refused(type_: str, field: str, value: str) -> None:
    assert not reads(type_, field, value)
    assert not reads(type_, field, value, private=True)


@pytest.mark.parametrize(("type_", "field"), FIELDS)
@pytest.mark.parametrize("value", ALWAYS)
def test_what_may_work_is_taken(type_: str, field: str, value: str) -> None:
    assert reads(type_, field, value)


@pytest.mark.parametrize(("type_", "field"), FIELDS)
@pytest.mark.parametrize("value", PRIVATE)
def test_what_is_not_public_has_to_be_allowed(type_: str, field: str, value: str) -> None:
    assert not reads(type_, field, value)
    assert reads(type_, field, value, private=True)


@pytest.mark.parametrize("value", [*ALWAYS, *PRIVATE])
def test_the_transport_can_use_what_the_rule_takes(value: str) -> None:
    asked: list[str] = []

    def nobody(host: str, port: int) -> list[Any]:
        asked.append(host.encode("idna").decode())  # as getaddrinfo does
        raise OSError

    result = Transport(resolve=nobody).post(Post(Url().read(value), b"", {}, allow_private=True), lambda: 1.0)
    assert isinstance(result, NoAnswer)
    assert result.reason == "name_failed"
    assert len(asked) == 1


@pytest.mark.parametrize(("type_", "field"), BASES.items())
@pytest.mark.parametrize("end", ["?a=b", "?", "#a", "#", "/x?", "/x#a"])
def test_nothing_can_be_appended_to_a_query_or_a_fragment(type_: str, field: str, end: str) -> None:
    assert not reads(type_, field, f"https://proxy.example{end}")


@pytest.mark.parametrize(("type_", "field"), WHOLE.items())
@pytest.mark.parametrize("value", ["https://hook.example/in?sig=abc", "https://hook.example?sig=abc"])
def test_a_whole_address_may_have_a_query(type_: str, field: str, value: str) -> None:
    assert reads(type_, field, value)


SHAPES = {  # as the providers' documents give them, and what is often pasted instead
    ("telegram", "https://api.telegram.org"): True,
    ("telegram", "https://api.telegram.org/"): True,
    ("telegram", "https://api.telegram.org/bot123456789:AAHfiqksKZ8WmR2zSjiQ7_v4TMoFJzGh7kE"): False,
    ("telegram", "https://proxy.example/telegram"): True,
    ("telegram", "https://proxy.example/bot1:a/sendMessage"): False,
    ("slack api_base", "https://slack.com/api"): True,
    ("slack api_base", "https://slack.com/api/"): True,
    ("slack api_base", "https://slack-gov.com/api"): True,
    ("slack api_base", "https://slack.com"): False,
    ("slack api_base", "https://slack.com/api/chat.postMessage"): False,
    ("slack", "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX"): True,
    ("slack", "https://hooks.slack-gov.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX"): True,
    ("slack", "https://chat.example.com/hooks/xxx-generatedkey-xxx"): True,  # Mattermost takes the same, and says ok
    ("slack", "https://hooks.slack.com/triggers/T0123456789/3141592653589/c6e6c0d868b3054ca0f4611a5dbadaf"): False,
    ("slack", "https://hooks.slack.com/workflows/T0123456789/A01/302/abc"): False,
    ("slack", "https://HOOKS.slack.com./triggers/T0123456789/3141592653589/c6e6c0d868b3054ca0f4611a5dbadaf"): False,
    ("slack", "https://hooks.slack.com/services/T00000000/B00000000"): False,
    ("slack", "https://hooks.slack.com/"): False,
    ("slack", "https://app.slack.com/client/T1/C1"): False,
    ("slack", "https://example.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX"): False,
    ("discord", "https://discord.com/api/webhooks/1134639024703815690/a-B_c"): True,
    ("discord", "https://discordapp.com/api/webhooks/1134639024703815690/a-B_c"): True,
    ("discord", "https://ptb.discord.com/api/v10/webhooks/1134639024703815690/a-B_c"): True,
    ("discord", "https://*.discord.com/api/webhooks/1134639024703815690/a-B_c"): False,
    ("discord", "https://discord.com/api/webhooks/1134639024703815690/a-B_c?thread_id=1"): False,
    ("discord", "https://discord.com/channels/1/2"): False,
    ("discord", "https://💩.la/api/webhooks/1134639024703815690/a-B_c"): False,
    ("teams", "https://prod-00.westeurope.logic.azure.com:443/workflows/a/triggers/manual/paths/invoke?sig=x"): True,
    ("teams", "https://d.e.environment.api.powerplatform.com:443/powerautomate/automations/direct/a?sig=x"): True,
    ("teams", "https://contoso.webhook.office.com/webhookb2/a@b/IncomingWebhook/c/d"): True,
    ("teams", "https://outlook.office.com/webhook/a@b/IncomingWebhook/c/d"): True,
    ("ntfy", "https://ntfy.sh"): True,
    ("ntfy", "https://ntfy.sh/"): True,
    ("ntfy", "https://ntfy.sh/mytopic"): False,
    ("ntfy", "https://example.com/ntfy"): True,  # behind a proxy that takes it off
    ("gotify", "https://gotify.example.com"): True,
    ("gotify", "https://example.com/gotify/"): True,  # https://gotify.net/docs/nginx, "At a subpath"
    ("gotify", "https://gotify.example.com/message"): False,
    ("gotify", "https://gotify.example.com/message?token=A"): False,
    ("pagerduty", "https://events.pagerduty.com"): True,
    ("pagerduty", "https://events.eu.pagerduty.com"): True,
    ("pagerduty", "https://events.pagerduty.com/v2/enqueue"): False,
    ("pagerduty", "https://events.eu.pagerduty.com/v2/enqueue/"): False,
    ("pagerduty", "https://events.pagerduty.com/v2"): False,
    ("pushover", "https://api.pushover.net"): True,
    ("pushover", "https://api.pushover.net/1/messages.json"): False,
    ("pushover", "https://api.pushover.net/1"): False,
}


@pytest.mark.parametrize(("place", "value", "taken"), [(*key, taken) for key, taken in SHAPES.items()])
def test_the_shapes_of_providers(place: str, value: str, taken: bool) -> None:
    type_, _, field = place.partition(" ")
    assert reads(type_, field or {**BASES, **WHOLE, "discord": "url"}[type_], value) is taken


@pytest.mark.parametrize(("type_", "field"), BASES.items())
def test_the_slash_at_the_end_of_a_base_is_left_out(type_: str, field: str) -> None:
    document = read_document(document_of(type_, field, "https://proxy.example/a//"), TYPES)
    assert document.own[field] == "https://proxy.example/a"
