"""A channel of every described type against the local endpoint, and what an endpoint can do to it.

Each type has a file `channel_<type>.py` here with `DESCRIPTIONS`, one for each way in which it sends.
"""

import gzip
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from infra.local.endpoint import Endpoint, Received, Step
from redeliver.channels import TYPES
from redeliver.channels.attempt import Attempts
from redeliver.channels.directory import Directory
from redeliver.channels.transport import Answer, Transport
from redeliver.core.notification import Dispatch, Notification, Status
from redeliver.core.outcome import Outcome
from redeliver.ports import Channel, NotConfigured

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
BUDGET = 1.5  # seconds, of a whole attempt: enough on a busy machine
SLACK = 2.0  # seconds, on a busy machine


def as_text(received: Received) -> str:
    """Return the body of a request as its reader sees it: JSON without its escapes."""
    try:
        return json.dumps(json.loads(received.body), indent=2, ensure_ascii=False)
    except ValueError:
        return received.body


def as_answer(step: Step) -> Answer:
    """Return what the transport makes of a step."""
    return Answer(step.status, step.raw or step.body.encode(), step.headers)


@dataclass(frozen=True, kw_only=True)
class Expected:
    """A documented answer and what must come of it; `wait` in seconds."""

    step: Step
    outcome: type[Outcome]
    reason: str = ""
    wait: float | None = None


@dataclass(frozen=True, kw_only=True)
class Described:
    """A channel type, or one of the ways in which it sends, as the contract's tests need to know it.

    `own` makes the fields of a document whose requests go to a base address, `path` is where they arrive; `secrets`
    are what nobody may see. `success` is the provider's answer to a message that it takes, `answers` are all that its
    documents list, by a name each. `body_decides`: a 2xx with an unreadable body is no delivery. `least_pause` is what
    the provider wants after a 5xx, in seconds: with so little time an attempt makes one request. `fits` tells whether
    the provider would take the length of what it received. `looks` are changes of the document that change what is
    rendered, by name. `http` is false for a type that does not use our transport; `environment` then points its
    library to the base address, and `reasons` name what it calls the failures of WITHOUT_ANSWER. `yes_or_no`: that
    library says no more than this, and reads answers without a bound.
    """

    type: str
    variant: str = ""
    own: Callable[[str], dict[str, Any]]
    path: str
    secrets: tuple[str, ...]
    success: Step
    answers: Mapping[str, Expected]
    body_decides: bool
    repeatable: bool = False
    least_pause: float = 0.0
    fits: Callable[[Received], bool] = lambda _: True
    text: Callable[[Received], str] = as_text
    looks: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: {"": {}})
    recipient: str | None = None  # one that a notification may name, for the golden files
    http: bool = True
    yes_or_no: bool = False
    answer: Callable[[Step], Answer] = as_answer
    environment: Callable[[str], Mapping[str, str]] = lambda _: {}
    reasons: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Return the type, and the way of sending if there are several."""
        return f"{self.type}-{self.variant}" if self.variant else self.type

    def document(self, base: str, **changes: Any) -> dict[str, Any]:
        """Return a valid document whose requests go to `base`."""
        return {"type": self.type, "allow_private_network": True, **self.own(base), **changes}

    def echo(self) -> str:
        """Return an answer's text that gives every secret of the channel away."""
        return f"refused {' '.join(self.secrets)} at http://127.0.0.1{self.path}"


def descriptions_of(type_: str) -> tuple[Described, ...]:
    """Return the descriptions of a type; none if nobody has written them."""
    module = f"{__package__}.channel_{type_}"
    found: tuple[Described, ...] = import_module(module).DESCRIPTIONS if find_spec(module) else ()
    return found


def all_described() -> dict[str, Described]:
    """Return every description by its name."""
    return {each.name: each for type_ in TYPES for each in descriptions_of(type_)}


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

# Bodies that say nothing, and those that only a real connection can bring, or that take long.
BODIES: Mapping[str, Step] = {
    "HTML": Step(body="<html><body>Sign in</body></html>"),
    "empty": Step(),
    "not JSON": Step(body='{"ok": tru'),
    "JSON of another shape": Step(body="[1]"),
    "not UTF-8": Step(raw=b"\xff\xfe\x00"),
}
BODIES_ON_THE_WIRE: Mapping[str, Step] = {
    "truncated": Step(body='{"ok":', cut=True),
    "nested too deeply": Step(body="[" * 60_000),
    "endless": Step(body="x" * 10_000, endless=True),
    "gzip bomb": Step(raw=BOMB, headers={"Content-Encoding": "gzip"}),
    "a byte every so often": Step(body="x" * 100, drip=0.05),
}


def scripted(endpoint: Endpoint, described: Described, *steps: Step, default: Step | None = None) -> None:
    """Script the path to which the channel sends; forget what came before."""
    endpoint.received.clear()
    endpoint.script(described.path, *steps, default=default)
