"""What the queues of `send` promise: ports Requests and DeadLetterQueue, over the fake and SQS (moto)."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
from moto import mock_aws

from redeliver.ports import MOST_REQUESTS, Requests, Unavailable
from redeliver.queue import MOST_BYTES, SqsDeadLetterQueue, SqsRequests
from tests.fakes import FakeDeadLetterQueue, FakeRequests

NOWHERE = "https://sqs.eu-central-1.amazonaws.com/123456789012/nowhere"


@dataclass
class Way:
    """A way in, what came in by it, and the same when it does not work."""

    requests: Requests
    asked: Callable[[], list[Mapping[str, object]]]
    broken: Requests


@pytest.fixture
def queue() -> Iterator[tuple[Any, str]]:
    with mock_aws():
        client = boto3.client("sqs")
        yield client, client.create_queue(QueueName="requests")["QueueUrl"]


@pytest.fixture(params=["fake", "sqs"])
def way(request: pytest.FixtureRequest) -> Way:
    if request.param == "fake":
        fake = FakeRequests()
        return Way(fake, lambda: fake.asked, FakeRequests(down=True))
    client, url = request.getfixturevalue("queue")
    return Way(
        SqsRequests(url), lambda: [json.loads(each["Body"]) for each in taken(client, url)], SqsRequests(NOWHERE)
    )


def taken(client: Any, url: str) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    while found := client.receive_message(
        QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"], WaitTimeSeconds=0
    ).get("Messages"):
        messages += found
    return messages


@pytest.mark.parametrize("number", [0, 1, MOST_REQUESTS])
def test_all_that_is_asked_for_comes_in_as_it_was(way: Way, number: int) -> None:
    wanted = [{"dedup_key": f"k{each:02}", "subject": "schön € \uffff \ud800"} for each in range(number)]
    way.requests.ask(wanted)
    assert sorted(way.asked(), key=lambda one: str(one["dedup_key"])) == wanted


def test_a_way_that_does_not_work_says_so(way: Way) -> None:
    with pytest.raises(Unavailable, match="SQS: "):
        way.broken.ask([{"dedup_key": "k"}])


def test_one_that_is_refused_is_said(queue: tuple[Any, str]) -> None:
    with pytest.raises(Unavailable, match=r"SQS: [\w.]+: a notification could not be requested"):
        SqsRequests(queue[1]).ask([{"dedup_key": "k"}, {"body": "x" * 2_000_000}])


class Half:
    """A client of SQS that takes the first message of a batch alone, and answers 200 as SQS does."""

    def send_message_batch(self, **_: object) -> dict[str, Any]:
        failed = [{"Id": "1", "SenderFault": False, "Code": "InternalError", "Message": "no"}]
        return {"Successful": [{"Id": "0"}], "Failed": failed}


def test_a_batch_of_which_one_message_is_not_taken_is_no_success() -> None:
    requests = SqsRequests(NOWHERE)
    requests.__dict__["_client"] = Half()
    with pytest.raises(Unavailable, match="SQS: InternalError: a notification could not be requested"):
        requests.ask([{"dedup_key": "k1"}, {"dedup_key": "k2"}])


@pytest.mark.parametrize("over", ["fake", "sqs"])
def test_a_refused_request_is_kept_with_its_reason(over: str, request: pytest.FixtureRequest) -> None:
    if over == "fake":
        fake = FakeDeadLetterQueue()
        fake.put("{not json", "kind: is required")
        assert fake.messages == [("{not json", "kind: is required")]
        return
    client, url = request.getfixturevalue("queue")
    SqsDeadLetterQueue(url).put("{not json \ud800", "kind: is\x00 required" + "x" * 2000)
    (message,) = taken(client, url)
    assert message["Body"] == "{not json \\ud800"
    reason = message["MessageAttributes"]["reason"]["StringValue"]
    assert reason.startswith("kind: is")
    assert len(reason) <= 1024


BESIDE = len("reason") + len("String")


@pytest.mark.parametrize(
    ("size", "kept", "why"),
    [
        (MOST_BYTES - BESIDE - 6, MOST_BYTES - BESIDE - 6, "€€"),
        (MOST_BYTES - BESIDE - 5, MOST_BYTES - BESIDE - 5, "€"),
        (MOST_BYTES - BESIDE - 2, MOST_BYTES - BESIDE - 2, None),
        (MOST_BYTES, MOST_BYTES, None),
        (MOST_BYTES + 1, MOST_BYTES, None),
        (6 * MOST_BYTES, MOST_BYTES, None),
    ],
)
def test_what_is_put_aside_has_room_in_a_message_the_request_before_the_reason(
    queue: tuple[Any, str], size: int, kept: int, why: str | None
) -> None:
    client, url = queue
    client.set_queue_attributes(QueueUrl=url, Attributes={"MaximumMessageSize": str(MOST_BYTES)})
    SqsDeadLetterQueue(url).put("x" * size, "€€")
    (message,) = taken(client, url)
    assert len(message["Body"]) == kept
    assert message.get("MessageAttributes", {}).get("reason", {}).get("StringValue") == why


@pytest.mark.parametrize("over", ["fake", "sqs"])
def test_a_refused_request_that_cannot_be_kept_is_said(over: str) -> None:
    broken = FakeDeadLetterQueue(down=True) if over == "fake" else SqsDeadLetterQueue(NOWHERE)
    with mock_aws(), pytest.raises(Unavailable, match="could not be put aside"):
        broken.put("{}", "why")


def test_what_is_asked_for_is_text_that_sqs_takes(queue: tuple[Any, str]) -> None:
    client, url = queue
    wanted = {"subject": "\ufffe", "body": "\ud800 €"}
    SqsRequests(url).ask([wanted])
    (message,) = taken(client, url)
    assert json.loads(message["Body"]) == wanted
    assert not set(message["Body"]) & {"\ud800", "\ufffe"}
