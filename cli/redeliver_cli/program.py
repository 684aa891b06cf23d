"""The program `redeliver`: its commands, and the one place where an error becomes a line and an exit code."""

import os
import sys
from collections.abc import Sequence
from typing import Any

import click
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionError,
    HTTPClientError,
    NoCredentialsError,
    ProfileNotFound,
)

from redeliver.ports import Unavailable
from redeliver.settings import InvalidSetting
from redeliver_cli.commands import ask, channels, check, holding, moving, showing, viewing
from redeliver_cli.desk import Unreachable
from redeliver_cli.options import WHERE
from redeliver_cli.plain import harmless

WRONG_USAGE, CANNOT_REACH, OUR_FAULT, INTERRUPTED = 2, 3, 70, 130

HELP = """
Say what redeliver is not getting through, why, and send it again.

\b
    redeliver status                                  what is not getting through, channel by channel
    redeliver show ops-hook disk-full:web-1           why one notification was not sent, and what would change that
    redeliver redrive --channel ops-hook --since 2h   send dead letters again, counted first

Every command works on one deployed stack. Credentials, region and profile are those of the AWS tools. Times are UTC;
where one is asked for, 30m, 2h and 3d are as good as 2026-11-30T12:00:00Z. With --json programs get one JSON document
(JSON lines from `list`), moments in it as RFC 3339.

\b
Exit codes:
    0    fine
    1    what was asked about is not well: a breach, a message that did not arrive, a record that was not moved
    2    wrong usage; the line names the option and what is allowed
    3    the stack cannot be reached, or AWS refused
    70   a fault of this program (REDELIVER_DEBUG=1 shows where)
    130  interrupted; what was done until then is in the account
"""


class Program(click.Group):
    """A group whose errors are one line on standard error, and an exit code that means something."""

    def main(self, args: Sequence[str] | None = None, *others: Any, **extra: Any) -> Any:
        """Run, and end the process with a code of the list above."""
        extra["standalone_mode"] = False
        try:
            code = super().main(args, *others, **extra)
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            code = WRONG_USAGE
        except click.Abort:
            code = _fail("interrupted", INTERRUPTED)
        except click.ClickException as error:
            code = _fail(error.format_message(), WRONG_USAGE)
        except (BotoCoreError, ClientError) as error:
            code = _fail(_of_aws(error), CANNOT_REACH)
        except (Unreachable, Unavailable, InvalidSetting) as error:
            code = _fail(str(error), CANNOT_REACH)
        except Exception as error:
            if os.environ.get("REDELIVER_DEBUG"):
                raise
            code = _fail(f"a fault of this program: {type(error).__name__}: {error}", OUR_FAULT)
        sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str, code: int) -> int:
    click.echo(f"redeliver: {harmless(' '.join(message.split()))}", err=True)
    return code


def _of_aws(error: BotoCoreError | ClientError) -> str:
    match error:
        case ClientError():
            said = error.response.get("Error", {})
            refused = f"AWS refused {error.operation_name}: {said.get('Code')}: {said.get('Message')}"
            if error.operation_name == "DescribeStacks" and said.get("Code") == "ValidationError":
                return f"{refused}; name the stack with --stack, its region with --region"
            return f"{refused}; are these the credentials (--profile) and the region (--region) of the stack?"
        case ProfileNotFound():
            return f"{error}: --profile takes one of ~/.aws/config"
        case NoCredentialsError():
            return "there are no AWS credentials: name a profile with --profile, or log in"
        case ConnectionError() | HTTPClientError():
            return f"AWS cannot be reached: {error}; is the network up, and --endpoint-url right?"
    return f"AWS cannot be asked: {error}"


@click.command(
    cls=Program, help=HELP, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120}
)
@click.version_option(package_name="redeliver", message="redeliver %(version)s")
def main() -> None:
    """See HELP."""


for _option in WHERE:
    _option(main)
for _command in (
    viewing.status,
    viewing.list_,
    showing.show,
    moving.redrive,
    moving.cancel,
    holding.hold,
    holding.release,
    channels.channels,
    ask.send,
    ask.finding,
    check.audit,
):
    main.add_command(_command)
