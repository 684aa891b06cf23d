"""Channel documents: which fields there are, what they may hold, and what is secret in them (SPEC 9 and 12)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlsplit

from redeliver.ports import Mode

REQUIRED = object()
LONGEST_DIGEST_SECONDS = 86_400


class InvalidDocument(Exception):
    """The document cannot be used; the message names the field and what is allowed, and holds no value."""


class Rule(Protocol):
    """What a field may hold."""

    @property
    def allowed(self) -> str:
        """Return what is allowed, in words that follow `must be`."""

    def read(self, value: Any) -> Any:
        """Return the value to use; raises ValueError if it is not allowed."""

    def secrets(self, value: Any) -> Iterator[str]:
        """Return what must not be shown, if the field is secret."""


class _Whole:
    """A rule whose secret is the value itself."""

    def secrets(self, value: Any) -> Iterator[str]:
        """Return the value."""
        yield str(value)


@dataclass(frozen=True, slots=True)
class Text(_Whole):
    """A string, or a whole number written as one, that matches a pattern from end to end."""

    pattern: str
    allowed: str

    def read(self, value: Any) -> str:
        """Return the text."""
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str) or not re.fullmatch(self.pattern, value, re.ASCII):
            raise ValueError
        return value


@dataclass(frozen=True, slots=True)
class Choice(_Whole):
    """One of some words."""

    words: tuple[str, ...]

    @property
    def allowed(self) -> str:
        """Return the words."""
        return f"one of {', '.join(self.words)}"

    def read(self, value: Any) -> str:
        """Return the word."""
        if value not in self.words:
            raise ValueError
        return str(value)


@dataclass(frozen=True, slots=True)
class Flag(_Whole):
    """True or false."""

    allowed: str = "true or false"

    def read(self, value: Any) -> bool:
        """Return the flag."""
        if not isinstance(value, bool):
            raise ValueError
        return value


@dataclass(frozen=True, slots=True)
class Seconds(_Whole):
    """A whole number of seconds."""

    longest: int

    @property
    def allowed(self) -> str:
        """Return the bounds."""
        return f"a whole number of seconds from 0 to {self.longest}"

    def read(self, value: Any) -> int:
        """Return the number."""
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= self.longest:
            raise ValueError
        return value


@dataclass(frozen=True, slots=True)
class Url:
    """An absolute address; plain http only where private networks are allowed."""

    allowed: str = "an https:// address without user and password (http:// only with allow_private_network)"

    def read(self, value: Any) -> str:
        """Return the address."""
        if not isinstance(value, str) or re.search(r"[\s\x00-\x1f\x7f\\]", value):
            raise ValueError
        parts = urlsplit(value)
        if parts.scheme not in ("https", "http") or not parts.hostname or "@" in parts.netloc or parts.port == 0:
            raise ValueError
        parts.hostname.encode("idna")
        return value

    def secrets(self, value: Any) -> Iterator[str]:
        """Return the address, its path and query, and their parts: providers keep the secret in one of them."""
        parts = urlsplit(value)
        target = f"{parts.path}?{parts.query}" if parts.query else parts.path
        yield from (value, target, *re.split(r"[/?&=]", target))


@dataclass(frozen=True, slots=True)
class Headers:
    """Header names and values that cannot end a header line, nor replace one of ours."""

    ours: frozenset[str]

    @property
    def allowed(self) -> str:
        """Return what names and values may be."""
        return (
            "an object of header names and printable ASCII values, without line ends,"
            f" and without any of {', '.join(sorted(self.ours))}"
        )

    def read(self, value: Any) -> dict[str, str]:
        """Return the headers, values trimmed."""
        if not isinstance(value, dict):
            raise ValueError
        for name, text in value.items():
            if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name) or name.lower() in self.ours:
                raise ValueError
            if not isinstance(text, str) or not re.fullmatch(r"[\x20-\x7e]*", text):
                raise ValueError
        return {name: text.strip() for name, text in value.items()}

    def secrets(self, value: Any) -> Iterator[str]:
        """Return the values, with and without a scheme such as `Bearer`."""
        for text in value.values():
            yield from (text, *text.split()[1:])


@dataclass(frozen=True, slots=True)
class Field:
    """A field: what it may hold, what it is when missing, and whether it may be shown."""

    rule: Rule
    default: Any = REQUIRED
    secret: bool = False


COMMON: Mapping[str, Field] = {
    "mode": Field(Choice(tuple(Mode)), Mode.IMMEDIATE),
    "digest_seconds": Field(Seconds(LONGEST_DIGEST_SECONDS), 0),
    "enabled": Field(Flag(), default=True),
    "allow_private_network": Field(Flag(), default=False),
}


@dataclass(frozen=True, slots=True)
class Document:
    """A valid channel document: the common fields, and `own` with those of its type."""

    type: str
    mode: Mode
    digest_seconds: int
    allow_private_network: bool
    own: Mapping[str, Any] = field(repr=False)
    secrets: frozenset[str] = field(repr=False)


def read_document(raw: object, types: Mapping[str, Mapping[str, Field]]) -> Document:
    """Return the document, trimmed and checked against the fields of its type; raises InvalidDocument."""
    if not isinstance(raw, dict):
        raise InvalidDocument("the channel document must be a JSON object")
    given = {name: trimmed for name, value in raw.items() if (trimmed := _trim(value)) not in (None, "")}
    type_ = _value("type", Field(Choice(tuple(types))), given)
    fields = {**COMMON, **types[type_]}
    for name in raw:
        if name != "type" and name not in fields:
            raise InvalidDocument(f"unknown field {name[:64]!r}: a {type_} channel has type, {', '.join(fields)}")
    values = {name: _value(name, each, given) for name, each in fields.items()}
    if not values["enabled"]:
        raise InvalidDocument("enabled is false: the channel is switched off; true switches it on")
    _refuse_plain_http(fields, values)
    return Document(
        type=type_,
        mode=Mode(values["mode"]),
        digest_seconds=values["digest_seconds"],
        allow_private_network=values["allow_private_network"],
        own={name: values[name] for name in types[type_]},
        secrets=frozenset(_secrets(fields, values)),
    )


def _trim(value: object) -> object:
    return value.strip() if isinstance(value, str) else value


def _value(name: str, rules: Field, given: Mapping[str, object]) -> Any:
    if name not in given:
        if rules.default is REQUIRED:
            raise InvalidDocument(f"{name} is missing: it must be {rules.rule.allowed}")
        return rules.default
    try:
        return rules.rule.read(given[name])
    except ValueError:  # without its text: that could hold the value
        raise InvalidDocument(f"{name} must be {rules.rule.allowed}") from None


def _refuse_plain_http(fields: Mapping[str, Field], values: Mapping[str, Any]) -> None:
    for name, each in fields.items():
        plain = isinstance(each.rule, Url) and urlsplit(values[name]).scheme != "https"
        if plain and not values["allow_private_network"]:
            raise InvalidDocument(f"{name} must be {each.rule.allowed}")


def _secrets(fields: Mapping[str, Field], values: Mapping[str, Any]) -> Iterator[str]:
    for name, each in fields.items():
        if each.secret and values[name] is not None:
            yield from (secret for secret in each.rule.secrets(values[name]) if secret)
