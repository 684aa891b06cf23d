"""How answers are written: tables for people, JSON for programs, progress beside them on standard error."""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import click
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from redeliver_cli.plain import for_programs, harmless, harmless_lines

_WIDE = 10_000  # of what is no terminal: there a row is a line, whatever is in it


@dataclass(frozen=True, slots=True)
class Output:
    """Where a command writes; with `as_json` nothing but JSON goes to standard output."""

    as_json: bool

    def document(self, value: object) -> None:
        """Write JSON for programs; nothing for people."""
        if self.as_json:
            click.echo(json.dumps(value, default=for_programs))

    def say(self, text: str) -> None:
        """Write lines for people; nothing for programs."""
        if not self.as_json:
            click.echo(harmless_lines(text))

    def tell(self, text: str) -> None:
        """Write a line beside the answer, on standard error."""
        click.echo(harmless(text), err=True)

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[object]], *, headed: bool = True) -> None:
        """Write a table for people; a column whose name ends in `#` holds numbers. Nothing of a row is left out."""
        if self.as_json:
            return
        table = Table(box=box.SIMPLE_HEAD, show_header=headed, pad_edge=False, show_edge=False)
        for column in columns:
            table.add_column(
                Text(column.removesuffix("#").strip()),
                justify="right" if column.endswith("#") else "left",
                overflow="fold",
            )
        for row in rows:
            table.add_row(*[Text(harmless("" if value is None else value)) for value in row])
        _print(table)

    def facts(self, facts: Iterable[tuple[str, object]]) -> None:
        """Write named values for people, those that are None left out."""
        if self.as_json:
            return
        grid = Table.grid(padding=(0, 2))
        grid.add_column()
        grid.add_column(overflow="fold")
        for name, value in facts:
            if value is not None and value != "":
                grid.add_row(Text(name, style="bold"), Text(harmless(value)))
        _print(grid)


def _print(what: Table) -> None:
    console = _console()
    with console.capture() as written:
        console.print(what)
    click.echo("\n".join(line.rstrip() for line in written.get().splitlines()))


def _console() -> Console:
    wide = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    # A text of others is no markup, no emoji code and no number to be painted.
    return Console(width=_WIDE if wide else None, markup=False, emoji=False, highlight=False)


class Bar:
    """Progress on standard error: a bar on a terminal, else nothing."""

    def __init__(self, progress: Progress | None, total: int, what: str) -> None:
        """Show nothing yet."""
        self._progress = progress
        self._task = None if progress is None else progress.add_task(what, total=total)

    def reach(self, done: int) -> None:
        """Show that so many are done."""
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, completed=done)


@contextmanager
def bar(total: int, what: str) -> Iterator[Bar]:
    """Show a bar while the block lasts, if somebody can see it."""
    if not sys.stderr.isatty():
        yield Bar(None, total, what)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield Bar(progress, total, what)
