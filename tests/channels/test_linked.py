import pytest

from redeliver.channels.linked import Linked
from redeliver.channels.text import Piece
from tests.contract.channel_cases import record

PLACE = Linked(
    longest=40, escape=lambda part: part.replace("_", r"\_"), bold=("**", "**"), address=lambda each: f"<{each}>"
)


@pytest.mark.parametrize(
    ("body", "written"),
    [
        ("a_b", r"a\_b"),
        ("https://x.example/a_b", "<https://x.example/a_b>"),
        ("see https://x.example/a_b, c_d", r"see <https://x.example/a_b>, c\_d"),
        ("(http://x.example).", "(<http://x.example>)."),
        ("https://a.example https://b.example", "<https://a.example> <https://b.example>"),
        ("https://x.example|y_z", r"<https://x.example>|y\_z"),
        ("https://x.example*", "<https://x.example>*"),
        ("https://", "https://"),
        ("ftp://x_y", r"ftp://x\_y"),
    ],
)
def test_an_address_stays_as_it_is(body: str, written: str) -> None:
    assert PLACE.compose([Piece(body)]) == written


def test_a_bold_stretch_is_one() -> None:
    assert PLACE.compose([Piece("https://x.example/a_b", bold=True)]) == r"**https://x.example/a\_b**"


def test_an_address_that_does_not_fit_is_left_out() -> None:
    assert PLACE.compose([Piece("12345 https://x.example/1234567890/1234567890 x")]) == "12345 …"
    assert (
        PLACE.compose([Piece("https://x.example/1234567890 " + "y" * 40)])
        == f"<https://x.example/1234567890> {'y' * 8}…"
    )


def test_an_entry_weighs_what_is_written() -> None:
    entry = record(kind="k", subject="s", body="a_b https://x.example/1234567890", dedup_key="k")
    wide = Linked(longest=1000, escape=PLACE.escape, bold=PLACE.bold, address=PLACE.address)
    heading = len("1000") - len("1") + len("\n\n")
    assert wide.weigh(entry) == len(wide.digest([entry])) + heading
