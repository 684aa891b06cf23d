"""The table in docs/state_machine.md says what the code says."""

from pathlib import Path

from redeliver.core.arrows import ARROWS
from redeliver.core.notification import Status

PAGE = Path(__file__).parent.parent.parent / "docs" / "state_machine.md"


def table(heading: str) -> dict[str, list[str]]:
    """Return the cells of the table below a heading, by its first column."""
    section = PAGE.read_text().split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"]
    return {row[0].strip("`"): row[1:] for row in rows[2:]}


def states(cell: str) -> frozenset[str]:
    return frozenset(word.strip("` ") for word in cell.split(",")) - {"nothing"}


def test_arrows() -> None:
    documented = {name: (states(before), states(after)) for name, (before, after, *_) in table("Arrows").items()}
    assert documented == {
        arrow.name: (frozenset(map(str, arrow.before)), frozenset(map(str, arrow.after))) for arrow in ARROWS
    }


def test_states() -> None:
    assert set(table("States")) == set(map(str, Status))
