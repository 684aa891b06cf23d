"""An imitation of Discord's webhooks with their documented answers."""

import json
import math
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any
from urllib.parse import parse_qs, urlsplit

LONGEST_CONTENT = 2000
LONGEST_DESCRIPTION = 4096
LONGEST_TITLE = 256
LONGEST_EMBEDS = 6000  # characters of all of them
MOST_EMBEDS = 10

Answer = tuple[int, dict[str, str], str]  # status, headers, body

_PATH = re.compile(r"/api(?:/v\d+)?/webhooks/(\d+)/([\w-]+)")
_EDGE = "<!DOCTYPE html><title>Access denied</title>error code: 1015"


@dataclass(slots=True)
class Discord:
    """What the imitated Discord knows, by a webhook's number.

    `deleted` webhooks and `unknown` threads; `tokens` of webhooks, without one any is good; `limits` (answers to give,
    seconds, how: `user`, `global` or `edge`), `*` being all of them.
    """

    deleted: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)
    tokens: dict[str, str] = field(default_factory=dict)
    limits: dict[str, tuple[int, float, str]] = field(default_factory=dict)
    messages: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    lock: Lock = field(default_factory=Lock)

    def configure(self, settings: Mapping[str, Any]) -> None:
        """Take over what a control request says; the rest stays."""
        with self.lock:
            self.deleted = set(settings.get("deleted", self.deleted))
            self.unknown = set(settings.get("unknown", self.unknown))
            self.tokens.update(settings.get("tokens", {}))
            self.limits.update(
                {key: (times, wait, how) for key, (times, wait, how) in settings.get("limits", {}).items()}
            )

    def texts(self, webhook: str) -> list[str]:
        """Return each message of a webhook as its reader sees it."""
        with self.lock:
            return ["\n".join(_texts(message)) for message in self.messages.get(webhook, [])]

    def answer(self, path: str, headers: Mapping[str, str], body: str) -> Answer | None:
        """Answer as Discord does; None if the path is no webhook's."""
        address = urlsplit(path)
        found = _PATH.fullmatch(address.path)
        if not found:
            return None
        query = parse_qs(address.query)
        with self.lock:
            return (
                self._limit(found[1])
                or self._refusal(found[1], found[2], query.get("thread_id", [""])[0])
                or _form_refusal(headers.get("Content-Type", ""), body)
                or self._made(found[1], json.loads(body), wait=query.get("wait") == ["true"])
            )

    def _limit(self, webhook: str) -> Answer | None:
        for key in (webhook, "*"):
            times, wait, how = self.limits.get(key, (0, 0.0, ""))
            if times > 0:
                self.limits[key] = (times - 1, wait, how)
                header = {"Retry-After": str(math.ceil(wait))}
                if how == "edge":
                    return 429, {"Content-Type": "text/html", **header}, _EDGE
                reply = {"message": "You are being rate limited.", "retry_after": wait, "global": how == "global"}
                return 429, {"Content-Type": "application/json", "X-RateLimit-Scope": how, **header}, json.dumps(reply)
        return None

    def _refusal(self, webhook: str, token: str, thread: str) -> Answer | None:
        if webhook in self.deleted:
            return _error(404, 10015, "Unknown Webhook")
        if self.tokens.get(webhook, token) != token:
            return _error(401, 50027, "Invalid Webhook Token")
        return _error(404, 10003, "Unknown Channel") if thread in self.unknown else None

    def _made(self, webhook: str, message: dict[str, Any], *, wait: bool) -> Answer:
        self.messages[webhook].append(message)
        if not wait:
            return 204, {}, ""
        number = str(sum(map(len, self.messages.values())))
        made = {"id": number, "webhook_id": webhook, "content": message.get("content", "")}
        return 200, {"Content-Type": "application/json"}, json.dumps(made)


def _form_refusal(content_type: str, body: str) -> Answer | None:
    """Return the refusal of a message that Discord would not take."""
    try:
        message = json.loads(body)
    except ValueError:
        return _error(400, 50109, "The request body contains invalid JSON.")
    if content_type.partition(";")[0] != "application/json" or not isinstance(message, dict):
        return _error(400, 50035, "Invalid Form Body")
    embeds = message.get("embeds", [])
    if not message.get("content") and not embeds:
        return _error(400, 50006, "Cannot send an empty message")
    too_long = (
        len(message.get("content", "")) > LONGEST_CONTENT
        or len(embeds) > MOST_EMBEDS
        or any(len(each.get("description", "")) > LONGEST_DESCRIPTION for each in embeds)
        or any(len(each.get("title", "")) > LONGEST_TITLE for each in embeds)
        or sum(map(len, _texts({"embeds": embeds}))) > LONGEST_EMBEDS
    )
    return _error(400, 50035, "Invalid Form Body", {"embeds": {"_errors": []}}) if too_long else None


def _texts(message: Mapping[str, Any]) -> list[str]:
    texts = [message.get("content", "")]
    for embed in message.get("embeds", []):
        texts += [embed.get("title", ""), embed.get("description", ""), embed.get("footer", {}).get("text", "")]
    return [str(each) for each in texts if each]


def _error(status: int, code: int, message: str, errors: Mapping[str, Any] | None = None) -> Answer:
    reply = {"message": message, "code": code, **({"errors": errors} if errors else {})}
    return status, {"Content-Type": "application/json"}, json.dumps(reply)
