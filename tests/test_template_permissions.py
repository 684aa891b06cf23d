"""What each function may do, written down once: the template grants exactly this, and the local stack refuses the rest.

A permission is an action and what it is allowed on, in the template's words.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.test_template import RESOURCES

CHANNEL_DOCUMENTS = "parameter/redeliver/${Stage}/channels/*"
STREAM = "NotificationsTable.StreamArn"

MAY = {
    "SendRole": {
        "logs:CreateLogStream SendLogGroup",
        "events:PutEvents NotificationBus",
        "logs:PutLogEvents SendLogGroup",
        "dynamodb:GetItem NotificationsTable",
        "dynamodb:PutItem NotificationsTable",
        "dynamodb:UpdateItem NotificationsTable",
        "dynamodb:GetItem ChannelsTable",
        "dynamodb:PutItem ChannelsTable",
        "dynamodb:UpdateItem ChannelsTable",
        f"ssm:GetParameter {CHANNEL_DOCUMENTS}",
        "sqs:ReceiveMessage SendQueue",
        "sqs:DeleteMessage SendQueue",
        "sqs:GetQueueAttributes SendQueue",
        "sqs:SendMessage SendDeadLetterQueue",
        "sqs:SendMessage EventDeadLetterQueue",
    },
    "RetrySweeperRole": {
        "logs:CreateLogStream RetrySweeperLogGroup",
        "events:PutEvents NotificationBus",
        "logs:PutLogEvents RetrySweeperLogGroup",
        "dynamodb:Query NotificationsTable/index/due",
        "dynamodb:Query NotificationsTable/index/dead_letters",
        "dynamodb:GetItem NotificationsTable",
        "dynamodb:BatchGetItem NotificationsTable",
        "dynamodb:UpdateItem NotificationsTable",
        "dynamodb:Scan ChannelsTable",
        "dynamodb:GetItem ChannelsTable",
        "dynamodb:UpdateItem ChannelsTable",
        f"ssm:GetParameter {CHANNEL_DOCUMENTS}",
        "sqs:SendMessage EventDeadLetterQueue",
    },
    "RetentionRole": {
        "logs:CreateLogStream RetentionLogGroup",
        "events:PutEvents NotificationBus",
        "logs:PutLogEvents RetentionLogGroup",
        "dynamodb:Query NotificationsTable/index/by_finding",
        "dynamodb:GetItem NotificationsTable",
        "dynamodb:BatchGetItem NotificationsTable",
        "dynamodb:UpdateItem NotificationsTable",
        "dynamodb:GetItem FindingsTable",
        "dynamodb:PutItem FindingsTable",
        "dynamodb:UpdateItem FindingsTable",
        "dynamodb:Scan FindingsTable",
        "dynamodb:ConditionCheckItem FindingsTable",
        f"dynamodb:DescribeStream {STREAM}",
        f"dynamodb:GetRecords {STREAM}",
        f"dynamodb:GetShardIterator {STREAM}",
        "dynamodb:ListStreams NotificationsTable/stream/*",
        "sqs:SendMessage SendQueue",
        "sqs:SendMessage EventDeadLetterQueue",
    },
    "HistoryRole": {
        "logs:CreateLogStream HistoryLogGroup",
        "logs:PutLogEvents HistoryLogGroup",
        "dynamodb:Query NotificationsTable",
        "dynamodb:Query NotificationsTable/index/due",
        "dynamodb:Query NotificationsTable/index/dead_letters",
        "dynamodb:GetItem NotificationsTable",
        "dynamodb:BatchGetItem NotificationsTable",
        "dynamodb:UpdateItem NotificationsTable",
        "dynamodb:Scan ChannelsTable",
        "dynamodb:GetItem FindingsTable",
    },
}
# What a resource may leave open, and why.
WILDCARDS = {
    CHANNEL_DOCUMENTS: "channels are made while the stack is there; the path holds nothing else",
    "NotificationsTable/stream/*": "the stream's label is not known to who lists the streams",
}


def _listed(one_or_many: Any) -> list[Any]:
    return one_or_many if isinstance(one_or_many, list) else [one_or_many]


def _named(resource: Any) -> str:
    """Return a resource as it is named in the table above."""
    match resource:
        case {"GetAtt": str(attribute)}:
            return attribute.removesuffix(".Arn")
        case {"Sub": str(text)}:
            text = text.removeprefix("arn:${AWS::Partition}:ssm:${AWS::Region}:${AWS::AccountId}:")
            return text.replace("${NotificationsTable.Arn}", "NotificationsTable")
    return json.dumps(resource)


def _statements(role: str) -> Iterator[dict[str, Any]]:
    for policy in RESOURCES[role]["Properties"]["Policies"]:
        yield from policy["PolicyDocument"]["Statement"]


def granted(role: str) -> set[str]:
    """Return what the template allows a role."""
    return {
        f"{action} {_named(resource)}"
        for statement in _statements(role)
        for action in _listed(statement["Action"])
        for resource in _listed(statement["Resource"])
    }


@pytest.mark.parametrize("role", MAY)
def test_a_function_may_do_what_it_needs_and_nothing_else(role: str) -> None:
    assert granted(role) == MAY[role]


def test_every_function_has_a_role_of_its_own_and_no_other_policy_that_nobody_asked_for() -> None:
    functions = {n: each for n, each in RESOURCES.items() if each["Type"] == "AWS::Serverless::Function"}
    roles = {name.removesuffix("Function"): each["Properties"]["Role"] for name, each in functions.items()}
    assert roles == {name.removesuffix("Role"): {"GetAtt": f"{name}.Arn"} for name in MAY}
    assert not [name for name, each in functions.items() if "Policies" in each["Properties"]]
    assert {n for n, each in RESOURCES.items() if each["Type"] == "AWS::IAM::Role"} == set(MAY)
    for role in MAY:
        assert set(RESOURCES[role]["Properties"]) == {"AssumeRolePolicyDocument", "PermissionsBoundary", "Policies"}
    for each in RESOURCES.values():
        assert each["Type"] != "AWS::IAM::ManagedPolicy"
        assert each["Type"] != "AWS::IAM::Policy" or each["Condition"]


@pytest.mark.parametrize("role", MAY)
def test_only_lambda_may_take_the_role_of_a_function(role: str) -> None:
    (statement,) = RESOURCES[role]["Properties"]["AssumeRolePolicyDocument"]["Statement"]
    assert statement == {
        "Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole",
    }  # fmt: skip


def _every_statement() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, each in RESOURCES.items():
        properties = each["Properties"]
        documents = [properties[key] for key in ("PolicyDocument", "AssumeRolePolicyDocument") if key in properties]
        documents += [policy["PolicyDocument"] for policy in properties.get("Policies", [])]
        for document in documents:
            for statement in document["Statement"]:
                yield name, statement


def test_no_statement_leaves_the_action_or_the_principal_open() -> None:
    statements = list(_every_statement())
    assert len(statements) > 20
    for _, statement in statements:
        assert statement["Effect"] == "Allow"
        assert not {"NotAction", "NotPrincipal"} & set(statement)
        assert "*" not in json.dumps([statement["Action"], statement.get("Principal")])


def test_what_a_statement_leaves_open_of_its_resource_is_known() -> None:
    found = {
        _named(resource)
        for _, statement in _every_statement()
        for resource in _listed(statement.get("Resource", []))
        if "*" in _named(resource)
    }
    assert found == set(WILDCARDS)
    # A phone number has no ARN: the one place that says what it does not reach.
    assert {name for name, statement in _every_statement() if "NotResource" in statement} == {"SmsPolicy"}


def test_a_queue_takes_messages_of_events_only_from_rules_of_this_stack() -> None:
    queues = {n: each["Properties"] for n, each in RESOURCES.items() if each["Type"] == "AWS::SQS::QueuePolicy"}
    for name, properties in queues.items():
        (queue,) = properties["Queues"]
        (statement,) = properties["PolicyDocument"]["Statement"]
        assert statement["Principal"] == {"Service": "events.amazonaws.com"}, name
        assert (statement["Action"], statement["Resource"]) == ("sqs:SendMessage", {"GetAtt": f"{queue['Ref']}.Arn"})
        assert statement["Condition"]["ArnEquals"]["aws:SourceArn"]
