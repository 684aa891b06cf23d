"""Grapheme clusters, by the rules of UAX #29 (Unicode 15.1); the tables there are where these come from."""

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redeliver.channels.graphemes import MOST_JOINED, characters
from redeliver.channels.text import MARK, cut, utf8, utf16

ONES = {
    "GB3: a line end": "\r\n",
    "GB6: Hangul in NFD": "\u1112\u1161\u11ab",
    "GB6: two leading consonants": "\u1100\u1100\uac00",
    "GB7: a syllable and its vowel": "\uac00\u1161",
    "GB7: old Hangul": "\ua960\ud7b0\ud7cb",
    "GB8: a syllable and its final consonant": "\uac00\u11a8",
    "GB9: an accent": "e\u0301",
    "GB9: a selector": "\u2764\ufe0f",
    "GB9: a keycap": "1\ufe0f\u20e3",
    "GB9: a tone of skin": "\U0001f44d\U0001f3fd",
    "GB9: a non-joiner": "a\u200c",
    "GB9: a region's flag": "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "GB9: a halfwidth voiced mark": "\uff76\uff9e",
    "GB9a: a vowel sign": "\u0928\u093f",
    "GB9a: Thai": "\u0e01\u0e33",
    "GB9a: Thai with a tone": "\u0e17\u0e35\u0e48",
    "GB9a: Lao": "\u0e81\u0eb3",
    "GB9b: a number sign": "\u06001",
    "GB9b: a sign before a flag": "\u0600\U0001f1ea\U0001f1fa",
    "GB9c: Devanagari": "\u0915\u094d\u0937\u093f",
    "GB9c: with a nukta": "\u0915\u093c\u094d\u0924",
    "GB9c: with a joiner": "\u0915\u094d\u200d\u0937",
    "GB9c: three": "\u0938\u094d\u0924\u094d\u0930",
    "GB9c: Bengali": "\u0995\u09cd\u09b7",
    "GB9c: Telugu": "\u0c15\u0c4d\u0c37",
    "GB11: a family": "\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466",
    "GB11: with tones of skin": "\U0001f9d1\U0001f3fd\u200d\U0001f91d\u200d\U0001f9d1\U0001f3fb",
    "GB11: a heart on fire": "\u2764\ufe0f\u200d\U0001f525",
    "GB12: a flag": "\U0001f1ea\U0001f1fa",
}
ones = pytest.mark.parametrize("one", ONES.values(), ids=ONES)
TEXTS = st.lists(st.one_of(st.sampled_from(list(ONES.values())), st.characters()), max_size=20).map("".join)


@ones
def test_one_is_whole(one: str) -> None:
    assert list(characters(f"x{one}y")) == ["x", one, "y"]


@ones
def test_a_cut_leaves_it_whole(one: str) -> None:
    text = f"{one} " * 9
    allowed = {text, *(f"{MARK}" if not kept else f"{kept}{MARK}" for kept in accumulate([one, " "] * 9, initial=""))}
    for unit in (len, utf8, utf16):
        for longest in range(unit(MARK), unit(text) + 1):
            result = cut(text, longest, unit)
            assert unit(result) <= longest
            assert result in allowed


@pytest.mark.parametrize(
    "apart",
    [
        "ab",
        "\n\n",
        "\n\r",
        "\U0001f1ea\U0001f1fa|\U0001f1e9\U0001f1ea",
        "\uac00|\uac00",
        "\u0915|\u0915",
        "\u0e01|\u0e02",
    ],
)
def test_two_are_two(apart: str) -> None:
    pieces = apart.split("|") if "|" in apart else list(apart)
    assert list(characters("".join(pieces))) == pieces


def test_a_joiner_is_no_part_of_a_flag() -> None:
    flags = "\U0001f1ea\U0001f1fa\U0001f1e9\U0001f1ea"
    assert list(characters(f"a\u200d{flags}")) == ["a\u200d", flags[:2], flags[2:]]


@given(TEXTS)
def test_characters_lose_nothing(text: str) -> None:
    assert "".join(characters(text)) == text


def test_a_run_without_end_is_cut_somewhere() -> None:
    assert max(map(len, characters("a" + "\u0301" * 1000))) == MOST_JOINED
