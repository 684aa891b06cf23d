"""An imitation of `sendMessage` of Telegram's Bot API with its documented answers."""

import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

LONGEST_TEXT = 4096

Answer = tuple[int, dict[str, Any]]


@dataclass(slots=True)
class Telegram:
    """What the imitated Telegram knows; chats are the texts of their ids, `*` in `limits` is all of them.

    `limits` holds (answers to give, retry_after seconds).
    """

    blocked: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)
    moved: dict[str, str] = field(default_factory=dict)
    limits: dict[str, tuple[int, int]] = field(default_factory=dict)
    tokens: set[str] = field(default_factory=set)
    messages: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    lock: Lock = field(default_factory=Lock)

    def configure(self, settings: Mapping[str, Any]) -> None:
        """Take over what a control request says; the rest stays."""
        with self.lock:
            for name in ("blocked", "unknown", "tokens"):
                if name in settings:
                    setattr(self, name, set(settings[name]))
            self.moved.update(settings.get("moved", {}))
            self.limits.update({chat: (times, wait) for chat, (times, wait) in settings.get("limits", {}).items()})

    def send_message(self, token: str, request: Mapping[str, Any]) -> Answer:
        """Answer as the Bot API does."""
        chat, text = str(request.get("chat_id", "")), str(request.get("text", ""))
        with self.lock:
            if self.tokens and token not in self.tokens:
                return _refusal(401, "Unauthorized")
            refusal = self._limit(chat) or self._chat_refusal(chat) or _text_refusal(text, request.get("parse_mode"))
            if refusal is not None:
                return refusal
            self.messages[chat].append(text)
            number = sum(map(len, self.messages.values()))
            result = {"message_id": number, "date": int(time.time()), "chat": {"id": chat}, "text": text}
        return 200, {"ok": True, "result": result}

    def _limit(self, chat: str) -> Answer | None:
        for key in (chat, "*"):
            times, wait = self.limits.get(key, (0, 0))
            if times > 0:
                self.limits[key] = (times - 1, wait)
                return _refusal(429, f"Too Many Requests: retry after {wait}", {"retry_after": wait})
        return None

    def _chat_refusal(self, chat: str) -> Answer | None:
        if chat in self.moved:
            parameters = {"migrate_to_chat_id": int(self.moved[chat])}
            return _refusal(400, "Bad Request: group chat was upgraded to a supergroup chat", parameters)
        if chat in self.blocked:
            return _refusal(403, "Forbidden: bot was blocked by the user")
        return _refusal(400, "Bad Request: chat not found") if chat in self.unknown or not chat else None


def _text_refusal(text: str, parse_mode: object) -> Answer | None:
    if not text.strip():
        return _refusal(400, "Bad Request: message text is empty")
    if len(text.encode("utf-16-le", "surrogatepass")) // 2 > LONGEST_TEXT:
        return _refusal(400, "Bad Request: message is too long")
    if parse_mode == "HTML" and text.count("<") != text.count(">"):
        return _refusal(400, "Bad Request: can't parse entities: unclosed start tag at byte offset 0")
    return None


def _refusal(status: int, description: str, parameters: Mapping[str, Any] | None = None) -> Answer:
    reply: dict[str, Any] = {"ok": False, "error_code": status, "description": description}
    if parameters:
        reply["parameters"] = parameters
    return status, reply
