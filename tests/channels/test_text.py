import html
import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redeliver.channels.graphemes import characters
from redeliver.channels.severity import COLOURS, Severity, severity_of, worst
from redeliver.channels.text import MARK, Layout, Unit, as_it_is, by_kind, cut, utf8, utf16
from redeliver.core.notification import Dispatch
from tests.contract.channel_cases import record


def json_bytes(text: str) -> int:
    return len(json.dumps(text)) - 2


def doubled(text: str) -> str:
    return text.replace("*", "\\*").replace("\\", "\\") if "*" in text else text


UNITS: list[Unit] = [len, utf8, utf16, json_bytes]
ESCAPES: list[Callable[[str], str]] = [as_it_is, html.escape, doubled]
TEXTS = st.text(st.one_of(st.characters(), st.sampled_from("a&<*\n👩\u200d🚀é\u0301🇪🇺👍\U0001f3fd\r")), max_size=60)


@given(TEXTS, st.integers(0, 80), st.sampled_from(UNITS), st.sampled_from(ESCAPES))
def test_a_cut_text_fits_and_is_a_beginning(text: str, longest: int, unit: Unit, escape: Callable[[str], str]) -> None:
    result = cut(text, longest, unit, escape)
    assert unit(result) <= longest
    if unit(escape(text)) <= longest:
        assert result == escape(text)
    elif result:
        kept = result.removesuffix(MARK)
        pieces = list(characters(text))
        assert kept in {escape("".join(pieces[:count])) for count in range(len(pieces))}


HTML = Layout(longest=60, unit=utf16, escape=html.escape, bold=("<b>", "</b>"))


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=4), st.integers(1, 90), st.booleans())
def test_every_text_fits_and_its_tags_are_closed(texts: list[tuple[str, str]], longest: int, digest: bool) -> None:
    layout = Layout(longest=longest, unit=utf16, escape=html.escape, bold=("<b>", "</b>"))
    members = tuple(record(subject=subject, body=body) for subject, body in texts)
    text = layout.write(Dispatch(members if digest else members[:1], digest=digest))
    assert utf16(text) <= longest
    assert text.count("<b>") == text.count("</b>") == text.count("<") / 2
    if digest and sum(map(layout.weigh, members)) < longest:
        assert MARK not in "".join(text) or any(MARK in part for each in texts for part in each)


def test_bold_is_cut_inside_its_tags() -> None:
    assert HTML.single(record(subject="s" * 100)) == f"<b>{'s' * 52}…</b>"


def test_an_escape_is_not_cut() -> None:
    assert HTML.single(record(subject="s" * 49 + "&&", body="")) == f"<b>{'s' * 49}…</b>"


def test_lines_end_as_the_place_wants() -> None:
    layout = Layout(longest=90, line_end="<br>", escape=html.escape)
    assert layout.single(record(subject="a<", body="b\nc")) == "a&lt;<br><br>b<br>c"


def test_kinds_and_their_counts() -> None:
    members = [record(kind="b", dedup_key="1"), record(kind="a", dedup_key="2"), record(kind="b", dedup_key="3")]
    assert [(kind, [one.dedup_key for one in group]) for kind, group in by_kind(members)] == [
        ("a", ["2"]),
        ("b", ["1", "3"]),
    ]


@pytest.mark.parametrize(
    ("payload", "severity"),
    [
        (None, Severity.NONE),
        ('{"severity": "critical"}', Severity.CRITICAL),
        ('{"severity": " High "}', Severity.HIGH),
        ('{"severity": "info"}', Severity.INFO),
        ('{"severity": "apocalyptic"}', Severity.NONE),
        ('{"severity": "none"}', Severity.NONE),
        ('{"severity": 5}', Severity.NONE),
        ('["critical"]', Severity.NONE),
        ('"critical"', Severity.NONE),
        ("{", Severity.NONE),
        ("[" * 60_000, Severity.NONE),
    ],
)
def test_severity(payload: str | None, severity: Severity) -> None:
    assert severity_of(record(payload=payload)) is severity


def test_the_worst_severity_has_the_colour() -> None:
    members = [record(payload=None), record(payload='{"severity":"high"}'), record(payload='{"severity":"low"}')]
    assert worst(members) is Severity.HIGH
    assert worst([]) is Severity.NONE
    assert set(COLOURS) == set(Severity)
