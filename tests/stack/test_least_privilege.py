"""Each function's role is tried out: with every call that any function may make, and with many that none may."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from infra.local.processes import REGION
from infra.local.stack import STACK, STAGE, LocalStack
from tests.test_template_permissions import CHANNEL_DOCUMENTS, MAY

REFUSED = {"AccessDenied", "AccessDeniedException", "AuthorizationError"}
# What a call comes to that was let through and changes nothing: its condition is not met, its receipt is made up.
HARMLESS = {"ConditionalCheckFailedException", "TransactionCanceledException", "ReceiptHandleIsInvalid"}
TABLES = {
    "NotificationsTable": {"channel": {"S": "least-privilege"}, "dedup_key": {"S": "k"}},
    "FindingsTable": {"finding_id": {"S": "least-privilege"}},
    "ChannelsTable": {"channel": {"S": "least-privilege"}},
}
INDEXES = {"due": "lane", "dead_letters": "channel", "by_finding": "finding_id"}
PARAMETERS = {
    CHANNEL_DOCUMENTS: f"/redeliver/{STAGE}/channels/least-privilege",
    "of another stage": "/redeliver/other/channels/least-privilege",
    "of no channel": f"/redeliver/{STAGE}/least-privilege",
}


class Call(NamedTuple):
    """A call of an AWS service, for which a permission is asked."""

    permission: str
    service: str
    operation: str
    parameters: dict[str, Any]


Names = Mapping[str, str]  # physical names, addresses and ARNs by logical id


def on_tables(names: Names) -> Iterator[Call]:
    """What can be done to the tables, and changes nothing even if it is let through."""
    for table, key in TABLES.items():
        of: dict[str, Any] = {"TableName": names[table]}
        never = {"ConditionExpression": f"attribute_exists({next(iter(key))})"}
        check = {"ConditionCheck": {**of, "Key": key, **never}}
        tried: list[tuple[str, str, dict[str, Any]]] = [
            ("GetItem", "get_item", {**of, "Key": key}),
            ("BatchGetItem", "batch_get_item", {"RequestItems": {names[table]: {"Keys": [key]}}}),
            ("PutItem", "put_item", {**of, "Item": key, **never}),
            ("UpdateItem", "update_item", {**of, "Key": key, **never}),
            ("DeleteItem", "delete_item", {**of, "Key": key, **never}),
            ("BatchWriteItem", "batch_write_item", {"RequestItems": {names[table]: [{"DeleteRequest": {"Key": key}}]}}),
            ("Query", "query", {**of, **_by(next(iter(key)))}),
            ("Scan", "scan", of),
            ("ConditionCheckItem", "transact_write_items", {"TransactItems": [check]}),
        ]
        for action, operation, parameters in tried:
            yield Call(f"dynamodb:{action} {table}", "dynamodb", operation, parameters)
    for index, attribute in INDEXES.items():
        of = {"TableName": names["NotificationsTable"], "IndexName": index}
        resource = f"NotificationsTable/index/{index}"
        yield Call(f"dynamodb:Query {resource}", "dynamodb", "query", {**of, **_by(attribute)})
        yield Call(f"dynamodb:Scan {resource}", "dynamodb", "scan", of)


def _by(attribute: str) -> dict[str, Any]:
    return {
        "KeyConditionExpression": "#name = :value",
        "ExpressionAttributeNames": {"#name": attribute},
        "ExpressionAttributeValues": {":value": {"S": "least-privilege"}},
    }


def on_queues(names: Names) -> Iterator[Call]:
    """What can be done to the queues."""
    for queue in ("SendQueue", "SendDeadLetterQueue", "EventDeadLetterQueue"):
        of = {"QueueUrl": names[queue]}
        tried: list[tuple[str, str, dict[str, Any]]] = [
            ("SendMessage", "send_message", {"MessageBody": "{}"}),
            ("ReceiveMessage", "receive_message", {"VisibilityTimeout": 0}),
            ("DeleteMessage", "delete_message", {"ReceiptHandle": "made-up"}),
            ("GetQueueAttributes", "get_queue_attributes", {"AttributeNames": ["QueueArn"]}),
            ("PurgeQueue", "purge_queue", {}),
        ]
        for action, operation, parameters in tried:
            yield Call(f"sqs:{action} {queue}", "sqs", operation, {**of, **parameters})


def on_parameters() -> Iterator[Call]:
    """What can be done to channel documents, those of another stage, and whatever else is of this stage."""
    value = {"Value": "{}", "Type": "SecureString", "Overwrite": True}
    for resource, name in PARAMETERS.items():
        yield Call(f"ssm:GetParameter {resource}", "ssm", "get_parameter", {"Name": name, "WithDecryption": True})
        yield Call(f"ssm:PutParameter {resource}", "ssm", "put_parameter", {"Name": name, **value})
        yield Call(f"ssm:DeleteParameter {resource}", "ssm", "delete_parameter", {"Name": name})
    yield Call("ssm:GetParametersByPath", "ssm", "get_parameters_by_path", {"Path": "/redeliver", "Recursive": True})
    yield Call("ssm:DescribeParameters", "ssm", "describe_parameters", {})


def on_the_rest(names: Names) -> Iterator[Call]:
    """What no function does: call the others, take their roles, ask for notifications, send unless it was allowed."""
    for function in ("SendFunction", "RetrySweeperFunction", "RetentionFunction", "HistoryFunction"):
        called = {"FunctionName": names[function], "Payload": b'{"command": "counts"}'}
        yield Call(f"lambda:InvokeFunction {function}", "lambda", "invoke", called)
    for role in MAY:
        taken = {"RoleArn": names[f"{role}.Arn"], "RoleSessionName": "least-privilege"}
        yield Call(f"sts:AssumeRole {role}", "sts", "assume_role", taken)
    event = {"EventBusName": names["NotificationBus"], "Source": "x", "DetailType": "x", "Detail": "{}"}
    yield Call("events:PutEvents NotificationBus", "events", "put_events", {"Entries": [event]})
    yield Call("sns:Publish", "sns", "publish", {"PhoneNumber": "+4915112345678", "Message": "x"})
    content = {"Simple": {"Subject": {"Data": "x"}, "Body": {"Text": {"Data": "x"}}}}
    mail = {"FromEmailAddress": "a@example.com", "Destination": {"ToAddresses": ["b@example.com"]}, "Content": content}
    yield Call("ses:SendEmail", "sesv2", "send_email", mail)
    yield Call("iam:ListRoles", "iam", "list_roles", {})


@pytest.fixture(scope="module")
def names(stack: LocalStack) -> Iterator[dict[str, str]]:
    """The stack's resources, and parameters to read; what the calls leave behind goes with them."""
    described = stack.client("cloudformation").describe_stack_resources(StackName=STACK)["StackResources"]
    found = {each["LogicalResourceId"]: each["PhysicalResourceId"] for each in described}
    found |= {f"{r}.Arn": stack.client("iam").get_role(RoleName=found[r])["Role"]["Arn"] for r in MAY}
    for name in PARAMETERS.values():
        stack.client("ssm").put_parameter(Name=name, Type="SecureString", Value="{}", Overwrite=True)
    yield found
    for name in PARAMETERS.values():
        stack.client("ssm").delete_parameter(Name=name)
    for queue in ("SendDeadLetterQueue", "EventDeadLetterQueue"):
        stack.client("sqs").purge_queue(QueueUrl=found[queue])


@pytest.fixture(scope="module")
def calls(names: dict[str, str]) -> list[Call]:
    """Everything that is tried."""
    return [*on_tables(names), *on_queues(names), *on_parameters(), *on_the_rest(names)]


def _can_be_tried(permission: str) -> bool:
    """Tell whether the local stack asks for a permission on the resource that AWS asks for it on."""
    return not permission.startswith("logs:") and "stream" not in permission.lower()


def _session(stack: LocalStack, arn: str) -> boto3.Session:
    """Return a session with a role's own credentials; the stack's root may do what Lambda does when it takes one."""
    taken = stack.client("sts").assume_role(RoleArn=arn, RoleSessionName="least-privilege")["Credentials"]
    return boto3.Session(taken["AccessKeyId"], taken["SecretAccessKey"], taken["SessionToken"], REGION)


def _let_through(stack: LocalStack, session: boto3.Session, call: Call) -> bool:
    """Tell whether a call was let through; raises what comes of one that is none."""
    config = Config(retries={"total_max_attempts": 1}, proxies={})
    client: Any = session.client(call.service, endpoint_url=stack.endpoint_url, config=config)  # type: ignore[call-overload]
    try:
        getattr(client, call.operation)(**call.parameters)
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if code in REFUSED:
            return False
        if code not in HARMLESS:
            raise
    return True


def test_everything_that_a_function_may_do_is_tried(calls: list[Call]) -> None:
    tried = [call.permission for call in calls]
    assert len(tried) == len(set(tried))
    assert set(filter(_can_be_tried, set().union(*MAY.values()))) <= set(tried)


@pytest.mark.parametrize("role", MAY)
def test_a_function_can_do_what_it_may_and_is_refused_everything_else(
    stack: LocalStack, names: dict[str, str], calls: list[Call], role: str
) -> None:
    session = _session(stack, names[f"{role}.Arn"])
    assert {call.permission for call in calls if _let_through(stack, session, call)} == set(
        filter(_can_be_tried, MAY[role])
    )
