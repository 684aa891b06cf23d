"""The program as a whole: exit codes, errors in one line, where it looks, and help that explains."""

import os
from collections.abc import Iterator, Mapping

import click
import pytest
from botocore.exceptions import ClientError, NoCredentialsError, ProfileNotFound
from click.testing import CliRunner, Result
from moto import mock_aws

from redeliver.ports import Unavailable
from redeliver_cli import deployed
from redeliver_cli.desk import Desk, Unreachable, Where
from redeliver_cli.program import main
from tests.cli.desks import Person

COMMANDS = {
    **main.commands,
    **{f"channels {name}": command for name, command in main.commands["channels"].commands.items()},  # type: ignore[attr-defined] # it is a group
}


def ran(error: BaseException, *words: str) -> Result:
    def opened(where: Where) -> Desk:
        raise error

    return CliRunner().invoke(main, words or ("status",), obj=opened)


def refused(code: str, operation: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "not\nyou"}}, operation)


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (Unavailable("DynamoDB: ThrottlingException: slow"), 3, "DynamoDB: ThrottlingException: slow"),
        (Unreachable("stack 'x' has no output SendFunction"), 3, "no output SendFunction"),
        (refused("AccessDenied", "DescribeStacks"), 3, "AWS refused DescribeStacks: AccessDenied: not you; are these"),
        (refused("ValidationError", "DescribeStacks"), 3, "name the stack with --stack"),
        (NoCredentialsError(), 3, "name a profile with --profile"),
        (ProfileNotFound(profile="x"), 3, "--profile takes one of"),
        (KeyError("oops\x1b[31m"), 70, "a fault of this program: KeyError: 'oops\\x1b[31m'"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_an_error_is_one_line_and_an_exit_code(error: BaseException, code: int, says: str) -> None:
    found = ran(error)
    assert (found.exit_code, found.stdout) == (code, "")
    assert says in found.stderr
    [line] = found.stderr.strip().splitlines()
    assert line.startswith("redeliver: ")


def test_a_fault_of_ours_shows_where_if_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDELIVER_DEBUG", "1")
    assert isinstance(ran(KeyError("oops")).exception, KeyError)


@pytest.mark.parametrize(
    "words",
    [
        ["--channel", "a b"],
        ["--watch", "0"],
        ["--bogus"],
        ["too", "many"],
    ],
    ids=str,
)
def test_wrong_usage_is_2_and_one_line(words: list[str]) -> None:
    found = Person().types("status", *words)
    assert (found.exit_code, found.stdout) == (2, "")
    assert len(found.stderr.strip().splitlines()) == 1


def test_a_wrong_time_says_which_are_right() -> None:
    found = Person().types("list", "--since", "yesterday")
    assert found.exit_code == 2
    assert "--since" in found.stderr
    assert "30m, 2h or 3d, or a moment such as 2026-11-30T12:00:00Z" in found.stderr
    assert Person().types("list", "--since", "2h", "--until", "3h").exit_code == 2


def test_a_misspelt_command_is_answered_with_the_right_one() -> None:
    found = Person().types("stauts")
    assert (found.exit_code, "status" in found.stderr) == (2, True)


def test_alone_it_shows_its_help() -> None:
    found = Person().types()
    assert found.exit_code == 2
    assert "Exit codes:" in found.output


@pytest.mark.parametrize("name", list(COMMANDS))
def test_each_command_explains_itself_with_an_example(name: str) -> None:
    found = Person().types(*name.split(), "--help")
    assert found.exit_code == 0
    command: click.Command = COMMANDS[name]
    assert command.help
    if name != "channels list":
        assert f"redeliver {name}" in found.output


def test_where_to_look_may_stand_before_or_behind_the_command() -> None:
    person = Person()
    where = ["--stack", "s", "--profile", "p", "--region", "eu-north-1", "--endpoint-url", "http://127.0.0.1:1"]
    person.types(*where, "status")
    person.types("status", *where)
    person.types("--stack", "x", "--region", "y", "status", *where)
    assert person.where == [Where(stack="s", profile="p", region="eu-north-1", endpoint_url="http://127.0.0.1:1")] * 3
    person.types("status")
    assert person.where[-1] == Where(stack="redeliver-dev")


def test_the_environment_says_where_unless_the_command_line_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDELIVER_STACK", "from-environment")
    person = Person()
    person.types("status")
    person.types("--stack", "told", "status")
    person.types("status", "--stack", "told")
    assert [where.stack for where in person.where] == ["from-environment", "told", "told"]


def test_json_may_stand_before_or_behind_the_command() -> None:
    person = Person()
    assert person.types("--json", "channels").stdout == person.types("channels", "--json").stdout
    assert person.types("channels", "--json").stdout.startswith("[{")


@pytest.fixture
def outside() -> Iterator[None]:
    """Undo what opening a stack does to the environment."""
    before: Mapping[str, str] = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.mark.usefixtures("outside")
def test_a_stack_that_cannot_be_reached_is_3() -> None:
    found = CliRunner().invoke(main, ["--endpoint-url", "http://127.0.0.1:9", "status"])
    assert (found.exit_code, found.stdout) == (3, "")
    assert "cannot be reached" in found.stderr
    assert len(found.stderr.strip().splitlines()) == 1


@pytest.mark.usefixtures("outside")
def test_a_profile_goes_before_keys_in_the_environment() -> None:
    with pytest.raises(ProfileNotFound):
        deployed.opened(Where(stack="s", profile="nobody"))
    assert "AWS_ACCESS_KEY_ID" not in os.environ


@pytest.mark.usefixtures("outside")
def test_without_a_region_it_says_how_to_name_one() -> None:
    del os.environ["AWS_REGION"], os.environ["AWS_DEFAULT_REGION"]
    with mock_aws(), pytest.raises(Unreachable, match="--region"):
        deployed.opened(Where(stack="s"))


@pytest.mark.parametrize("url", ["nonsense", "127.0.0.1:4566", "http://", "ftp://127.0.0.1"])
def test_an_address_that_is_none_is_wrong_usage(url: str) -> None:
    found = CliRunner().invoke(main, ["--endpoint-url", url, "status"])
    assert (found.exit_code, "--endpoint-url" in found.stderr) == (2, True)
