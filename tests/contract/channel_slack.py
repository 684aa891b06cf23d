"""Slack, as its documents have it answer: a webhook in words, the Web API in JSON."""

import html
import json
from typing import Any

from infra.local.endpoint import Received, Step
from redeliver.core.outcome import CREDENTIALS_REFUSED, Gone, Outcome, Reject, Retry
from tests.contract.channel_cases import Described, Expected

URL_TOKEN = "XXXXXXXXXXXXXXXXXXXXXXXX"
HOOK = f"/services/T00000000/B00000000/{URL_TOKEN}"
BOT_TOKEN = "xoxb-17653672481-19874698323-pdFZKVeTuE8sk7oOcHrzqqgy"
METHOD = "/api/chat.postMessage"


def refused(error: str, status: int = 200, **more: Any) -> Step:
    """Return an error as the Web API spells it."""
    return Step(status, {"Content-Type": "application/json"}, json.dumps({"ok": False, "error": error, **more}))


def said(status: int, outcome: type[Outcome], *words: str, reason: str = "") -> dict[str, Expected]:
    return {word: Expected(step=Step(status, body=word), outcome=outcome, reason=reason or word) for word in words}


def errors(outcome: type[Outcome], *codes: str, reason: str = "") -> dict[str, Expected]:
    return {code: Expected(step=refused(code), outcome=outcome, reason=reason or code) for code in codes}


def text(received: Received) -> str:
    """Return the message as its reader sees it, below what else was sent; a link in `<…>`, bold text between `*`."""
    message = json.loads(received.body)
    (attachment,) = message.pop("attachments")
    blocks, fallback = message.pop("blocks"), message.pop("text")
    shown = [*shown_blocks(blocks), attachment["color"], *shown_blocks(attachment["blocks"])]
    return "\n".join([json.dumps(message), "", fallback, "", *shown])


def shown_blocks(blocks: list[dict[str, Any]]) -> list[str]:
    shown = []
    for block in blocks:
        if block["type"] == "rich_text":
            (section,) = block["elements"]
            shown += ["[rich_text]", "".join(map(shown_element, section["elements"]))]
        else:
            shown += [f"[{block['type']}]", *(each["text"] for each in block["elements"])]
    return shown


def shown_element(element: dict[str, Any]) -> str:
    if element["type"] == "link":
        return f"<{element['url']}>"
    text: str = element["text"]
    return f"*{text}*" if element.get("style") == {"bold": True} else text


def fits(received: Received) -> bool:
    """Tell whether Slack takes it: `&`, `<` and `>` are counted as their escapes."""
    message = json.loads(received.body)
    (attachment,) = message["attachments"]
    blocks = json.dumps([message["blocks"], attachment["blocks"]], ensure_ascii=False)
    size = len(html.escape(blocks, quote=False).encode(errors="surrogatepass"))
    elements = [each for block in message["blocks"] for each in block["elements"][0]["elements"]]
    return 0 < len(message["text"]) <= 4000 and len(elements) > 0 and len(attachment["blocks"]) <= 50 and size <= 13_000


WEBHOOK_ANSWERS = {
    **said(
        400,
        Reject,
        "invalid_payload",
        "no_text",
        "missing_text_or_fallback_or_attachments",
        "invalid_blocks",
        "invalid_attachments",
        "too_many_attachments",
    ),
    **said(400, Gone, "user_not_found"),
    **said(403, Gone, "action_prohibited", "posting_to_general_channel_denied"),
    **said(403, Retry, "invalid_token", reason=CREDENTIALS_REFUSED),
    **said(404, Gone, "channel_not_found", "no_service", "no_service_id", "no_active_hooks", "no_team"),
    **said(410, Gone, "channel_is_archived"),
    **said(403, Gone, "team_disabled"),
    **said(500, Retry, "rollup_error"),
    "of before 2016": Expected(
        step=Step(500, body="channel_is_archived\n"), outcome=Gone, reason="channel_is_archived"
    ),
    "a success that is none": Expected(step=Step(body="<html>"), outcome=Retry, reason="unreadable_answer"),
    "a word in a page": Expected(step=Step(404, body="<html>no_service"), outcome=Retry, reason="http_404"),
    "gone": Expected(step=Step(410), outcome=Gone, reason="http_410"),
    "busy": Expected(step=Step(429, {"Retry-After": "30"}), outcome=Retry, reason="http_429", wait=30),
    "busy, said in the body": Expected(
        step=Step(429, body='{"ok": false, "error": "rate_limited", "retry_after": 31}'),
        outcome=Retry,
        reason="http_429",
        wait=31,
    ),
}

METHOD_ANSWERS = {
    **errors(
        Reject,
        "msg_too_long",
        "msg_blocks_too_long",
        "no_text",
        "invalid_blocks",
        "invalid_blocks_format",
        "invalid_attachments",
        "too_many_attachments",
    ),
    **errors(Gone, "channel_not_found", "is_archived", "not_in_channel"),
    **errors(Gone, "restricted_action", "restricted_action_read_only_channel", reason="restricted_action"),
    **errors(
        Retry,
        "not_authed",
        "invalid_auth",
        "account_inactive",
        "token_revoked",
        "token_expired",
        "missing_scope",
        "no_permission",
        "not_allowed_token_type",
        reason=CREDENTIALS_REFUSED,
    ),
    **errors(Retry, "rate_limited", reason="ratelimited"),
    **errors(Retry, "fatal_error", "internal_error", "service_unavailable", "request_timeout"),
    **errors(Retry, "team_added_to_org", "org_login_required", "ekm_access_denied"),
    "any other": Expected(step=refused("as_user_not_supported"), outcome=Retry, reason="unlisted_error"),
    "no error": Expected(step=Step(body='{"ok": false}'), outcome=Retry, reason="unlisted_error"),
    "a success that is none": Expected(step=Step(body="{}"), outcome=Retry, reason="unreadable_answer"),
    "busy": Expected(
        step=Step(429, {"Retry-After": "30"}, '{"ok": false, "error": "ratelimited"}'),
        outcome=Retry,
        reason="ratelimited",
        wait=30,
    ),
    "busy, said in the body": Expected(
        step=refused("ratelimited", retry_after=31), outcome=Retry, reason="ratelimited", wait=31
    ),
    "busy, in HTML": Expected(
        step=Step(429, {"Retry-After": "32"}, "<html>"), outcome=Retry, reason="http_429", wait=32
    ),
    "unavailable": Expected(step=refused("service_unavailable", 503), outcome=Retry, reason="service_unavailable"),
}

DESCRIPTIONS = (
    Described(
        type="slack",
        variant="webhook",
        own=lambda base: {"url": f"{base}{HOOK}"},
        path=HOOK,
        secrets=(URL_TOKEN,),
        success=Step(body="ok"),
        answers=WEBHOOK_ANSWERS,
        body_decides=True,
        fits=fits,
        text=text,
    ),
    Described(
        type="slack",
        variant="bot",
        own=lambda base: {"bot_token": BOT_TOKEN, "channel_id": "C0123456789", "api_base": f"{base}/api"},
        path=METHOD,
        secrets=(BOT_TOKEN,),
        success=Step(body='{"ok": true, "channel": "C0123456789", "ts": "1503435956.000247"}'),
        answers=METHOD_ANSWERS,
        body_decides=True,
        fits=fits,
        text=text,
        recipient="C0000000001",
    ),
)
