"""What the template allows channels of AWS's own services: nothing that nobody has asked for."""

import json
from typing import Any

import pytest

from tests.test_template import RESOURCES, TEMPLATE

POLICIES = {
    "EmailPolicy": ("HasEmailIdentities", "ses:SendEmail", {"Ref": "EmailIdentityArns"}),
    "SnsPolicy": ("HasSnsTopics", "sns:Publish", {"Ref": "SnsTopicArns"}),
}


def _statement(policy: str) -> dict[str, Any]:
    (statement,) = RESOURCES[policy]["Properties"]["PolicyDocument"]["Statement"]
    assert statement["Effect"] == "Allow"
    found: dict[str, Any] = statement
    return found


@pytest.mark.parametrize("policy", POLICIES)
def test_what_is_allowed_is_one_action_on_what_a_parameter_names(policy: str) -> None:
    condition, action, resource = POLICIES[policy]
    assert RESOURCES[policy]["Condition"] == condition
    assert _statement(policy) == {"Effect": "Allow", "Action": action, "Resource": resource}
    assert resource["Ref"] in json.dumps(TEMPLATE["Conditions"][condition])
    assert TEMPLATE["Parameters"][resource["Ref"]]["Default"] == ""


def test_text_messages_are_allowed_apart_and_reach_no_topic() -> None:
    assert RESOURCES["SmsPolicy"]["Condition"] == "IsSmsAllowed"
    assert TEMPLATE["Conditions"]["IsSmsAllowed"] == {"Equals": [{"Ref": "SmsAllowed"}, "true"]}
    assert TEMPLATE["Parameters"]["SmsAllowed"]["Default"] == "false"
    statement = _statement("SmsPolicy")
    assert statement["Action"] == "sns:Publish"
    assert statement["NotResource"] == {"Sub": "arn:${AWS::Partition}:sns:*:*:*"}
    assert "Resource" not in statement


def test_only_the_functions_that_send_are_allowed_to() -> None:
    policies = [each["Properties"] for each in RESOURCES.values() if each["Type"] == "AWS::IAM::Policy"]
    assert len(policies) == len(POLICIES) + 1
    for properties in policies:
        assert properties["Roles"] == [{"Ref": "SendRole"}, {"Ref": "RetrySweeperRole"}]
