"""The options that all commands share, before or behind the command's name, and the desk that they lead to."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from redeliver_cli import deployed
from redeliver_cli.desk import Desk, Open, Where
from redeliver_cli.output import Output
from redeliver_cli.terms import URL

Command = Callable[..., Any]
_DEFAULT_STACK = "redeliver-dev"


def _note(context: click.Context, option: click.Parameter, value: object) -> None:
    if value not in (None, False):
        context.meta[f"redeliver.{option.name}"] = value


def _option(*names: str, **settings: Any) -> Callable[[Command], Command]:
    return click.option(*names, expose_value=False, callback=_note, **settings)


def _shared(*, root: bool) -> list[Callable[[Command], Command]]:
    # The environment is the root's to read: behind a command's name it would outdo what stands before it.
    def named(variable: str) -> dict[str, Any]:
        return {"envvar": variable, "show_envvar": True} if root else {}

    return [
        _option("--json", "json", is_flag=True, help="JSON for programs instead of tables for people."),
        _option("--endpoint-url", type=URL, metavar="URL", help="Of a local stack.", **named("AWS_ENDPOINT_URL")),
        _option("--region", metavar="NAME", help="The AWS region, if not the profile's."),
        _option("--profile", metavar="NAME", help="The profile of the AWS tools."),
        _option(
            "--stack",
            metavar="NAME",
            help=f"The stack's name (without: {_DEFAULT_STACK}).",
            **named("REDELIVER_STACK"),
        ),
    ]


WHERE = _shared(root=True)


def shared(command: Command) -> Command:
    """Give a command the shared options, for those who write them behind its name."""
    for option in _shared(root=False):
        option(command)
    return command


def at_a_desk(function: Command) -> Command:
    """Give a command its desk and its output, and the shared options."""

    @wraps(function)
    def command(**options: Any) -> None:
        context = click.get_current_context()
        output = Output(bool(context.meta.get("redeliver.json")))
        function(_desk(context), output, **options)

    return shared(command)


def _desk(context: click.Context) -> Desk:
    opened: Open = context.obj or deployed.opened
    names = ("profile", "region", "endpoint_url")
    told = {name: context.meta.get(f"redeliver.{name}") for name in names}
    return opened(Where(stack=context.meta.get("redeliver.stack", _DEFAULT_STACK), **told))
