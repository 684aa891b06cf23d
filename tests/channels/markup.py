"""How a reader's program reads what we send: small parsers of what each provider documents."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from markdown_it import MarkdownIt


@dataclass
class Shown:
    """What a reader sees, and where the links go that can be followed."""

    text: str = ""
    links: list[str] = field(default_factory=list)

    def link(self, address: str, shown: str) -> None:
        self.text += shown
        self.links.append(address)


def slack(blocks: Sequence[Mapping[str, Any]]) -> Shown:
    """Read rich texts: https://docs.slack.dev/reference/block-kit/blocks/rich-text-block."""
    shown = Shown()
    for block in blocks:
        if block["type"] == "rich_text":
            (section,) = block["elements"]
            for element in section["elements"]:
                if element["type"] == "link":
                    shown.link(element["url"], element.get("text", element["url"]))
                else:
                    shown.text += element["text"]
    return shown


def slack_mrkdwn(text: str) -> Shown:
    """Read `<…>` and the three escapes; an address outside of `<…>` would be a link too."""
    shown = Shown()
    for part in re.split(r"(<[^<>]*>)", text):
        if part.startswith("<"):
            assert re.match(r"<https?://[^|]*>$", part, re.IGNORECASE), f"{part} is something else than a link"
            shown.link(_unescaped(part[1:-1]), _unescaped(part[1:-1]))
        else:
            assert not re.search(r"https?://[^/?#:@\s]", part, re.IGNORECASE), f"{part} is linked by itself"
            shown.text += _unescaped(part)
    return shown


def _unescaped(part: str) -> str:
    assert "&" not in re.sub(r"&(amp|lt|gt);", "", part)
    return part.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


# https://support.discord.com/hc/articles/210298617, and the rules of its clients: an escape, an address in `<…>`, one
# by itself, our bold; then whatever would be markup.
_DISCORD = re.compile(
    r"""\\(?P<escaped>[^0-9A-Za-z\s]) | <(?P<address>[^:\s>]+:/[^\s>]+)> | (?P<linked>https?://[^\s<]+[^<.,:;"'\]\s])
    | (?P<bold>\*\*) | (?P<mark>[*_~`|\[<\\] | ^\s*(?:[-+>]|-?\#+|\d+\.) | :[^\s:]+: | @(?:everyone|here))""",
    re.VERBOSE | re.MULTILINE,
)


def discord(text: str) -> Shown:
    shown, end, bold = Shown(), 0, False
    for found in _DISCORD.finditer(text):
        shown.text += text[end : found.start()]
        end = found.end()
        assert not found["mark"], f"{found['mark']} is markup"
        if found["bold"]:
            bold = not bold
        elif found["escaped"]:
            shown.text += found["escaped"]
        else:
            address = found["address"] or found["linked"]
            shown.link(address, address)
    shown.text += text[end:]
    assert not bold
    return shown


_COMMONMARK = MarkdownIt("commonmark").enable("strikethrough")
_COMMONMARK.normalizeLink = lambda url: url  # type: ignore[method-assign]  # it would percent-encode what it shows
_COMMONMARK.validateLink = lambda url: True  # type: ignore[method-assign]


def teams(text: str) -> Shown:
    """Read CommonMark, whose paragraphs are our lines; anything but texts and links is markup."""
    shown = Shown()
    for block in _COMMONMARK.parse(text):
        assert block.type in ("paragraph_open", "paragraph_close", "inline"), f"{block.type} is markup"
        for token in block.children or ():
            if token.type == "link_open":
                shown.links.append(str(token.attrs["href"]))
            else:
                assert token.type in ("text", "text_special", "link_close"), f"{token.type} is markup"
                shown.text += token.content
        shown.text += "\n" if block.type == "paragraph_close" else ""
    return shown
