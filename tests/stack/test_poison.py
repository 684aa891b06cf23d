"""Rows that nobody should meet, over the deployed functions: each is parked once and costs the endpoint nothing."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from redeliver.core.notification import Status
from redeliver.store import items
from tests.builders import record
from tests.stack.scene import Scene

ROWS: dict[str, dict[str, Any]] = {
    "wrong type": {"attempt_count": {"S": "1"}},
    "missing attribute": {"kind": None},
    "unknown status": {"status": {"S": "snoozed"}},
    "no integer": {"created_at": {"N": "1.5"}},
    "due at no moment": {"next_attempt_at": {"N": "-1E+20"}},
    "final and due": {"status": {"S": Status.SENT.value}},
    "not one byte of room": {"filling": {"S": ""}},
}


def put(scene: Scene, key: str, **changes: Any) -> None:
    """Put a record that has been due for ever, with attributes changed; one given as None is left out."""
    one = record(channel=scene.channel, dedup_key=key)
    item = {"channel": {"S": scene.channel}, "dedup_key": {"S": key}, **items.to_item(one)}
    item = {name: value for name, value in {**item, "next_attempt_at": {"N": "1"}, **changes}.items() if value}
    scene.stack.client("dynamodb").put_item(TableName=scene.stack.outputs["NotificationsTable"], Item=item)


def put_the_largest(scene: Scene, key: str) -> None:
    """Put an item of exactly as many bytes as the table takes."""
    fits, too_large = 300_000, 500_000
    while too_large - fits > 1:
        middle = (fits + too_large) // 2
        try:
            put(scene, key, filling={"S": "x" * middle})
            fits = middle
        except ClientError:
            too_large = middle
    put(scene, key, filling={"S": "x" * fits})


@pytest.mark.parametrize("changes", ROWS.values(), ids=ROWS.keys())
def test_a_row_that_is_no_record_is_parked_once(scene: Scene, changes: dict[str, Any]) -> None:
    scene.send("first")  # which opens the channel
    if "filling" in changes:
        put_the_largest(scene, "bad")
    else:
        put(scene, "bad", **changes)
    put(scene, "good")
    scene.sweep()
    assert sorted(scene.told()) == ["first", "good"]
    assert scene.stored("good")["status"] == "sent"
    parked = scene.stored("bad")
    assert "dead_lettered_at" in parked
    assert "next_attempt_at" not in parked
    scene.sweep()
    assert scene.stored("bad") == parked
    assert sorted(scene.told()) == ["first", "good"]
    assert len(scene.log("RetrySweeperFunction", "notification_unreadable")) == 1
    counts = scene.stack.invoke("RetrySweeperFunction", {"command": "counts"})["channels"][scene.channel]
    assert (counts["pending"], counts["dead_letters"]) == (0, 1)
