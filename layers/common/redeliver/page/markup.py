"""The HTML that everything on the page is made of: whatever comes from outside is escaped here, and only here."""

import html
import json
from collections.abc import Iterable, Mapping
from datetime import datetime

# `cwdb-action` is CloudWatch's own element: it gives the element before it something to do when it is clicked.
# (AWS: "Interactivity in the custom widget".) JavaScript is removed from a widget.
_ACTION = '<cwdb-action action="call" display="widget" endpoint="{endpoint}"{confirmation}>{parameters}</cwdb-action>'
# Of JSON, what HTML would read as its own. All of it is inside of strings, where JSON has another way to write it:
# the text is the same whether its reader takes it as HTML or as it is.
_OF_HTML = {ord(character): f"\\u{ord(character):04x}" for character in "<>&'"}


_VOID = frozenset({"input"})


class Markup(str):
    """HTML that is fit to be shown as it is."""

    __slots__ = ()


Content = str | Iterable[str]


def text(value: object) -> Markup:
    """Return a text of ours as HTML."""
    return value if isinstance(value, Markup) else Markup(html.escape(str(value)))


def said(value: object, longest: int = 300) -> Markup:
    """Return a text from outside as HTML: cut with a mark, and unable to turn around the text beside it."""
    whole = str(value)
    shown = whole if len(whole) <= longest else f"{whole[: longest - 1]}…"
    return Markup(f"<bdi>{html.escape(shown)}</bdi>")


def tag(name: str, content: Content = "", /, **attributes: str | None) -> Markup:
    """Return an element; content that is no Markup is escaped, `class_` is written class, None is left out."""
    named = ((key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items() if value is not None)
    given = "".join(f' {key}="{html.escape(value)}"' for key, value in named)
    if name in _VOID:
        return Markup(f"<{name}{given}>")
    inner = text(content) if isinstance(content, str) else joined(content)
    return Markup(f"<{name}{given}>{inner}</{name}>")


def joined(parts: Iterable[str]) -> Markup:
    """Return HTML one after the other."""
    return Markup("".join(map(text, parts)))


def button(
    label: str | Markup, endpoint: str, parameters: Mapping[str, object], *, style: str = "", confirmation: str = ""
) -> Markup:
    """Return something to click that calls the function again and shows its answer in place of the page."""
    link = tag("a", label, class_=f"rh-action {style}".strip(), role="button", tabindex="0")
    confirm = f' confirmation="{html.escape(confirmation)}"' if confirmation else ""
    call = _ACTION.format(
        endpoint=html.escape(endpoint), confirmation=confirm, parameters=json.dumps(parameters).translate(_OF_HTML)
    )
    return Markup(link + call)


def moment(value: datetime | None) -> Markup:
    """Return a moment as UTC."""
    return text("—" if value is None else value.strftime("%Y-%m-%d %H:%M:%S"))
