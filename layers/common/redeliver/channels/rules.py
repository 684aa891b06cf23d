"""What a field of a channel document may hold: how it is read, what is secret in it, and its JSON Schema."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

Schema = Mapping[str, Any]


class Rule(Protocol):
    """What a field may hold."""

    @property
    def allowed(self) -> str:
        """Return what is allowed, in words that follow `must be`."""

    @property
    def schema(self) -> Schema:
        """Return what is allowed as JSON Schema; it may let pass what needs more than a pattern to refuse."""

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
    """A string that matches a pattern from end to end; with `number`, also a whole number written as one.

    The pattern means the same in Python (ASCII) and in JSON Schema (ECMA 262).
    """

    pattern: str
    allowed: str
    number: bool = False

    @property
    def schema(self) -> Schema:
        """Return the pattern, with the space around it that is trimmed."""
        text = {"type": "string", "pattern": rf"^\s*(?:{self.pattern})\s*$"}
        return {"anyOf": [text, {"type": "integer"}]} if self.number else text

    def read(self, value: Any) -> str:
        """Return the text."""
        if self.number and isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str) or not re.fullmatch(self.pattern, value, re.ASCII):
            raise ValueError
        return value


def token(allowed: str, pattern: str = r"[!-~]{1,512}") -> Text:
    """Return the rule for a secret that is fit for a header: printable ASCII without spaces."""
    return Text(pattern, allowed)


def line(longest: int) -> Text:
    """Return the rule for one line of any text."""
    return Text(rf"[^\x00-\x1f\x7f]{{1,{longest}}}", f"one line of at most {longest} characters")


@dataclass(frozen=True, slots=True)
class Choice(_Whole):
    """One of some words."""

    words: tuple[str, ...]

    @property
    def allowed(self) -> str:
        """Return the words."""
        return f"one of {', '.join(self.words)}"

    @property
    def schema(self) -> Schema:
        """Return the words."""
        return {"enum": [str(word) for word in self.words]}

    def read(self, value: Any) -> str:
        """Return the word."""
        if value not in self.words:
            raise ValueError
        return str(value)


@dataclass(frozen=True, slots=True)
class Flag(_Whole):
    """True or false."""

    allowed: str = "true or false"

    @property
    def schema(self) -> Schema:
        """Return the type."""
        return {"type": "boolean"}

    def read(self, value: Any) -> bool:
        """Return the flag."""
        if not isinstance(value, bool):
            raise ValueError
        return value


@dataclass(frozen=True, slots=True)
class Number(_Whole):
    """A whole number from `least` to `most`, both included; `of` says of what."""

    least: int
    most: int
    of: str = ""

    @property
    def allowed(self) -> str:
        """Return the bounds."""
        return f"a whole number{self.of and ' of '}{self.of} from {self.least} to {self.most}"

    @property
    def schema(self) -> Schema:
        """Return the bounds."""
        return {"type": "integer", "minimum": self.least, "maximum": self.most}

    def read(self, value: Any) -> int:
        """Return the number."""
        if not isinstance(value, int) or isinstance(value, bool) or not self.least <= value <= self.most:
            raise ValueError
        return value


@dataclass(frozen=True, slots=True)
class OneOrMore:
    """What another rule allows, or a list of up to `most` of it; read as a tuple."""

    rule: Rule
    most: int

    @property
    def allowed(self) -> str:
        """Return what one may be, and how many."""
        return f"{self.rule.allowed}, or a list of 1 to {self.most} of them"

    @property
    def schema(self) -> Schema:
        """Return one, or a list."""
        one = self.rule.schema
        return {"anyOf": [one, {"type": "array", "items": one, "minItems": 1, "maxItems": self.most}]}

    def read(self, value: Any) -> tuple[Any, ...]:
        """Return all of them."""
        values = value if isinstance(value, list) else [value]
        if not 1 <= len(values) <= self.most:
            raise ValueError
        return tuple(self.rule.read(each.strip() if isinstance(each, str) else each) for each in values)

    def secrets(self, value: Any) -> Iterator[str]:
        """Return those of each."""
        for each in value:
            yield from self.rule.secrets(each)


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

    @property
    def schema(self) -> Schema:
        """Return what names and values may be."""
        ours = "|".join("".join(f"[{c.upper()}{c}]" if c.isalpha() else c for c in name) for name in sorted(self.ours))
        return {
            "type": "object",
            "propertyNames": {"pattern": rf"^(?!({ours})$)[A-Za-z0-9!#$%&'*+.^_`|~-]+$"},
            "additionalProperties": {"type": "string", "pattern": r"^[\x20-\x7e]*$"},
        }

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
