"""The largest answers that callers can bring about, through Lambda's bound of 6 MB."""

import pytest

from infra.local.runtime_api import LARGEST_ANSWER
from redeliver.core.request import MOST_NOTIFICATIONS
from tests.runtime.functions import Functions
from tests.stack.scene import Scene
from tests.stores import tables

LONGEST = 1024  # bytes of a dedup key, and characters of what an invalid notification is echoed with
MOST_KEYS = 1000
LONGEST_NAME = 64
FAR_OFF = 1 << 32
NUMBERS = ("pending", "dead_letters", "oldest_due_seconds")
# What grows most as JSON: six bytes for one in UTF-8. Lambda's encoder for Python 3.11 writes ASCII, twelve for one.
CONTROL, ASTRAL = "\x01", "\U0001f514"
WORST = {"AWS_Lambda_python3.11": (ASTRAL, 12), "AWS_Lambda_python3.13": (CONTROL, 6)}


@pytest.mark.parametrize("runtime", WORST)
def test_the_largest_answer_of_send_is_not_half_of_what_lambda_takes(functions: Functions, runtime: str) -> None:
    letter, size = WORST[runtime]
    # What is invalid is echoed as it is; other answers have a valid channel, and an error as long as the key here.
    invalid = {"channel": letter * 2 * LONGEST, "dedup_key": letter * 2 * LONGEST, letter * LONGEST_NAME: "unknown"}
    with functions.start("SendFunction", {"AWS_EXECUTION_ENV": runtime}) as send:
        answer = send.invoke({"notifications": [invalid] * MOST_NOTIFICATIONS})
    results = answer.value["results"]
    assert [result["dedup_key"] for result in results] == [letter * LONGEST] * MOST_NOTIFICATIONS
    assert MOST_NOTIFICATIONS * 2 * LONGEST * size < len(answer.body) < LARGEST_ANSWER / 2


def test_a_redrive_of_as_many_and_as_long_keys_as_there_may_be_is_answered(functions: Functions) -> None:
    sweeper, keys = functions.running("RetrySweeperFunction"), [f"{n:04}" for n in range(MOST_KEYS)]
    keys = [number + CONTROL * (LONGEST - len(number)) for number in keys]
    command = {"command": "redrive", "channel": "a" * LONGEST_NAME, "dedup_keys": keys}
    assert sweeper.invoke(command | {"dedup_keys": [*keys, "one more"]}).value["errorType"] == "InvalidCommand"
    answer = sweeper.invoke(command)
    assert answer.value["results"] == [{"dedup_key": key, "result": "not_found"} for key in keys]
    # With nothing but control characters in the keys, and the longest result for each.
    longest = len(answer.body) + MOST_KEYS * (4 * 5 + len("is_suppressed") - len("not_found"))
    assert 0.98 * LARGEST_ANSWER < longest < LARGEST_ANSWER


def test_counts_have_room_for_twenty_thousand_channels(functions: Functions) -> None:
    dynamodb, some = functions.client("dynamodb"), 50
    dynamodb.create_table(TableName="ManyChannels", **tables()["ChannelsTable"])
    for number in range(some):
        row = {"channel": {"S": f"{number:0{LONGEST_NAME}}"}, "hold_until": {"N": str(FAR_OFF)}}
        dynamodb.put_item(TableName="ManyChannels", Item=row | {"hold_reason": {"S": "not_configured"}})
    with functions.start("RetrySweeperFunction", {"CHANNELS_TABLE": "ManyChannels"}) as sweeper:
        answer = sweeper.invoke({"command": "counts"})
    counts = answer.value["channels"].values()
    assert len(counts) == some
    # Every number as long as the moment of the hold, which is more than any of the others comes to.
    longest = len(answer.body) + sum(len(str(FAR_OFF)) - len(str(count[name])) for count in counts for name in NUMBERS)
    assert longest / some * 20_000 < LARGEST_ANSWER


@pytest.mark.parametrize("field", ["channel", "dedup_key"])
def test_half_a_surrogate_pair_in_what_is_echoed_spoils_no_other_answer(
    functions: Functions, scene: Scene, field: str
) -> None:
    listed = [scene.notification("good"), scene.notification("bad") | {field: "a\ud800"}]
    answer = functions.running("SendFunction").invoke({"notifications": listed})
    assert scene.told() == ["good"]
    assert [result["result"] for result in answer.value["results"]] == ["sent", "invalid"]


@pytest.mark.parametrize("records", [[], [{"eventSource": "aws:s3"}], "none"], ids=str)
def test_what_is_no_batch_of_the_queue_is_answered_by_name(functions: Functions, scene: Scene, records: object) -> None:
    answer = functions.running("SendFunction").invoke({**scene.notification("k"), "Records": records})
    (result,) = answer.value["results"]
    assert (result["result"], result["error"].split(";")[0]) == ("invalid", "'Records': unknown field")
