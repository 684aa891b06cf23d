"""The command line over the deployed stack: a night on call, and every command once."""

import json
from collections import Counter
from typing import Any

import pytest
from click.testing import CliRunner, Result

from infra.local.endpoint import Endpoint, Step
from infra.local.processes import CREDENTIALS
from infra.local.stack import STACK, LocalStack
from redeliver_cli.program import main
from tests.stack.scene import Scene, configure, until


class Shell:
    """A person's shell: the credentials in the environment, the stack named on the command line."""

    def __init__(self, stack: LocalStack) -> None:
        self.where = ("--stack", STACK, "--endpoint-url", stack.endpoint_url)

    def types(self, *words: str, given: str | None = None) -> Result:
        """Return what a command line comes to."""
        return CliRunner().invoke(main, [*self.where, *words], input=given)

    def asks(self, *words: str, code: int = 0) -> Any:
        """Return the JSON that a command answers with."""
        result = self.types("--json", *words)
        assert result.exit_code == code, result.output
        return json.loads(result.stdout)

    def reads(self, *words: str, code: int = 0) -> str:
        """Return what a command answers to people."""
        result = self.types(*words)
        assert result.exit_code == code, result.output
        return result.output


@pytest.fixture
def shell(stack: LocalStack, monkeypatch: pytest.MonkeyPatch) -> Shell:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name.upper(), value)
    monkeypatch.delenv("AWS_SESSION_TOKEN")
    return Shell(stack)


def all_die(scene: Scene, shell: Shell, keys: list[str]) -> None:
    """Let the last attempts of these records fail; each sweep ends with the channel on hold."""
    for key in keys:
        scene.change(key, "SET attempt_count = :four", four={"N": "4"})
    while scene.stack.invoke("RetrySweeperFunction", {"command": "counts"})["channels"][scene.channel]["pending"]:
        scene.sweep_when_due(*(key for key in keys[-1:] if "next_attempt_at" in scene.stored(key)))
        shell.types("release", scene.channel)


def test_a_night_on_call(scene: Scene, endpoint: Endpoint, shell: Shell) -> None:
    keys = [f"disk-full:web-{number}" for number in range(200)]
    endpoint.script(scene.path, default=Step(status=404, body="no such hook"))
    lines = "\n".join(json.dumps(scene.notification(key)) for key in keys)
    sent = shell.types("send", "-", given=lines)
    assert sent.exit_code == 0, sent.output
    assert "200 retrying" in sent.output
    all_die(scene, shell, keys)

    # What is not getting through?
    assert "Not everything gets through" in shell.reads("status", "--channel", scene.channel)
    [status] = shell.asks("status", "--channel", scene.channel)
    assert (status["dead_letters"], status["pending"], status["sent_last_hour"]) == (200, 0, 0)
    # Why?
    listed = shell.reads("list", "--channel", scene.channel, "--status", "dead_lettered", "--limit", "3")
    assert listed.count("http_404") == 3
    story = shell.reads("show", scene.channel, keys[0])
    assert "404" in story
    assert "mend the cause, then redrive it" in story
    # Send it again.
    endpoint.script(scene.path, default=Step())
    before = len(scene.received())
    counted = shell.types("redrive", "--channel", scene.channel, "--reason", "http_404")
    assert (counted.exit_code, "200 would be sent again" in counted.output) == (2, True)
    again = shell.reads("redrive", "--channel", scene.channel, "--reason", "http_404", "--yes", "--rate", "0")
    assert "200 redriven" in again
    shell.reads("release", scene.channel)
    scene.sweep()
    assert Counter(scene.told()[before:]) == Counter(keys)
    until(lambda: shell.asks("status", "--channel", scene.channel)[0]["sent_last_hour"] == 200)
    assert scene.metric("notifications.sent", channel=scene.channel, kind="cve") == 200
    assert_agrees(scene, shell)
    assert "none breaks a rule" in shell.reads("audit")


def assert_agrees(scene: Scene, shell: Shell) -> None:
    """See that status says what the sweeper's counts say."""
    counts = scene.stack.invoke("RetrySweeperFunction", {"command": "counts"})["channels"]
    found = {each["channel"]: each for each in shell.asks("status")}
    assert found.keys() == counts.keys()
    for name, counted in counts.items():
        each = found[name]
        assert each["pending"] + each["retrying"] == counted["pending"], name
        assert (each["dead_letters"], each["hold_reason"]) == (counted["dead_letters"], counted["hold_reason"]), name


def test_the_channels_are_listed_checked_and_tested(scene: Scene, endpoint: Endpoint, shell: Shell) -> None:
    listed = {each["channel"]: each for each in shell.asks("channels")}
    assert listed[scene.channel]["type"] == "webhook"
    assert "whsec_" not in json.dumps(listed)
    assert "valid, webhook" in shell.reads("channels", "check", scene.channel)
    assert "it arrived" in shell.reads("channels", "test", scene.channel)
    assert len(scene.received()) == 1
    endpoint.script(scene.path, default=Step(status=404, body="no such hook"))
    assert "http_404: HTTP 404: no such hook" in shell.reads("channels", "test", scene.channel, code=1)
    configure(scene, url="ftp://nowhere")
    assert "url must be an https:// address" in shell.reads("channels", "check", scene.channel, code=1)
    assert "there is no SSM parameter" in shell.reads("channels", "check", "nobody", code=1)


def test_a_held_channel_waits_and_a_cancelled_one_is_never_sent(scene: Scene, shell: Shell) -> None:
    shell.reads("hold", scene.channel, "--for", "2h", "--note", "maintenance")
    [row] = shell.asks("status", "--channel", scene.channel)
    assert (row["hold_reason"], row["hold_note"]) == ("operator", "maintenance")
    words = ["--kind", "cve", "--subject", "Text", "--body", "Text"]
    for key in ("a", "b"):
        assert shell.asks("send", "--channel", scene.channel, "--key", key, *words)["result"] == "accepted"
    assert "an operator holds its channel (maintenance)" in shell.reads("show", scene.channel, "a")
    assert shell.asks("cancel", scene.channel, "a", "--because", "false alarm")["moved"] == 1
    shell.reads("release", scene.channel)
    scene.sweep()
    assert scene.told() == ["b"]
    assert "it was suppressed: false alarm" in shell.reads("show", scene.channel, "a")


def test_news_of_a_finding_goes_to_retention(scene: Scene, shell: Shell) -> None:
    scene.send("f-1", finding_id="CVE-cli")
    assert "nobody has said" in shell.reads("show", scene.channel, "f-1")
    assert shell.asks("finding", "CVE-cli", "active")["kept_active"] == 1
    assert "is active since" in shell.reads("show", scene.channel, "f-1")
    assert shell.asks("finding", "CVE-cli", "resolved")["stamped"] == 1
    assert "it may be forgotten after" in shell.reads("show", scene.channel, "f-1")
    found = shell.asks("finding", "CVE-cli", "active", "--changed-at", "2020-01-01T00:00:00Z")
    assert (found["released"], found["kept_active"]) == (0, 0)  # old news


def test_a_stack_that_is_not_there_is_3_and_names_the_option(shell: Shell) -> None:
    found = shell.types("--stack", "nobody", "status")
    assert found.exit_code == 3
    assert "--stack" in found.stderr
    assert len(found.stderr.strip().splitlines()) == 1
