"""Channel documents as the functions read them, and as they may be shown."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from redeliver.channels.attempt import Attempts
from redeliver.channels.directory import Configured, Directory
from redeliver.channels.document import Document, Field
from redeliver.channels.sources import Source
from redeliver.channels.transport import Transport
from redeliver.channels.urls import Url
from redeliver.core.redaction import MASK, redact
from redeliver.ports import NotConfigured
from redeliver_cli.desk import Desk


@dataclass(frozen=True, slots=True)
class Given:
    """A document that is not stored yet: port Source."""

    document: object
    longest_seconds: float = 0.0

    def fetch(self, name: str) -> object:
        """Return the document."""
        return self.document


def looked_up(desk: Desk, channel: str, source: Source | None = None) -> Configured | NotConfigured:
    """Return a channel as the functions would find it; raises Unavailable."""
    directory = Directory(source or desk.documents, Attempts(Transport(1)), desk.settings.not_configured_recheck)
    found = directory.look_up(channel, desk.clock())
    assert isinstance(found, Configured | NotConfigured)  # noqa: S101 # there is no third
    return found


def target(document: Document, fields: Mapping[str, Field]) -> str:
    """Return where a channel leads, without its secrets."""
    told = [(name, _shown(fields[name], value, document)) for name, value in document.own.items() if value is not None]
    return " ".join(f"{name}={text}" for name, text in told if text)


def _shown(field: Field, value: object, document: Document) -> str:
    if value == field.default:
        return ""
    if not field.secret:
        return redact(str(value), document.secrets)
    if not isinstance(field.rule, Url):
        return MASK
    parts = urlsplit(str(value))
    return f"{parts.scheme}://{parts.netloc}/{MASK}"
