"""Two operators redrive the same dead letters; one is killed in the middle and starts again."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from infra.local.processes import ROOT
from redeliver.core.notification import Notification, Status
from redeliver.store import items
from tests.builders import final
from tests.cli.bare_stack import BareStack

_BATCH = 25  # DynamoDB's limit of a batch write
_PATIENCE = 1800  # seconds; ten thousand on a busy machine take a while
_CHANNELS = 20  # the local stack sorts a channel's index anew for each page
COMMAND = ("redrive", "--reason", "http_503", "--yes", "--rate", "0", "--json")


@dataclass(frozen=True)
class Finish:
    """How it ended: what each program said it had moved, the killed one apart, and the seconds it took."""

    records: Sequence[Notification]
    moved: Sequence[int]
    left_at_kill: int
    seconds: float


def put_dead_letters(stack: BareStack, number: int) -> None:
    """Store so many dead letters."""
    for channel in range(_CHANNELS):
        stack.client.put_item(TableName="ChannelsTable", Item={"channel": {"S": _channel(channel)}})
    for first in range(0, number, _BATCH):
        puts = [_put(each) for each in range(first, min(first + _BATCH, number))]
        answer = stack.client.batch_write_item(RequestItems={"NotificationsTable": puts})
        assert not answer["UnprocessedItems"]


def _channel(number: int) -> str:
    return f"ops-{number % _CHANNELS:02}"


def _put(number: int) -> dict[str, object]:
    one = final(Status.DEAD_LETTERED, channel=_channel(number), last_reason="http_503", attempt_count=5)
    keys = {"channel": {"S": one.channel}, "dedup_key": {"S": f"k{number:06}"}}
    return {"PutRequest": {"Item": {**items.to_item(one), **keys}}}


def race(stack: BareStack, number: int) -> Finish:
    """Let two operators at the dead letters, kill one -9 when a third is done, and start it again."""
    began = time.monotonic()
    killed, other = _operator(stack), _operator(stack)
    again = None
    try:
        while _channel_is_dead(stack, _CHANNELS // 3):
            assert killed.poll() is None, killed.communicate()
            time.sleep(0.05)
        killed.kill()  # -9
        killed.communicate()
        left = sum(record.status is Status.DEAD_LETTERED for record in _records(stack))
        again = _operator(stack)
        moved = [_moved(each) for each in (other, again)]
        seconds = time.monotonic() - began
    finally:
        for each in (killed, other, again):
            if each is not None and each.poll() is None:
                each.kill()
                each.communicate()
    return Finish(list(_records(stack)), moved, left, seconds)


def _operator(stack: BareStack) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "redeliver_cli", *COMMAND]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, env=stack.environment, stdout=pipe, stderr=pipe, text=True)


def _moved(operator: "subprocess.Popen[str]") -> int:
    output, errors = operator.communicate(timeout=_PATIENCE)
    assert operator.returncode == 0, errors
    return int(json.loads(output)["moved"])


def _channel_is_dead(stack: BareStack, channel: int) -> bool:
    """Tell whether nobody has come to a channel's first record yet: they go channel by channel."""
    key = {"channel": {"S": _channel(channel)}, "dedup_key": {"S": f"k{channel:06}"}}
    item = stack.client.get_item(TableName="NotificationsTable", Key=key)["Item"]
    return bool(item["status"]["S"] == Status.DEAD_LETTERED.value)


def _records(stack: BareStack) -> Iterator[Notification]:
    for page in stack.client.get_paginator("scan").paginate(TableName="NotificationsTable", ConsistentRead=True):
        for item in page["Items"]:
            row = items.from_item(item)
            assert isinstance(row, Notification)
            yield row
