"""What can be said of the templates and the example events without deploying anything."""

import hashlib
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from redeliver import settings
from redeliver.core import request
from redeliver.queue import MOST_BYTES

ROOT = Path(__file__).resolve().parents[1]
FUNCTIONS = ("SendFunction", "RetrySweeperFunction", "RetentionFunction", "HistoryFunction")
TABLES = ("NotificationsTable", "FindingsTable", "ChannelsTable")
NAMED_OUTPUTS = {*FUNCTIONS, *TABLES, "SendQueue", "SendDeadLetterQueue", "EventDeadLetterQueue", "NotificationBus"}
DEFAULTS = {
    "Stage": "dev", "PythonRuntime": "python3.13", "EndpointUrl": "", "RetryBaseDelaySeconds": 300,
    "RetryMaxDelaySeconds": 86400, "RetryJitter": 0, "MaxDeliveryAttempts": 5, "SweepMaxRecords": 500,
    "SweepConcurrency": 32, "RetentionDays": 90, "NotConfiguredRecheckSeconds": 900, "AlarmTopicArn": "",
    "SweepSchedule": "rate(1 minute)",
}  # fmt: skip
METRICS = {
    "sent", "failed", "pending", "dead_letters", "oldest_due_seconds", "suppressed", "duplicate", "not_configured",
    "conflicts", "expired", "forgotten", "invalid", "unreadable", "maybe_delivered",
}  # fmt: skip
EVENTS = sorted((ROOT / "tests" / "events").glob("*.json"))


class _CloudFormationLoader(yaml.SafeLoader):
    """YAML with CloudFormation's short forms, each read as {its name: its value}."""


def _intrinsic(loader: yaml.SafeLoader, name: str, node: yaml.Node) -> Any:
    match node:
        case yaml.ScalarNode():
            return {name: loader.construct_scalar(node)}
        case yaml.SequenceNode():
            return {name: loader.construct_sequence(node, deep=True)}
        case yaml.MappingNode():
            return {name: loader.construct_mapping(node, deep=True)}


_CloudFormationLoader.add_multi_constructor("!", _intrinsic)


def _load(path: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.load((ROOT / path).read_text(), _CloudFormationLoader)
    return loaded


TEMPLATE = _load("template.yaml")
OBSERVABILITY = _load("infra/observability.yaml")
RESOURCES: dict[str, Any] = TEMPLATE["Resources"]


def _of_type(kind: str) -> dict[str, Any]:
    return {name: each["Properties"] for name, each in RESOURCES.items() if each["Type"] == kind}


def _variables(function: str) -> dict[str, Any]:
    general: dict[str, Any] = TEMPLATE["Globals"]["Function"]["Environment"]["Variables"]
    own: dict[str, Any] = RESOURCES[function]["Properties"]["Environment"]["Variables"]
    return general | own


def test_parameters_have_the_names_and_defaults_others_build_on() -> None:
    found = {name: each.get("Default") for name, each in TEMPLATE["Parameters"].items()}
    assert found | DEFAULTS == found
    assert found["Architecture"] in {"arm64", "x86_64"}


def test_outputs_name_the_resources_others_build_on() -> None:
    assert TEMPLATE["Outputs"] == {name: {"Value": {"Ref": name}} for name in NAMED_OUTPUTS}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_variables_are_the_parameters_of_the_same_words_and_pass_the_settings(function: str) -> None:
    variables = _variables(function)
    environment = {"NOTIFICATIONS_TABLE": "a-table"}
    for parameter, default in DEFAULTS.items():
        variable = re.sub(r"(?<!^)(?=[A-Z])", "_", parameter).upper()
        if variable in variables:
            assert variables[variable] == {"Ref": parameter}
            environment[variable] = str(default)
    assert settings.read(environment) == settings.read({"NOTIFICATIONS_TABLE": "a-table"})


@pytest.mark.parametrize(
    ("parameter", "bound", "variable"),
    [
        (parameter, bound, re.sub(r"(?<!^)(?=[A-Z])", "_", parameter).upper())
        for parameter, each in TEMPLATE["Parameters"].items()
        for bound in ("MinValue", "MaxValue")
        if each["Type"] == "Number"
        and "Alarm" not in parameter
        and parameter != "SendQueueConcurrency"  # for AWS alone
    ],
)
def test_numbers_have_the_bounds_of_the_settings(parameter: str, bound: str, variable: str) -> None:
    value = TEMPLATE["Parameters"][parameter][bound]
    # A base must not exceed the cap, whatever the bounds of each.
    others = {"NOTIFICATIONS_TABLE": "a-table", "RETRY_BASE_DELAY_SECONDS": "1"}
    settings.read(others | {variable: str(value)})
    beyond = value - 1 if bound == "MinValue" else value + 1
    with pytest.raises(settings.InvalidSetting, match=variable):
        settings.read(others | {variable: str(beyond)})


def test_functions_are_given_what_they_read_and_nothing_else() -> None:
    common = set(TEMPLATE["Globals"]["Function"]["Environment"]["Variables"])
    retry = {
        "CHANNELS_TABLE", "CHANNELS_FILE", "RETRY_BASE_DELAY_SECONDS", "RETRY_MAX_DELAY_SECONDS", "RETRY_JITTER",
        "MAX_DELIVERY_ATTEMPTS", "NOT_CONFIGURED_RECHECK_SECONDS",
    }  # fmt: skip
    assert set(_variables("SendFunction")) == common | retry | {"SEND_DEAD_LETTER_QUEUE_URL"}
    assert set(_variables("RetrySweeperFunction")) == common | retry | {"SWEEP_MAX_RECORDS", "SWEEP_CONCURRENCY"}
    assert set(_variables("RetentionFunction")) == common | {"FINDINGS_TABLE", "SEND_QUEUE_URL"}
    history = {"CHANNELS_TABLE", "FINDINGS_TABLE", "MAX_DELIVERY_ATTEMPTS"}
    assert set(_variables("HistoryFunction")) == common | history


def test_the_queue_hides_a_message_longer_than_any_run_takes() -> None:
    assert TEMPLATE["Globals"]["Function"]["Timeout"] == 60
    assert RESOURCES["SendQueue"]["Properties"]["VisibilityTimeout"] == 360


def test_the_queue_hands_out_no_more_than_lambda_has_room_for() -> None:
    """Lambda's guide, "Configuring scaling behavior for SQS event source mappings": 2 to 1,000, none by default.

    A new account has ten concurrent executions for everything.
    """
    source = RESOURCES["SendFunction"]["Properties"]["Events"]["Queue"]["Properties"]
    assert source["ScalingConfig"] == {"MaximumConcurrency": {"Ref": "SendQueueConcurrency"}}
    parameter = TEMPLATE["Parameters"]["SendQueueConcurrency"]
    assert (parameter["MinValue"], parameter["MaxValue"]) == (2, 1000)
    assert parameter["Default"] < 10
    assert not [name for name in FUNCTIONS if "ReservedConcurrentExecutions" in RESOURCES[name]["Properties"]]


@pytest.mark.parametrize("table", TABLES)
def test_tables_are_on_demand_encrypted_recoverable_and_protected_in_production(table: str) -> None:
    properties = RESOURCES[table]["Properties"]
    assert properties["BillingMode"] == "PAY_PER_REQUEST"
    assert properties["SSESpecification"]["SSEEnabled"] is True
    assert properties["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] is True
    assert properties["DeletionProtectionEnabled"] == {"If": ["IsProd", True, False]}


def test_indexes_hold_keys_only() -> None:
    indexes = RESOURCES["NotificationsTable"]["Properties"]["GlobalSecondaryIndexes"]
    found = {each["IndexName"]: [key["AttributeName"] for key in each["KeySchema"]] for each in indexes}
    assert found == {
        "due": ["lane", "next_attempt_at"],
        "dead_letters": ["channel", "dead_lettered_at"],
        "by_finding": ["finding_id", "dedup_key"],
    }
    assert {each["Projection"]["ProjectionType"] for each in indexes} == {"KEYS_ONLY"}


def test_every_queue_is_encrypted() -> None:
    assert all(queue["SqsManagedSseEnabled"] is True for queue in _of_type("AWS::SQS::Queue").values())


def test_a_refused_request_has_room_in_its_queue() -> None:
    assert RESOURCES["SendDeadLetterQueue"]["Properties"]["MaximumMessageSize"] == MOST_BYTES


def test_what_a_function_fails_at_goes_to_a_queue_with_its_error() -> None:
    for name in set(FUNCTIONS) - {"HistoryFunction"}:  # which is called by a person's browser, who sees the error
        failed = RESOURCES[name]["Properties"]["EventInvokeConfig"]["DestinationConfig"]["OnFailure"]
        assert failed == {"Type": "SQS", "Destination": {"GetAtt": "EventDeadLetterQueue.Arn"}}


def dashboard() -> dict[str, Any]:
    """Return the dashboard's body."""
    body: str = OBSERVABILITY["Resources"]["Dashboard"]["Properties"]["DashboardBody"]["Sub"]
    loaded: dict[str, Any] = json.loads(re.sub(r"\$\{[\w:]+\}", "x", body))
    return loaded


def test_dashboard_is_valid_and_its_widgets_do_not_overlap() -> None:
    cells = [
        (x, y)
        for widget in dashboard()["widgets"]
        for x in range(widget["x"], widget["x"] + widget["width"])
        for y in range(widget["y"], widget["y"] + widget["height"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24


def test_dashboard_and_alarms_show_metrics_that_exist() -> None:
    shown = set(re.findall(r"\b(?:notifications|channels)\.(\w+)", json.dumps(OBSERVABILITY)))
    assert shown == METRICS | {"held"}


def test_alarms_reach_their_topic() -> None:
    alarms = [each for each in OBSERVABILITY["Resources"].values() if each["Type"] == "AWS::CloudWatch::Alarm"]
    assert len(alarms) == 7
    for alarm in alarms:
        topic = {"If": ["HasAlarmTopic", [{"Ref": "AlarmTopicArn"}], {"Ref": "AWS::NoValue"}]}
        assert alarm["Properties"]["AlarmActions"] == alarm["Properties"]["OKActions"] == topic


def test_there_is_an_event_for_each_trigger() -> None:
    assert {path.stem for path in EVENTS} == {
        "send_one", "send_many", "send_queue", "send_queue_invalid", "retry_sweeper_schedule", "retry_sweeper_counts",
        "retry_sweeper_redrive", "retention_finding_active", "retention_finding_resolved",
        "retention_finding_deleted", "retention_schedule", "retention_forgotten", "history_describe", "history_page",
        "history_story", "history_redrive",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["send_one", "send_many", "send_queue"])
def test_events_for_send_hold_valid_notifications(name: str) -> None:
    event = json.loads((ROOT / "tests" / "events" / f"{name}.json").read_text())
    bodies = [json.loads(record["body"]) for record in event.get("Records", [])]
    for raw in bodies or event.get("notifications") or [event]:
        parsed = request.parse(raw)
        assert parsed.deliver_by is None or parsed.deliver_by > datetime.now(UTC)


@pytest.mark.parametrize("name", ["send_queue", "send_queue_invalid"])
def test_queue_messages_carry_the_digest_of_their_body(name: str) -> None:
    event = json.loads((ROOT / "tests" / "events" / f"{name}.json").read_text())
    for record in event["Records"]:
        assert record["md5OfBody"] == hashlib.md5(record["body"].encode(), usedforsecurity=False).hexdigest()


def test_where_an_alarm_rings_is_a_parameter_and_reaches_it() -> None:
    handed_on = RESOURCES["Observability"]["Properties"]["Parameters"]
    alarms = {n: e["Properties"] for n, e in OBSERVABILITY["Resources"].items() if n.endswith("Alarm")}
    assert len(alarms) == 7
    for name, alarm in alarms.items():
        limit = alarm["Period"] if name == "SweeperSilenceAlarm" else alarm["Threshold"]
        assert handed_on[limit["Ref"]] == limit, name
        assert limit["Ref"] in TEMPLATE["Parameters"], name
