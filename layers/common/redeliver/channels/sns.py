"""Amazon SNS: `Publish` to a topic or a phone number, https://docs.aws.amazon.com/sns/latest/api/API_Publish.html."""

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from redeliver.channels.answers import SUCCESS, UNREADABLE, Answers, Means, Row
from redeliver.channels.attempt import Attempt
from redeliver.channels.aws import COMMON_ROWS, REGION, Client, success_or_code
from redeliver.channels.document import Document, Field, InvalidDocument
from redeliver.channels.headline import headline
from redeliver.channels.rules import Text
from redeliver.channels.text import Layout, cut, utf8, utf16
from redeliver.core.notification import Dispatch, Notification, message_id
from redeliver.core.outcome import Gone, Outcome

# 256 KiB for the message and its attributes, in bytes; these are a kind and a dedup key, less than 2 KiB.
LARGEST_MESSAGE = 254 * 1024
LONGEST_SMS = 1600  # "characters", of whatever encoding: UTF-16 units are never fewer
LONGEST_SUBJECT = 99  # "less than 100 characters"

_PHONE = r"\+[1-9]\d{6,14}"  # E.164

ANSWERS = Answers(
    source="https://docs.aws.amazon.com/sns/latest/api/API_Publish.html",
    code=success_or_code,
    rows=(
        Row(SUCCESS, "MessageId", Means.DELIVERED),
        Row(SUCCESS, None, Means.UNKNOWN, UNREADABLE, "no `MessageId`"),
        Row(400, "InvalidParameter", Means.REJECT, "invalid_parameter", "too large for the topic's own limit, say"),
        Row(400, "ParameterValueInvalid", Means.REJECT, "invalid_parameter"),
        Row(400, "ValidationException", Means.REJECT, "invalid_parameter"),
        Row(404, "NotFound", Means.GONE, "topic_not_found"),
        Row(400, "EndpointDisabled", Means.GONE, "endpoint_disabled"),
        Row(400, "PlatformApplicationDisabled", Means.RETRY, "platform_disabled", "until somebody enables it"),
        Row(400, "OptedOut", Means.GONE, "opted_out", "`OptedOutException` of the API's model; see above"),
        Row(403, "AuthorizationError", Means.CREDENTIALS),
        Row(403, "InvalidSecurity", Means.CREDENTIALS),
        Row(400, "KMSAccessDenied", Means.CREDENTIALS, note="the key of an encrypted topic"),
        Row(403, "KMSOptInRequired", Means.CREDENTIALS),
        Row(400, "KMSDisabled", Means.RETRY, "kms_disabled"),
        Row(400, "KMSInvalidState", Means.RETRY, "kms_invalid_state"),
        Row(400, "KMSNotFound", Means.RETRY, "kms_not_found"),
        Row(400, "KMSThrottling", Means.BUSY, "throttled"),
        Row(429, "Throttled", Means.BUSY, "throttled", "`ThrottledException` of the API's model"),
        *COMMON_ROWS,
    ),
)

# Publish is a form whose answers and deliveries are XML: what XML cannot hold (section 2.2) is not risked.
_UNFIT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def _fit(text: str) -> str:
    return _UNFIT.sub("\ufffd", text)


_TOPIC = Layout(longest=LARGEST_MESSAGE, unit=utf8, escape=_fit)
_SMS = Layout(longest=LONGEST_SMS, unit=utf16, escape=_fit)


class Sns:
    """A topic or a phone number, or as many numbers as there are recipients."""

    fields: ClassVar[Mapping[str, Field]] = {
        "topic_arn": Field(
            Text(
                rf"arn:aws[a-z-]{{0,20}}:sns:{REGION.pattern}:\d{{12}}:[A-Za-z0-9_-]{{1,251}}(?:\.fifo)?",
                "the ARN of a topic such as arn:aws:sns:eu-central-1:123456789012:ops",
            ),
            None,
        ),
        "phone_number": Field(Text(_PHONE, "an E.164 phone number such as +4915112345678"), None),
        "region": Field(REGION, None),
    }
    answers = (ANSWERS,)

    def __init__(self, document: Document) -> None:
        """Take what is needed from a valid document."""
        self._topic: str | None = document.own["topic_arn"]
        self._phone: str | None = document.own["phone_number"]
        region: str | None = document.own["region"]
        if (self._topic is None) == (self._phone is None):
            raise InvalidDocument("there must be one of topic_arn and phone_number")
        if self._topic is not None:
            topic_region = self._topic.split(":")[3]
            if region not in (None, topic_region):
                raise InvalidDocument("region must be that of topic_arn, or left out")
            region = topic_region
        self._client = Client("sns", region)

    @property
    def capacity(self) -> int:
        """Return the limit of the channel's own target."""
        return (_SMS if self._topic is None else _TOPIC).longest

    def weigh(self, record: Notification) -> int:
        """Return what a digest's entry takes of where it goes, in parts of the channel's own target."""
        layout = _SMS if self._phone or record.recipient is not None else _TOPIC
        return -(-layout.weigh(record) * self.capacity // layout.longest)

    def send(self, dispatch: Dispatch, attempt: Attempt) -> Outcome:
        """Publish to the topic, or send one text message to a number."""
        number = self._phone if dispatch.recipient is None else dispatch.recipient.strip()
        if number is None:
            return self._publish({"TopicArn": self._topic, **self._to_topic(dispatch)}, attempt)
        if not re.fullmatch(_PHONE, number, re.ASCII):
            return Gone("invalid_recipient", "the recipient is no E.164 phone number")
        return self._publish({"PhoneNumber": number, "Message": _SMS.write(dispatch)}, attempt)

    def _publish(self, arguments: Mapping[str, Any], attempt: Attempt) -> Outcome:
        return ANSWERS.outcome(self._client.call(attempt, "publish", arguments), attempt.now())

    def _to_topic(self, dispatch: Dispatch) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            "Message": _TOPIC.write(dispatch),
            "MessageAttributes": _attributes(dispatch),
        }
        if subject := cut(headline(dispatch), LONGEST_SUBJECT, utf16, _fit):
            arguments["Subject"] = subject
        if self._topic and self._topic.endswith(".fifo"):
            id_ = dispatch.batch_id if dispatch.digest else message_id(dispatch.members[0])
            arguments |= {"MessageGroupId": dispatch.channel, "MessageDeduplicationId": id_}
        return arguments


def _attributes(dispatch: Dispatch) -> dict[str, dict[str, str]]:
    """Return what subscriptions may filter by: a digest of one kind has that, one of several has none."""
    kinds = {record.kind for record in dispatch.members}
    values = {"kind": kinds.pop() if len(kinds) == 1 else "digest"}
    if not dispatch.digest:
        values["dedup_key"] = _fit(dispatch.members[0].dedup_key)
    return {name: {"DataType": "String", "StringValue": value} for name, value in values.items()}
