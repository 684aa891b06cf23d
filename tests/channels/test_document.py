from typing import Any

import pytest

from redeliver.channels import TYPES
from redeliver.channels.document import COMMON, Document, InvalidDocument, read_document
from redeliver.core.redaction import redact
from redeliver.ports import Mode
from tests.contract.channel_cases import all_described
from tests.contract.channel_telegram import TOKEN
from tests.contract.channel_webhook import SIGNING_SECRET

TELEGRAM = {"type": "telegram", "bot_token": TOKEN, "chat_id": "-1001234567890"}
WEBHOOK = {"type": "webhook", "url": "https://example.com/in?key=abcdefgh"}


def read(raw: object) -> Document:
    return read_document(raw, TYPES)


def refusal(raw: object) -> str:
    with pytest.raises(InvalidDocument) as caught:
        read(raw)
    return str(caught.value)


def test_what_is_missing_has_its_default() -> None:
    document = read(TELEGRAM)
    assert (document.mode, document.digest_seconds, document.allow_private_network) == (Mode.IMMEDIATE, 0, False)
    assert document.own == {
        "bot_token": TOKEN,
        "chat_id": "-1001234567890",
        "message_thread_id": None,
        "api_base": "https://api.telegram.org",
        "parse_mode": "none",
    }


def test_texts_are_trimmed_and_numbers_taken_for_texts() -> None:
    document = read({**TELEGRAM, "bot_token": f" {TOKEN}\n", "chat_id": -1001234567890, "mode": " digest "})
    assert document.own["bot_token"] == TOKEN
    assert document.own["chat_id"] == "-1001234567890"
    assert document.mode is Mode.DIGEST


@pytest.mark.parametrize("blank", ["", "  ", "\n", None])
@pytest.mark.parametrize(("document", "field"), [(TELEGRAM, "bot_token"), (TELEGRAM, "chat_id"), (WEBHOOK, "url")])
def test_blank_is_missing(document: dict[str, Any], field: str, blank: str | None) -> None:
    assert refusal({**document, field: blank}).startswith(f"{field} is missing: it must be ")


@pytest.mark.parametrize(
    ("document", "field", "bad", "allowed"),
    [
        (TELEGRAM, "type", "pigeon", "telegram, webhook"),
        (TELEGRAM, "type", ["telegram"], "telegram, webhook"),
        (TELEGRAM, "mode", "weekly", "immediate, digest"),
        (TELEGRAM, "mode", {}, "immediate, digest"),
        (TELEGRAM, "digest_seconds", -1, "from 0 to 86400"),
        (TELEGRAM, "digest_seconds", 86_401, "from 0 to 86400"),
        (TELEGRAM, "digest_seconds", "60", "from 0 to 86400"),
        (TELEGRAM, "max_age", -1, "from 0 to 31622400"),
        (TELEGRAM, "max_age", 31_622_401, "from 0 to 31622400"),
        (TELEGRAM, "digest_seconds", True, "from 0 to 86400"),
        (TELEGRAM, "digest_seconds", 1.5, "from 0 to 86400"),
        (TELEGRAM, "enabled", "yes", "true or false"),
        (TELEGRAM, "allow_private_network", 1, "true or false"),
        (TELEGRAM, "bot_token", "sesame-open", "@BotFather"),
        (TELEGRAM, "bot_token", f"{TOKEN}/../x", "@BotFather"),
        (TELEGRAM, "chat_id", "a b", "@name"),
        (TELEGRAM, "chat_id", True, "@name"),
        (TELEGRAM, "chat_id", 0, "@name"),
        (TELEGRAM, "api_base", "http://api.telegram.org", "https://"),
        (TELEGRAM, "api_base", "api.telegram.org", "https://"),
        (TELEGRAM, "parse_mode", "html", "HTML"),
        (TELEGRAM, "parse_mode", "Markdown", "MarkdownV2"),
        (WEBHOOK, "url", "http://example.com", "https://"),
        (WEBHOOK, "url", "ftp://example.com", "https://"),
        (WEBHOOK, "url", "https://", "https://"),
        (WEBHOOK, "url", "https://me:pw@example.com", "without user and password"),
        (WEBHOOK, "url", "https://example.com:99999/", "https://"),
        (WEBHOOK, "url", "https://exa mple.com/", "https://"),
        (WEBHOOK, "url", "https://example.com/\r\nX: y", "https://"),
        (WEBHOOK, "url", "https://[::1", "https://"),
        (WEBHOOK, "url", f"https://{'a' * 64}.com", "https://"),
        (WEBHOOK, "url", 7, "https://"),
        (WEBHOOK, "secret", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_"),
        (WEBHOOK, "secret", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa", "24 to 64"),
        (WEBHOOK, "secret", f"whsec_{'A' * 88}", "24 to 64"),
        (WEBHOOK, "secret", f"{SIGNING_SECRET}!", "base64"),
        (WEBHOOK, "secret", [], "1 to 4"),
        (WEBHOOK, "secret", [SIGNING_SECRET] * 5, "1 to 4"),
        (WEBHOOK, "secret", [SIGNING_SECRET, ""], "whsec_"),
        (WEBHOOK, "secret", [SIGNING_SECRET, 7], "whsec_"),
        (WEBHOOK, "secret", [[SIGNING_SECRET]], "whsec_"),
        (WEBHOOK, "secret", {"0": SIGNING_SECRET}, "whsec_"),
        (WEBHOOK, "headers", "X: y", "an object"),
        (WEBHOOK, "headers", {"X": 7}, "printable ASCII"),
        (WEBHOOK, "headers", {"X": "a\r\nY: b"}, "line ends"),
        (WEBHOOK, "headers", {"X": "é"}, "printable ASCII"),
        (WEBHOOK, "headers", {"a b": "c"}, "header names"),
        (WEBHOOK, "headers", {"": "c"}, "header names"),
        (WEBHOOK, "headers", {"Webhook-ID": "c"}, "webhook-id"),
        (WEBHOOK, "headers", {"HOST": "c"}, "host"),
    ],
)
def test_a_bad_value_is_named_with_what_is_allowed(
    document: dict[str, Any], field: str, bad: Any, allowed: str
) -> None:
    message = refusal({**document, field: bad})
    assert message.startswith(f"{field} must be ")
    assert allowed in message
    assert len(str(bad)) < 9 or str(bad) not in message


NOTHING_TAKES: tuple[Any, ...] = ({"a": {}}, [[]], 1.5, "\x00")  # no rule of a field
WRONG_TOGETHER: tuple[dict[str, Any], ...] = (
    {"type": "slack"},
    {"type": "slack", "url": "https://example.com", "bot_token": "xoxb-12345678"},
    {"type": "slack", "bot_token": "xoxb-12345678"},
    {"type": "slack", "channel_id": "C0123456789"},
    {"type": "ntfy", "topic": "a", "token": "b", "user": "c", "password": "d"},
    {"type": "ntfy", "topic": "a", "user": "c"},
    {"type": "sns"},
    {"type": "sns", "topic_arn": "arn:aws:sns:eu-central-1:123456789012:ops", "region": "eu-west-1"},
    {"type": "apprise", "url": "json://example.com"},
)
COMPLAINTS: dict[str, dict[str, Any]] = {
    "no type": {},
    "an unknown type": {"type": "pigeon"},
    **{f"wrong together: {document}": document for document in WRONG_TOGETHER},
    **{
        f"{name}: {field} = {value!r}": {**each.document("https://example.com"), field: value}
        for name, each in all_described().items()
        for field in (*TYPES[each.type].fields, *COMMON, "unknown")
        for value in (*NOTHING_TAKES, None, False)
    },
}


def complaint(document: dict[str, Any]) -> str | None:
    """Return what is said of a document that cannot be used."""
    try:
        read = read_document(document, TYPES)
        TYPES[read.type](read)
    except InvalidDocument as error:
        return str(error)
    return None  # the field may be missing, or take a flag


def test_what_is_said_of_a_document_is_not_taken_for_a_secret() -> None:
    told = [text for document in COMPLAINTS.values() if (text := complaint(document))]
    assert [text for text in told if redact(text) != text] == []
    assert all(complaint(document) for document in WRONG_TOGETHER)


def test_there_is_something_said_of_every_field() -> None:
    for name, each in all_described().items():
        document = each.document("https://example.com")
        for field in TYPES[each.type].fields:
            assert refusal({**document, field: {"a": {}}}).startswith(f"{field} must be "), name


def test_an_unknown_field_is_refused_by_name() -> None:
    assert refusal({**TELEGRAM, "chat": "7"}).startswith("unknown field 'chat': a telegram channel has type, mode, ")
    assert "secret" in refusal({**TELEGRAM, "secret": SIGNING_SECRET})


def test_a_channel_that_is_switched_off_is_not_configured() -> None:
    assert "enabled is false" in refusal({**TELEGRAM, "enabled": False})


@pytest.mark.parametrize("raw", [None, [], "telegram", 7, {}])
def test_a_document_is_an_object_with_a_type(raw: object) -> None:
    assert "type" in refusal(raw) or "object" in refusal(raw)


def test_private_networks_allow_plain_http() -> None:
    assert read({**WEBHOOK, "url": "http://10.0.0.1/", "allow_private_network": True}).own["url"] == "http://10.0.0.1/"


def test_the_secrets_of_a_document_are_known() -> None:
    assert TOKEN in read(TELEGRAM).secrets
    document = read({**WEBHOOK, "secret": SIGNING_SECRET, "headers": {"Authorization": "Bearer abc.def"}})
    assert {"abcdefgh", "/in?key=abcdefgh", SIGNING_SECRET.removeprefix("whsec_"), "abc.def"} <= document.secrets
    assert not any(secret in repr(document) for secret in document.secrets if len(secret) > 5)
