"""What the documents say of the channel types, made from the code: `python -m infra.reference` writes it anew.

The tables of answers in `docs/channels.md`, between `<!-- answers: TYPE -->` and `<!-- end -->`, and
`docs/channels.schema.json`, the JSON Schema of all channel documents.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from redeliver.channels import TYPES
from redeliver.channels.answers import Answers, Means, Row
from redeliver.channels.document import COMMON, REQUIRED, Field
from redeliver.channels.urls import Url
from redeliver.core.outcome import CREDENTIALS_REFUSED

DOCS = Path(__file__).resolve().parents[1] / "docs"
GUIDE = DOCS / "channels.md"
SCHEMA = DOCS / "channels.schema.json"

_BLANK = {"anyOf": [{"type": "null"}, {"type": "string", "pattern": r"^\s*$"}]}  # is as good as missing
_ENCRYPTED = {"pattern": r"^\s*[Hh][Tt][Tt][Pp][Ss]:|^\s*$"}
_MARKED = re.compile(r"(<!-- answers: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def guide(text: str) -> str:
    """Return the guide with the tables of answers as the code has them."""
    return _MARKED.sub(lambda found: f"{found[1]}\n{tables(found[2])}\n{found[3]}", text)


def marked(text: str) -> set[str]:
    """Return the types that have a place for their tables in the guide."""
    return {found[2] for found in _MARKED.finditer(text)}


def tables(type_: str) -> str:
    """Return the tables of a type in Markdown."""
    return "\n".join(_table(answers) for answers in TYPES[type_].answers)


def _table(answers: Answers) -> str:
    title = f"{answers.title}: " if answers.title else ""
    coded = any(row.code is not None for row in answers.rows)
    head = ["status", *([answers.code_name] if coded else []), "outcome", "`last_reason`", ""]
    lines = [head, ["---"] * len(head), *(list(_cells(row, coded=coded)) for row in answers.rows)]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    return f"{title}what is not listed is decided by its status. Source: <{answers.source}>\n\n{table}\n"


def _cells(row: Row, *, coded: bool) -> Iterator[str]:
    yield _status(row.status)
    if coded:
        yield "any" if row.code is None else f"`{row.code}`" if row.code else "none"
    yield row.means.value
    yield _reason(row)
    yield row.note.replace("|", r"\|")


def _status(status: int | range | None) -> str:
    if status is None:
        return "any"
    if isinstance(status, int):
        return str(status)
    whole = len(status) == 100 and status.start % 100 == 0
    return f"{status.start // 100}xx" if whole else f"{status.start} to {status.stop - 1}"


def _reason(row: Row) -> str:
    if row.means is Means.DELIVERED:
        return ""
    if row.means is Means.CREDENTIALS:
        return f"`{CREDENTIALS_REFUSED}`"
    status = row.status if isinstance(row.status, int) else "<status>"
    return f"`{row.reason or f'http_{status}'}`"


def schema() -> dict[str, Any]:
    """Return the JSON Schema of all channel documents."""
    types = {name: _type_schema(name, TYPES[name].fields) for name in sorted(TYPES)}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A channel document of redeliver",
        "type": "object",
        "required": ["type"],
        "properties": {"type": {"enum": sorted(TYPES)}},
        "allOf": [
            {"if": {"properties": {"type": {"const": name}}}, "then": {"$ref": f"#/$defs/{name}"}} for name in types
        ],
        "$defs": types,
    }


def _type_schema(type_: str, own: Mapping[str, Field]) -> dict[str, Any]:
    fields = {**COMMON, **own}
    addresses = {name: _ENCRYPTED for name, each in fields.items() if isinstance(each.rule, Url)}
    whole: dict[str, Any] = {
        "properties": {"type": {"const": type_}, **{name: _field_schema(each) for name, each in fields.items()}},
        "required": ["type", *(name for name, each in fields.items() if each.default is REQUIRED)],
        "additionalProperties": False,
    }
    if addresses:
        private = {"properties": {"allow_private_network": {"const": True}}, "required": ["allow_private_network"]}
        whole |= {"if": private, "else": {"properties": addresses}}
    return whole


def _field_schema(field: Field) -> dict[str, Any]:
    described = {"description": f"must be {field.rule.allowed}"}
    if field.default is REQUIRED:
        return {**described, **field.rule.schema}
    default = {} if field.secret or not isinstance(field.default, str | int) else {"default": field.default}
    return {**described, **default, "anyOf": [field.rule.schema, *_BLANK["anyOf"]]}


def schema_text() -> str:
    """Return the schema as it is committed."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    """Write what the code says into the documents."""
    GUIDE.write_text(guide(GUIDE.read_text(encoding="utf-8")), encoding="utf-8")
    SCHEMA.write_text(schema_text(), encoding="utf-8")


if __name__ == "__main__":
    main()
