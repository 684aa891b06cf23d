"""The local stack itself: what the wrapper adds to ministack, that IAM is enforced, that nothing is left behind."""

import json
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.local.emulator import PYTHON, ministack
from infra.local.processes import REGION, aws_environment, run
from infra.local.stack import LocalStack

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 60
# Python heeds SIGINT only if it was not started with it ignored, as a shell's background jobs are.
STARTER = """
import signal, time
from infra.local.emulator import ministack
from infra.local.processes import termination_as_interrupt
signal.signal(signal.SIGINT, signal.default_int_handler)
with termination_as_interrupt(), ministack() as url:
    print(url, flush=True)
    time.sleep(600)
"""
# Whenever a row is looked at, another comes in; and the first pass of all goes wrong.
BUSY_TABLE = """
import threading, time
from infra.local import ministack_wrapper as wrapper
from ministack.services import dynamodb

class Row(dict):
    def get(self, *name):
        table["items"][str(len(table["items"]))] = {"": {}}
        return super().get(*name)

class Wrong:
    def all_items(self):
        dynamodb._ttl_settings = settings
        raise RuntimeError("once")

table = {"items": {"b": {"": Row()}, "a": {"": Row(expires_at={"N": str(time.time() - 1)})}}}
dynamodb._tables.set_scoped("1", "r", "busy", table)
settings = dynamodb._ttl_settings
settings.set_scoped("1", "r", "busy", {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires_at"})
dynamodb._ttl_settings = Wrong()
wrapper.remove_expired_items(0.01)
end = time.monotonic() + 30
while "a" in table["items"]:
    assert time.monotonic() < end, "TTL has stopped"
    time.sleep(0.01)
"""


def eventually(look: Callable[[], Any]) -> Any:
    """What `look` sees as soon as it is something."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (seen := look()) and time.monotonic() < deadline:
        time.sleep(0.2)
    return seen


def test_tables_have_the_settings_of_their_template(stack: LocalStack) -> None:
    dynamodb = stack.client("dynamodb")
    seen = {}
    for table in ("NotificationsTable", "FindingsTable", "ChannelsTable"):
        name = stack.outputs[table]
        ttl = dynamodb.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
        backups = dynamodb.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
        recovery = backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"]
        seen[table] = (ttl["TimeToLiveStatus"], ttl.get("AttributeName"), recovery)
    assert seen == {
        "NotificationsTable": ("ENABLED", "expires_at", "ENABLED"),
        "FindingsTable": ("ENABLED", "expires_at", "ENABLED"),
        "ChannelsTable": ("DISABLED", None, "ENABLED"),
    }


def test_what_ttl_removes_reaches_retention_as_the_services_deletion(stack: LocalStack) -> None:
    dynamodb, table = stack.client("dynamodb"), stack.outputs["NotificationsTable"]
    keys = {"channel": {"S": "local-stack-ttl"}, "dedup_key": {"S": "expired"}}
    dynamodb.put_item(TableName=table, Item=keys | {"expires_at": {"N": str(int(time.time()) - 1)}})
    assert eventually(lambda: "Item" not in dynamodb.get_item(TableName=table, Key=keys, ConsistentRead=True))
    assert eventually(lambda: _metrics(stack, "notifications.forgotten"))


def test_what_a_person_removes_does_not_reach_retention(stack: LocalStack) -> None:
    dynamodb, table = stack.client("dynamodb"), stack.outputs["NotificationsTable"]
    keys = {"channel": {"S": "local-stack-deleted"}, "dedup_key": {"S": "by hand"}}
    before = len(stack.logs("RetentionFunction"))
    dynamodb.put_item(TableName=table, Item=keys)
    dynamodb.delete_item(TableName=table, Key=keys)
    # Longer than the event source's batching window of 5 s.
    time.sleep(7)
    assert not [line for line in stack.logs("RetentionFunction")[before:] if "local-stack-deleted" in line]


def test_an_old_mistaken_expiry_is_left_alone(stack: LocalStack) -> None:
    dynamodb, table = stack.client("dynamodb"), stack.outputs["NotificationsTable"]
    keys = {"channel": {"S": "local-stack-ttl"}, "dedup_key": {"S": "six years"}}
    dynamodb.put_item(TableName=table, Item=keys | {"expires_at": {"N": str(int(time.time()) - 6 * 365 * 86400)}})
    time.sleep(3)
    assert "Item" in dynamodb.get_item(TableName=table, Key=keys, ConsistentRead=True)


def test_ttl_goes_on_while_rows_come_in() -> None:
    """Not all that ministack does to a table takes its lock, and a thread that died would remove nothing any more."""
    run([str(PYTHON), "-c", BUSY_TABLE], aws_environment(""))


def test_embedded_metrics_become_metrics(stack: LocalStack) -> None:
    stack.invoke("RetrySweeperFunction", {})
    [dimensions] = eventually(lambda: _metrics(stack, "notifications.pending"))
    assert dimensions == {"service": "redeliver-local"}


def _metrics(stack: LocalStack, name: str) -> list[dict[str, str]]:
    found = stack.client("cloudwatch").list_metrics(Namespace="redeliver", MetricName=name)["Metrics"]
    return [{each["Name"]: each["Value"] for each in metric["Dimensions"]} for metric in found]


def test_iam_is_enforced(stack: LocalStack) -> None:
    with urllib.request.urlopen(f"{stack.endpoint_url}/_ministack/health") as answer:
        assert json.load(answer)["auth"] == "enabled"


def test_outputs_are_those_others_build_on(stack: LocalStack) -> None:
    assert set(stack.outputs) == {
        "SendFunction", "RetrySweeperFunction", "RetentionFunction", "HistoryFunction", "NotificationsTable",
        "FindingsTable", "ChannelsTable", "SendQueue", "SendDeadLetterQueue", "EventDeadLetterQueue",
        "NotificationBus",
    }  # fmt: skip


def test_alarms_and_dashboard_are_deployed(stack: LocalStack) -> None:
    cloudwatch = stack.client("cloudwatch")
    alarms = {alarm["MetricName"] for alarm in cloudwatch.describe_alarms()["MetricAlarms"]}
    body = json.loads(cloudwatch.get_dashboard(DashboardName=f"redeliver-local-{REGION}")["DashboardBody"])
    assert "notifications.dead_letters" in alarms
    assert stack.outputs["SendFunction"] in json.dumps(body)


def test_schedules_call_the_sweeper_and_retention(stack: LocalStack) -> None:
    scheduler = stack.client("scheduler")
    names = [schedule["Name"] for schedule in scheduler.list_schedules()["Schedules"]]
    targets = [_target(scheduler.get_schedule(Name=name)) for name in names]
    assert sorted(targets) == sorted([stack.outputs["RetrySweeperFunction"], stack.outputs["RetentionFunction"]])


def _target(schedule: dict[str, Any]) -> str:
    assert schedule["Target"]["DeadLetterConfig"]["Arn"]
    function: str = schedule["Target"]["Arn"].rpartition(":")[2]
    return function


def test_two_run_beside_each_other() -> None:
    with ministack() as one, ministack() as other:
        assert one != other


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda how: how.name)
def test_nothing_is_left_however_the_starter_ends(how: signal.Signals, tmp_path: Path) -> None:
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER], cwd=ROOT, env={"TMPDIR": str(tmp_path)}, stdout=subprocess.PIPE, text=True
    )
    with starter:
        assert starter.stdout is not None
        port = int(starter.stdout.readline().strip().rpartition(":")[2])
        assert _answers(port)
        assert list(tmp_path.iterdir())
        starter.send_signal(how)
    assert eventually(lambda: not _answers(port))
    assert eventually(lambda: not list(tmp_path.iterdir()))


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
