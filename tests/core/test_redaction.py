import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from redeliver.core.redaction import _SHAPES, _SUSPICIOUS, LONGEST, SHORTEST, cut, redact, storable

TOKEN = "123456789:AAHfiqksKZ8WmR2zSjiQ7_v4TMoFJzGh7kE"
SECRETS = st.text(st.characters(exclude_characters="*\\", exclude_categories=["Cs"]), min_size=SHORTEST, max_size=40)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"POST /bot{TOKEN}/sendMessage", "POST /bot***/sendMessage"),
        (f"token {TOKEN}.", "token ***."),
        ("key whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "key ***"),
        ("Authorization: Bearer abcdefghij.k", "Authorization: Bearer ***"),
        ("see https://hooks.slack.com/services/T0/B0/xyz now", "see https://hooks.slack.com/*** now"),
        ("see http://h?key=1", "see http://h/***"),
        ("see https://me:pw@example.com", "see https://***@example.com"),
        ("Max retries exceeded with url: /hook/abc (Caused by", "Max retries exceeded with url: /*** (Caused by"),
        ("nothing to hide", "nothing to hide"),
    ],
)
def test_what_looks_like_a_secret_goes_although_nobody_named_it(text: str, shown: str) -> None:
    assert redact(text) == shown


@given(st.text(), SECRETS, st.text())
def test_a_named_secret_never_gets_through(before: str, secret: str, after: str) -> None:
    assume(secret not in "***")
    for spelling in (secret, quote(secret, safe=""), quote_plus(secret), json.dumps(secret)[1:-1]):
        shown = redact(f"{before}{spelling}{after}", [secret])
        assert storable(secret) not in shown
        assert storable(spelling) not in shown


def test_of_two_secrets_where_one_holds_the_other_both_go() -> None:
    assert redact("a secret-and-more b secret c", ["secret", "secret-and-more"]) == "a *** b *** c"


def test_what_is_too_short_to_be_a_secret_stays() -> None:
    assert redact("HTTP 503", ["503", ""]) == "HTTP 503"
    assert redact("seven letters", ["seven"]) == "seven letters"
    assert redact("a secret", ["secret"]) == "a ***"


def test_what_is_stored_has_1024_characters_at_most() -> None:
    assert redact("x" * 1024) == "x" * 1024
    assert redact("x" * 1025) == "x" * 1023 + "…"


@given(st.text(st.characters()), st.lists(SECRETS, max_size=3))
def test_whatever_comes_can_be_stored(text: str, secrets: list[str]) -> None:
    shown = redact(text, secrets)
    assert len(shown) <= LONGEST
    assert len(shown.encode()) <= 4 * LONGEST
    assert all(character.isprintable() or character in "\n\t" for character in shown)


def test_lone_surrogates_and_control_characters_are_made_visible() -> None:
    assert storable("a\ud800\x00\x1b[1mb\n") == "a\\ud800\\x00\\x1b[1mb\n"


def test_a_cut_is_marked() -> None:
    assert (cut("abcd", 4), cut("abcde", 4)) == ("abcd", "abc…")


@given(st.sampled_from(_SHAPES).flatmap(lambda shape: st.from_regex(shape[0])))
def test_no_shape_of_a_secret_passes_for_innocent(text: str) -> None:
    assert _SUSPICIOUS.search(text)


@pytest.mark.parametrize(
    ("secret", "spelling"),
    [
        ("pass/word one", quote("pass/word one", safe="")),
        ("pass/word one", quote_plus("pass/word one")),
        ('say "hi" é', json.dumps('say "hi" é')[1:-1]),
        ('say "hi" é', json.dumps('say "hi" é', ensure_ascii=False)[1:-1]),
    ],
)
def test_a_secret_goes_in_every_spelling_and_nothing_else_does(secret: str, spelling: str) -> None:
    assert redact(f"x{spelling}y", [secret]) == "x***y"


def test_a_secret_that_contains_another_goes_whole() -> None:
    assert redact("abcdefgh", ["bcdefg", "abcdefgh"]) == "***"


def test_a_secret_with_half_a_surrogate_pair_is_no_error() -> None:
    assert redact("nothing here", ["pass\ud800word"]) == "nothing here"
