import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.sns.models import sns_backends

from infra.local.endpoint import Endpoint
from redeliver.channels import TYPES
from redeliver.channels.document import InvalidDocument, read_document
from redeliver.channels.sns import LARGEST_MESSAGE, LONGEST_SMS, Sns
from redeliver.channels.transport import Transport
from redeliver.core.notification import Dispatch, message_id
from redeliver.core.outcome import Delivered, Gone
from tests.contract.channel_cases import channel_of, record, single
from tests.contract.channel_sns import DESCRIPTIONS, fits, form

TOPIC = "arn:aws:sns:eu-central-1:123456789012:ops"
NUMBER = "+4915112345678"


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    with Endpoint() as running:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SNS", running.url())
        running.script("/", default=DESCRIPTIONS[0].success)
        yield running


def sent(endpoint: Endpoint, dispatch: Dispatch, **own: Any) -> dict[str, str]:
    """Return what SNS is asked to publish for a dispatch."""
    channel = channel_of({"type": "sns", **(own or {"topic_arn": TOPIC})}, Transport(), budget=10.0)
    assert channel.deliver(dispatch) == Delivered()
    (request,) = endpoint.requests()
    return form(request)


def attributes(fields: dict[str, str]) -> dict[str, str]:
    prefix = "MessageAttributes.entry."
    numbers = {name.removeprefix(prefix).partition(".")[0] for name in fields if name.startswith(prefix)}
    return {fields[f"{prefix}{n}.Name"]: fields[f"{prefix}{n}.Value.StringValue"] for n in numbers}


def sns(**own: str) -> Sns:
    document = read_document({"type": "sns", **own}, TYPES)
    return Sns(document)


def test_a_message_to_a_topic(endpoint: Endpoint) -> None:
    fields = sent(endpoint, single())
    assert (fields["TopicArn"], fields["Subject"], fields["Message"]) == (TOPIC, "log4j", "log4j\n\nUpdate now.")
    assert attributes(fields) == {"kind": "cve", "dedup_key": "CVE-2021-44228"}
    assert not {"PhoneNumber", "MessageGroupId", "MessageDeduplicationId"} & set(fields)


def test_a_message_to_a_fifo_topic_is_known_again(endpoint: Endpoint) -> None:
    fields = sent(endpoint, single(attempt_count=3), topic_arn=f"{TOPIC}.fifo")
    assert (fields["MessageGroupId"], fields["MessageDeduplicationId"]) == ("ops", message_id(record()))


@pytest.mark.parametrize(("kinds", "kind"), [("aa", "a"), ("ab", "digest")])
def test_a_digest(kinds: str, kind: str, endpoint: Endpoint) -> None:
    dispatch = Dispatch(tuple(record(dedup_key=str(n), kind=each) for n, each in enumerate(kinds)), digest=True)
    fields = sent(endpoint, dispatch, topic_arn=f"{TOPIC}.fifo")
    assert attributes(fields) == {"kind": kind}
    assert fields["MessageDeduplicationId"] == dispatch.batch_id
    assert fields["Subject"].startswith("2 notifications: a (")


def test_a_text_message(endpoint: Endpoint) -> None:
    fields = sent(endpoint, single(), phone_number=NUMBER)
    assert {name: fields[name] for name in set(fields) - {"Action", "Version"}} == {
        "PhoneNumber": NUMBER,
        "Message": "log4j\n\nUpdate now.",
    }


@pytest.mark.parametrize("own", [{"topic_arn": TOPIC}, {"phone_number": NUMBER}])
def test_a_recipient_gets_a_text_message(own: dict[str, str], endpoint: Endpoint) -> None:
    fields = sent(endpoint, single(recipient=" +12065550100 ", body="x" * 5000), **own)
    assert fields["PhoneNumber"] == "+12065550100"
    assert len(fields["Message"]) == LONGEST_SMS
    assert "TopicArn" not in fields


@pytest.mark.parametrize(
    "recipient",
    [
        "",
        "12065550100",
        "+02065550100",
        "+1206",
        "+1206555010012345",
        "+1 206 555 0100",
        TOPIC,
        "+\u0661\u0662\u0660\u0666\u0665\u0665\u0665\u0660\u0661\u0660\u0660",
    ],
)
def test_what_is_no_number_is_gone_without_a_request(recipient: str, endpoint: Endpoint) -> None:
    channel = channel_of({"type": "sns", "topic_arn": TOPIC}, Transport())
    outcome = channel.deliver(single(recipient=recipient))
    assert outcome == Gone("invalid_recipient", "the recipient is no E.164 phone number")
    assert not endpoint.requests()


@pytest.mark.parametrize(
    ("subject", "seen"),
    [
        ("x" * 99, "x" * 99),
        ("x" * 100, "x" * 98 + "…"),
        ("🚲" * 60, "🚲" * 49 + "…"),
        (" a\r\nb\u2028c\uffff ", "a b c\ufffd"),
    ],
)
def test_a_subject_is_one_line_of_less_than_100_characters(subject: str, seen: str, endpoint: Endpoint) -> None:
    assert sent(endpoint, single(subject=subject))["Subject"] == seen


def test_a_subject_of_nothing_is_left_out(endpoint: Endpoint) -> None:
    assert "Subject" not in sent(endpoint, single(subject=" "))


def test_what_xml_cannot_hold_is_replaced(endpoint: Endpoint) -> None:
    fields = sent(endpoint, single(body="a\x00b\tc\nd\ufffe", dedup_key="k\x01"))
    assert fields["Message"].endswith("a\ufffdb\tc\nd\ufffd")
    assert attributes(fields)["dedup_key"] == "k\ufffd"


def test_a_full_digest_is_as_large_as_a_topic_takes(endpoint: Endpoint) -> None:
    channel = sns(topic_arn=TOPIC)
    members = [record(dedup_key=str(number), body="é" * 32_000) for number in range(4)]
    room = channel.capacity - sum(map(channel.weigh, members[:3]))
    short = record(dedup_key="3", body="x")
    members[3] = record(dedup_key="3", body="x" * (room - channel.weigh(short) + 1))
    assert sum(map(channel.weigh, members)) == channel.capacity
    channel_of({"type": "sns", "topic_arn": TOPIC}, Transport(), budget=10.0).deliver(Dispatch(tuple(members), True))
    (request,) = endpoint.requests()
    assert fits(request)
    message = form(request)["Message"]
    assert "…" not in message
    assert len(message.encode()) > 253 * 1024


def test_a_text_message_takes_its_share_of_a_topics_digest() -> None:
    short, long = record(recipient=NUMBER), record(recipient=NUMBER, body="x" * 1600)
    channel = sns(topic_arn=TOPIC)
    assert channel.capacity == LARGEST_MESSAGE
    assert channel.weigh(long) == LARGEST_MESSAGE
    weight = sns(phone_number=NUMBER).weigh(short)
    assert 0 <= channel.weigh(short) - weight * LARGEST_MESSAGE / LONGEST_SMS < 1  # never too many of them
    assert channel.weigh(record()) < channel.weigh(short)


@pytest.mark.parametrize(
    ("own", "complaint"),
    [
        ({}, "one of topic_arn and phone_number"),
        ({"topic_arn": TOPIC, "phone_number": NUMBER}, "one of topic_arn and phone_number"),
        ({"topic_arn": TOPIC, "region": "us-east-1"}, "region must be that of topic_arn"),
        ({"topic_arn": "arn:aws:sns:eu-central-1:123456789012:endpoint/GCM/x/1"}, "topic_arn must be the ARN"),
        ({"topic_arn": "arn:aws:sqs:eu-central-1:123456789012:ops"}, "topic_arn must be the ARN"),
        ({"topic_arn": f"{TOPIC}.fifo.fifo"}, "topic_arn must be the ARN"),
        ({"phone_number": "0049 151"}, "phone_number must be an E.164"),
        ({"phone_number": NUMBER, "region": "evil.example/"}, "region must be a region"),
    ],
)
def test_fields_that_are_wrong_are_named(own: dict[str, str], complaint: str) -> None:
    with pytest.raises(InvalidDocument, match=complaint):
        sns(**own)


@mock_aws
@pytest.mark.parametrize("fifo", [False, True])
def test_it_arrives_at_a_topic(fifo: bool) -> None:
    client, queue = boto3.client("sns", region_name="us-west-2"), boto3.client("sqs", region_name="us-west-2")
    if fifo:
        arn = client.create_topic(Name="ops.fifo", Attributes={"FifoTopic": "true"})["TopicArn"]
        url = queue.create_queue(QueueName="ops.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    else:
        arn = client.create_topic(Name="ops")["TopicArn"]
        url = queue.create_queue(QueueName="ops")["QueueUrl"]
    queue_arn = queue.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    client.subscribe(TopicArn=arn, Protocol="sqs", Endpoint=queue_arn)
    # The region of a topic is that of its ARN, not that of the function.
    channel = channel_of({"type": "sns", "topic_arn": arn}, Transport(), budget=10.0)
    assert channel.deliver(single(body="Now €")) == Delivered()
    (received,) = queue.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    told = json.loads(received["Body"])
    assert (told["Subject"], told["Message"]) == ("log4j", "log4j\n\nNow €")
    assert told["MessageAttributes"]["kind"] == {"Type": "String", "Value": "cve"}


@mock_aws
def test_it_arrives_at_a_number() -> None:
    channel = channel_of({"type": "sns", "phone_number": NUMBER, "region": "eu-west-1"}, Transport(), budget=10.0)
    assert channel.deliver(single(body="Now €")) == Delivered()
    backend = sns_backends[DEFAULT_ACCOUNT_ID]["eu-west-1"]
    assert list(backend.sms_messages.values()) == [(NUMBER, "log4j\n\nNow €")]


@mock_aws
def test_a_topic_that_was_deleted_is_gone() -> None:
    client = boto3.client("sns", region_name="eu-central-1")
    arn = client.create_topic(Name="ops")["TopicArn"]
    client.delete_topic(TopicArn=arn)
    outcome = channel_of({"type": "sns", "topic_arn": arn}, Transport(), budget=10.0).deliver(single())
    assert isinstance(outcome, Gone)
    assert outcome.reason == "topic_not_found"
