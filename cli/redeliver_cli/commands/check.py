"""`audit`: whether the tables hold what they may."""

from dataclasses import asdict

import click

from redeliver.operator.audit import audit as audited
from redeliver_cli.counting import Counted
from redeliver_cli.desk import Desk
from redeliver_cli.options import at_a_desk
from redeliver_cli.output import Output


@click.command(short_help="Look at every row: does any break a rule?")
@at_a_desk
def audit(desk: Desk, output: Output) -> None:
    """Look at every row of the tables, and name each that breaks a rule, and which. It reads all there is.

    Exit code 1 if any does.

    \b
    redeliver audit
    """
    archive = Counted(desk.archive, output)
    channels = {state.channel for state in desk.known(None)}
    broken = list(audited(archive, desk.register, channels, desk.settings.policy, desk.clock()))
    output.document({"rows": archive.rows, "breaches": [asdict(each) for each in broken]})
    if broken:
        output.table(("rule", "subject", "detail"), [(each.rule, each.subject, each.detail) for each in broken])
    verdict = f"{len(broken):,} breach{'es' if len(broken) > 1 else ''}" if broken else "none breaks a rule"
    output.say(f"{archive.rows:,} rows were looked at; {verdict}")
    if broken:
        click.get_current_context().exit(1)
