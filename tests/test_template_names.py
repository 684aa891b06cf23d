"""Names that the templates give: none is in the way of another stage, or of the same stage in another region."""

from collections.abc import Iterator
from typing import Any

from tests.test_template import OBSERVABILITY, TEMPLATE, _load

TEMPLATES = (TEMPLATE, OBSERVABILITY, _load("infra/apprise_layer.yaml"))
# What names a resource; where there is none, CloudFormation or SAM makes one up.
NAMES = {
    "AWS::DynamoDB::Table": "TableName", "AWS::SQS::Queue": "QueueName", "AWS::Events::EventBus": "Name",
    "AWS::Events::Rule": "Name", "AWS::Logs::LogGroup": "LogGroupName", "AWS::IAM::Role": "RoleName",
    "AWS::CloudWatch::Alarm": "AlarmName", "AWS::CloudWatch::Dashboard": "DashboardName",
    "AWS::Serverless::Function": "FunctionName", "AWS::Serverless::LayerVersion": "LayerName",
}  # fmt: skip
NAMELESS = {"AWS::SQS::QueuePolicy", "AWS::IAM::Policy", "AWS::Serverless::Application"}
# "All dashboards in your account are global, not region-specific" (AWS::CloudWatch::Dashboard); so is IAM.
ONCE_IN_AN_ACCOUNT = {"AWS::CloudWatch::Dashboard", "AWS::IAM::Role"}


def named() -> Iterator[tuple[str, Any]]:
    """Return the names that are given, each with its resource's type."""
    for template in TEMPLATES:
        for each in template["Resources"].values():
            if each["Type"] not in NAMELESS and NAMES[each["Type"]] in each["Properties"]:
                yield each["Type"], each["Properties"][NAMES[each["Type"]]]


def test_every_name_carries_the_stage_and_where_there_is_one_for_all_regions_the_region() -> None:
    found = list(named())
    assert {kind for kind, _ in found} == {
        "AWS::Events::EventBus", "AWS::Logs::LogGroup", "AWS::CloudWatch::Dashboard",
    }  # fmt: skip
    for kind, name in found:
        assert "${Stage}" in name["Sub"]
        assert kind not in ONCE_IN_AN_ACCOUNT or "${AWS::Region}" in name["Sub"]


def test_schedules_and_exports_are_given_no_name() -> None:
    schedules = [
        event["Properties"]
        for each in TEMPLATE["Resources"].values()
        for event in each["Properties"].get("Events", {}).values()
        if event["Type"] == "ScheduleV2"
    ]
    assert [schedule["OmitName"] for schedule in schedules] == [True, True]
    assert not [
        output for template in TEMPLATES for output in template.get("Outputs", {}).values() if "Export" in output
    ]
