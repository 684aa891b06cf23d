"""An imitation of Slack's incoming webhooks and of `chat.postMessage`, with their documented answers."""

import json
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

METHOD = "/api/chat.postMessage"
LONGEST_TEXT = 40_000
LONGEST_BLOCK_TEXT = 3000
LONGEST_BLOCKS = 13_000
MOST_BLOCKS = 50
MOST_ATTACHMENTS = 100

Answer = tuple[int, dict[str, str], str]  # status, headers, body

# https://api.slack.com/changelog/2016-05-17-changes-to-errors-for-incoming-webhooks; any other error is a 400
_STATUSES = {"channel_not_found": 404, "no_service": 404, "no_team": 404, "channel_is_archived": 410}
_STATUSES |= {"invalid_token": 403, "action_prohibited": 403, "rollup_error": 500}


@dataclass(slots=True)
class Slack:
    """What the imitated Slack knows, by a conversation's id or a webhook's path behind `/services/`.

    `errors` holds what each answers, such as `channel_not_found`, `*` being all of them; `limits` (answers to give,
    seconds of Retry-After). Without `tokens` any token is good.
    """

    errors: dict[str, str] = field(default_factory=dict)
    limits: dict[str, tuple[int, int]] = field(default_factory=dict)
    tokens: set[str] = field(default_factory=set)
    messages: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    lock: Lock = field(default_factory=Lock)

    def configure(self, settings: Mapping[str, Any]) -> None:
        """Take over what a control request says; the rest stays, an error of null goes."""
        with self.lock:
            for target, error in settings.get("errors", {}).items():
                self.errors.pop(target, None)
                self.errors |= {target: error} if error else {}
            self.limits.update({target: (times, wait) for target, (times, wait) in settings.get("limits", {}).items()})
            self.tokens = set(settings.get("tokens", self.tokens))

    def texts(self, target: str) -> list[str]:
        """Return each message of a target as its reader sees it."""
        with self.lock:
            return ["\n".join(_texts(message)) for message in self.messages.get(target, [])]

    def answer(self, path: str, headers: Mapping[str, str], body: str) -> Answer | None:
        """Answer as Slack does; None if the path is none of its."""
        with self.lock:
            if path.startswith("/services/"):
                return self._hook(path.removeprefix("/services/"), body)
            return self._method(headers.get("Authorization", ""), body) if path == METHOD else None

    def _hook(self, target: str, body: str) -> Answer:
        if wait := self._limit(target):
            return 429, {"Retry-After": str(wait)}, ""
        message = _parsed(body)
        error = self._error(target) or ("invalid_payload" if message is None else _refusal(message))
        if error or message is None:
            return _STATUSES.get(error, 400), {}, error
        self.messages[target].append(message)
        return 200, {}, "ok"

    def _method(self, authorization: str, body: str) -> Answer:
        message = _parsed(body) or {}
        target = str(message.get("channel", ""))
        if wait := self._limit(target):
            return _reply({"ok": False, "error": "ratelimited"}, 429, {"Retry-After": str(wait)})
        error = self._token_error(authorization) or self._error(target) or _refusal(message)
        if error or not target:
            return _reply({"ok": False, "error": error or "channel_not_found"})
        self.messages[target].append(message)
        return _reply({"ok": True, "channel": target, "ts": f"{time.time():.6f}", "message": {"text": message["text"]}})

    def _limit(self, target: str) -> int:
        for key in (target, "*"):
            times, wait = self.limits.get(key, (0, 0))
            if times > 0:
                self.limits[key] = (times - 1, wait)
                return wait
        return 0

    def _error(self, target: str) -> str:
        return self.errors.get(target) or self.errors.get("*", "")

    def _token_error(self, authorization: str) -> str:
        scheme, _, token = authorization.partition(" ")
        if scheme != "Bearer" or not token:
            return "not_authed"
        return "invalid_auth" if self.tokens and token not in self.tokens else ""


def _parsed(body: str) -> dict[str, Any] | None:
    try:
        message = json.loads(body)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None


def _refusal(message: Mapping[str, Any]) -> str:
    """Return the error of a message that Slack would not take."""
    attachments = message.get("attachments", [])
    if len(attachments) > MOST_ATTACHMENTS:
        return "too_many_attachments"
    if len(str(message.get("text", ""))) > LONGEST_TEXT:
        return "msg_too_long"
    if not message.get("text") and not message.get("blocks") and not attachments:
        return "no_text"
    if not _fit(message.get("blocks", [])):
        return "invalid_blocks"
    if not all(_fit(each.get("blocks", [])) for each in attachments):
        return "invalid_attachments"
    return "msg_blocks_too_long" if sum(map(len, _texts({**message, "text": ""}))) > LONGEST_BLOCKS else ""


def _fit(blocks: list[dict[str, Any]]) -> bool:
    texts = [each for block in blocks if block.get("type") != "rich_text" for each in _block_texts([block])]
    return len(blocks) <= MOST_BLOCKS and all(0 < len(text) <= LONGEST_BLOCK_TEXT for text in texts)


def _texts(message: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a reader sees: where there are blocks, `text` is for notifications only."""
    if not message.get("blocks"):
        yield str(message.get("text", ""))
    for part in (message, *message.get("attachments", [])):
        yield from _block_texts(part.get("blocks", []))


def _block_texts(blocks: list[dict[str, Any]]) -> Iterator[str]:
    for block in blocks:
        if block.get("type") == "rich_text":
            yield "".join(_rich(part) for part in block["elements"])
        else:
            for text in block.get("elements", [block.get("text", {})]):
                yield str(text.get("text", ""))


def _rich(element: Mapping[str, Any]) -> str:
    if "elements" in element:
        return "".join(_rich(part) for part in element["elements"])
    return str(element.get("text", element.get("url", "")))


def _reply(reply: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    return status, {"Content-Type": "application/json; charset=utf-8", **(headers or {})}, json.dumps(reply)
