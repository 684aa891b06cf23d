"""Channel documents: which fields there are, and what is secret in them (SPEC 9 and 12)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from redeliver.channels.rules import Choice, Flag, Number, Rule
from redeliver.channels.urls import Url
from redeliver.ports import Mode

REQUIRED = object()
LONGEST_DIGEST_SECONDS = 86_400
LONGEST_MAX_AGE = 366 * 86_400


class InvalidDocument(Exception):
    """The document cannot be used; the message names the field and what is allowed, and holds no value."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field: what it may hold, what it is when missing, and whether it may be shown."""

    rule: Rule
    default: Any = REQUIRED
    secret: bool = False


class Fielded(Protocol):
    """A channel type, as far as its documents go."""

    @property
    def fields(self) -> Mapping[str, Field]:
        """Return the fields of a document beside the common ones."""


COMMON: Mapping[str, Field] = {
    "mode": Field(Choice(tuple(Mode)), Mode.IMMEDIATE),
    "digest_seconds": Field(Number(0, LONGEST_DIGEST_SECONDS, "seconds"), 0),
    "announce_sent": Field(Flag(), default=False),
    "max_age": Field(Number(0, LONGEST_MAX_AGE, "seconds"), 0),
    "enabled": Field(Flag(), default=True),
    "allow_private_network": Field(Flag(), default=False),
}


@dataclass(frozen=True, slots=True)
class Document:
    """A valid channel document: the common fields, and `own` with those of its type."""

    type: str
    mode: Mode
    digest_seconds: int
    max_age: int
    announce_sent: bool
    allow_private_network: bool
    own: Mapping[str, Any] = field(repr=False)
    secrets: frozenset[str] = field(repr=False)


def read_document(raw: object, types: Mapping[str, Fielded]) -> Document:
    """Return the document, trimmed and checked against the fields of its type; raises InvalidDocument."""
    if not isinstance(raw, dict):
        raise InvalidDocument("the channel document must be a JSON object")
    given = {name: trimmed for name, value in raw.items() if (trimmed := _trim(value)) not in (None, "")}
    type_ = _value("type", Field(Choice(tuple(types))), given)
    own = types[type_].fields
    fields = {**COMMON, **own}
    for name in raw:
        if name != "type" and name not in fields:
            raise InvalidDocument(f"unknown field {name[:64]!r}: a {type_} channel has type, {', '.join(fields)}")
    values = {name: _value(name, each, given) for name, each in fields.items()}
    if not values["enabled"]:
        raise InvalidDocument("enabled is false: the channel is switched off; true switches it on")
    _refuse_private(fields, values)
    return Document(
        type=type_,
        mode=Mode(values["mode"]),
        digest_seconds=values["digest_seconds"],
        max_age=values["max_age"],
        announce_sent=values["announce_sent"],
        allow_private_network=values["allow_private_network"],
        own={name: values[name] for name in own},
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


def _refuse_private(fields: Mapping[str, Field], values: Mapping[str, Any]) -> None:
    if values["allow_private_network"]:
        return
    for name, each in fields.items():
        if isinstance(each.rule, Url) and values[name] and not each.rule.is_public(values[name]):
            raise InvalidDocument(f"{name} must be {each.rule.allowed}")


def _secrets(fields: Mapping[str, Field], values: Mapping[str, Any]) -> Iterator[str]:
    for name, each in fields.items():
        if each.secret and values[name] is not None:
            yield from (secret for secret in each.rule.secrets(values[name]) if secret)
