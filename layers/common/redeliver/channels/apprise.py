"""Apprise: any service that its library knows, by an Apprise URL, https://appriseit.com/services/.

The library is no part of the common layer: it comes with one of its own, `infra/apprise_layer.yaml`.
"""

import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from threading import Lock
from typing import Any, ClassVar
from urllib.parse import unquote

from redeliver.channels.answers import Answers, Means, Row
from redeliver.channels.attempt import Attempt
from redeliver.channels.bounded import within
from redeliver.channels.document import Document, Field, InvalidDocument
from redeliver.channels.http import body_text
from redeliver.channels.rules import Number, Schema
from redeliver.channels.severity import Severity, worst
from redeliver.channels.text import Layout
from redeliver.channels.titled import Titled
from redeliver.channels.transport import NoAnswer
from redeliver.core.notification import Dispatch, Notification
from redeliver.core.outcome import Outcome

LONGEST_TITLE = 250  # characters, Apprise's own default; it shortens further for a service that takes less
LONGEST_TEXT = 32_768  # the same

_TYPES = {Severity.MEDIUM: "warning", Severity.HIGH: "failure", Severity.CRITICAL: "failure"}

_YES = Row(None, "yes", Means.DELIVERED)
_NO = Row(None, "no", Means.UNKNOWN, "apprise_failed", "it does not say whether anything had left")
_NO_SERVICE = Row(None, "", Means.CREDENTIALS)  # before anything is asked: the URL has to be put right

ANSWERS = Answers(
    # `Apprise.notify` is true or false, `Apprise.instantiate` None for a URL that it cannot use. What it logs
    # meanwhile is for people: it becomes the error's text, and decides nothing.
    source="https://github.com/caronc/apprise",
    code=body_text,
    code_name="Apprise says",
    rows=(_YES, _NO),
)


@dataclass(frozen=True, slots=True)
class AppriseUrl:
    """An Apprise URL; each of its parts may be a secret, that in the place of the host too."""

    allowed: str = "an Apprise URL, such as json://example.com/path"

    @property
    def schema(self) -> Schema:
        """Return its shape."""
        return {"type": "string", "pattern": r"^\s*[A-Za-z][A-Za-z0-9+.-]*://[^\x00-\x20\x7f]+\s*$"}

    def read(self, value: Any) -> str:
        """Return the URL; whether there is such a service only the library knows."""
        if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*://[^\x00-\x20\x7f]+", value):
            raise ValueError
        return value

    def secrets(self, value: Any) -> Iterator[str]:
        """Return the URL, all behind its scheme, and every part of that, as they are and decoded."""
        rest = value.partition("://")[2]
        for secret in (value, rest, *re.split(r"[/?&=:@,;#+]", rest)):
            yield from {secret, unquote(secret)}


class Apprise:
    """A service that Apprise knows."""

    fields: ClassVar[Mapping[str, Field]] = {
        "url": Field(AppriseUrl(), secret=True),
        "longest": Field(Number(100, LONGEST_TEXT, "characters"), 2000),
    }
    answers = (ANSWERS,)

    def __init__(self, document: Document) -> None:
        """Take what is needed from a valid document; look whether the library is there, without loading it."""
        if find_spec("apprise") is None:
            raise InvalidDocument(
                "type apprise needs the layer with its library: deploy infra/apprise_layer.yaml, and redeliver with"
                " its output AppriseLayerArn as the parameter of that name"
            )
        if not document.allow_private_network:
            raise InvalidDocument(
                "allow_private_network must be true: Apprise makes its connections itself, and redeliver cannot see"
                " to it that their addresses are public"
            )
        self._url: str = document.own["url"]
        self.capacity: int = document.own["longest"]
        self._written = Titled(Layout(longest=self.capacity), LONGEST_TITLE)

    def weigh(self, record: Notification) -> int:
        """Return the characters of a digest's entry."""
        return self._written.weigh(record)

    def send(self, dispatch: Dispatch, attempt: Attempt) -> Outcome:
        """Send once: after a "no", nobody knows whether a second try would repeat the message."""
        title, message = map(_encodable, self._written.write(dispatch))
        type_ = _TYPES.get(worst(dispatch.members), "info")
        gate = _Gate()
        try:
            row, said = within(attempt.left(), lambda: _notify(self._url, title, message, type_, gate), "apprise")
        except TimeoutError:
            return NoAnswer("timeout", "out of time while waiting for Apprise", sent=gate.close()).outcome
        return row.outcome(0, f"Apprise: {said}", None)


class _Gate:
    """What a thread that may be left behind passes before it sends: not when nobody waits for it any more."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._closed = False
        self._passed = False

    def passes(self) -> bool:
        """Tell whether to send."""
        with self._lock:
            self._passed = not self._closed
            return self._passed

    def close(self) -> bool:
        """Let nobody pass from now on; tell whether somebody has."""
        with self._lock:
            self._closed = True
            return self._passed


def _notify(url: str, title: str, message: str, type_: str, gate: _Gate) -> tuple[Row, str]:
    """Return which row Apprise's answer is, and what it said with it.

    Made anew for each message: a service is not made for several threads, and keeps them waiting for one another for
    seconds to spare its endpoint, which would use up an attempt's time.
    """
    # Its lines hold addresses and texts: they are asked for below, and never in our log.
    logging.getLogger("apprise").propagate = False
    import apprise  # not at the top: half a second, for this channel alone

    asset = apprise.AppriseAsset(
        async_mode=False,
        service_timeout=0,  # a second thread with a time-out of its own: we have ours
        storage_mode=apprise.PersistentStoreMode.MEMORY,
        http_redirects=False,
    )
    service = apprise.Apprise.instantiate(url, asset=asset)
    if service is None:
        return _NO_SERVICE, "no such service, or parts of the url are missing"
    service.retry = 0  # retries are the schedule's
    service.optional = False  # a failure that would count as a success
    if "overflow=" not in url:
        service.overflow_mode = apprise.OverflowMode.TRUNCATE
    made = apprise.Apprise(asset=asset)
    made.add(service)
    if not gate.passes():  # loading took all of the time
        return _NO, "too late to begin"
    result = made.notify(message, title, notify_type=type_, body_format="text")
    return (_YES if result else _NO), " ".join(entry.message for entry in result.logs()) or result.status.name


def _encodable(text: str) -> str:
    """Return the text without lone surrogates, which not every service can carry."""
    return text.encode("utf-8", "replace").decode()
