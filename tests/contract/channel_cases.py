"""A channel of every registered type against the local endpoint, and what an endpoint can do to it."""

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from infra.local.endpoint import Endpoint, Step
from redeliver.channels.attempt import Attempts
from redeliver.channels.directory import Directory
from redeliver.channels.transport import Transport
from redeliver.core.notification import Dispatch, Notification, Status
from redeliver.ports import Channel, NotConfigured

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
BUDGET = 0.6
SLACK = 0.5  # seconds that a busy machine may take on top

# One document per type of the registry, with its secrets.
TOKEN = "123456789:AAHfiqksKZ8WmR2zSjiQ7_v4TMoFJzGh7kE"
SIGNING_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
HOOK = "/hook/T0KEN-IN-PATH"
SECRETS: Mapping[str, tuple[str, ...]] = {
    "telegram": (TOKEN,),
    "webhook": ("T0KEN-IN-PATH", SIGNING_SECRET.removeprefix("whsec_"), "s3cret-header"),
}
PATHS: Mapping[str, str] = {"telegram": f"/bot{TOKEN}/sendMessage", "webhook": HOOK}


def document_of(type_: str, base: str) -> dict[str, Any]:
    """Return a valid document whose requests go to `base`."""
    own: dict[str, dict[str, Any]] = {
        "telegram": {"bot_token": TOKEN, "chat_id": "42", "api_base": base},
        "webhook": {"url": f"{base}{HOOK}", "secret": SIGNING_SECRET, "headers": {"X-Key": "s3cret-header"}},
    }
    return {"type": type_, "allow_private_network": True, **own[type_]}


def echo(type_: str) -> str:
    """Return an answer's text that gives every secret of the channel away."""
    return f"refused {' '.join(SECRETS[type_])} at http://127.0.0.1{PATHS[type_]}"


@dataclass
class Documents:
    """A source of documents that counts how often it is asked."""

    documents: dict[str, Any]
    asked: int = 0
    longest_seconds: float = 0.0

    def fetch(self, name: str) -> object:
        self.asked += 1
        found = self.documents.get(name, NotConfigured("no document"))
        if isinstance(found, Exception):
            raise found
        return found


def directory_of(source: Documents, transport: Transport, **attempts: Any) -> Directory:
    """Return a directory whose attempts have the small budget."""
    return Directory(source, Attempts(transport, **{"budget": BUDGET, **attempts}), timedelta(seconds=900))


def channel_of(document: Mapping[str, Any], transport: Transport, **attempts: Any) -> Channel:
    """Return the channel of a document."""
    found = directory_of(Documents({"ops": document}), transport, **attempts).look_up("ops", NOW)
    assert not isinstance(found, NotConfigured), found.why
    return found


def record(**changes: Any) -> Notification:
    """Return a notification for the channel `ops`."""
    fields: dict[str, Any] = {
        "channel": "ops",
        "dedup_key": "CVE-2021-44228",
        "kind": "cve",
        "subject": "log4j",
        "body": "Update now.",
        "created_at": NOW,
        "updated_at": NOW,
        "requested_at": NOW,
        "status": Status.PENDING,
    }
    return Notification(**{**fields, **changes})


def single(**changes: Any) -> Dispatch:
    """Return the dispatch of one notification."""
    return Dispatch((record(**changes),))


@dataclass(frozen=True)
class Failing:
    """What an endpoint does, and the reason that must come of it."""

    step: Step
    reason: str


BOMB = gzip.compress(b"\0" * 50_000_000)

# The body has left, and no answer comes.
WITHOUT_ANSWER: Mapping[str, Failing] = {
    "silence": Failing(Step(failure="hang"), "timeout"),
    "headers, a byte every so often": Failing(Step(drip=0.05, drip_headers=True), "timeout"),
    "closed": Failing(Step(failure="close"), "connection_lost"),
    "reset after the body was read": Failing(Step(failure="reset"), "connection_lost"),
    "reset before the body was read": Failing(Step(failure="reset_unread"), "connection_lost"),
    "only interim answers": Failing(Step(100), "timeout"),
    "an answer that is no HTTP": Failing(Step(body="\0" * 80_000, failure="garbage"), "unreadable_answer"),
}

BODIES: Mapping[str, Step] = {
    "HTML": Step(body="<html><body>Sign in</body></html>"),
    "empty": Step(),
    "truncated": Step(body='{"ok":', cut=True),
    "not JSON": Step(body='{"ok": tru'),
    "JSON of another shape": Step(body="[1]"),
    "nested too deeply": Step(body="[" * 60_000),
    "not UTF-8": Step(raw=b"\xff\xfe\x00"),
    "a byte every so often": Step(body="x" * 100, drip=0.05),
    "endless": Step(body="x" * 10_000, endless=True),
    "gzip bomb": Step(raw=BOMB, headers={"Content-Encoding": "gzip"}),
}


def ok_body(type_: str) -> str:
    """Return what a provider answers when it has taken the message."""
    return json.dumps({"ok": True, "result": {"message_id": 1}}) if type_ == "telegram" else ""


def scripted(endpoint: Endpoint, type_: str, *steps: Step, default: Step | None = None) -> None:
    """Script the path to which the channel of that type sends."""
    endpoint.script(PATHS[type_], *steps, default=default)
