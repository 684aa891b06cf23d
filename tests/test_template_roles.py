"""What SAM makes of the templates: the roles it adds, and what a function's failures lead to."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from infra.local.build import SAM
from tests.test_template_permissions import MAY

ROOT = Path(__file__).parents[1]
BOUNDARY = {"Fn::If": ["HasPermissionsBoundary", {"Ref": "PermissionsBoundaryArn"}, {"Ref": "AWS::NoValue"}]}


def transformed(path: str) -> dict[str, Any]:
    """Return the resources of a template as CloudFormation gets them."""
    python = Path(SAM).with_name("python")
    program = ROOT / "infra" / "local" / "transformed.py"
    done = subprocess.run([python, program, ROOT / path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    resources: dict[str, Any] = json.loads(done.stdout)["Resources"]
    return resources


@pytest.fixture(scope="module")
def resources() -> dict[str, Any]:
    return transformed("template.yaml")


def _of_type(resources: dict[str, Any], kind: str) -> dict[str, Any]:
    return {name: each["Properties"] for name, each in resources.items() if each["Type"] == kind}


def test_every_role_has_the_boundary_those_that_sam_makes_too(resources: dict[str, Any]) -> None:
    roles = _of_type(resources, "AWS::IAM::Role")
    made = {"RetrySweeperFunctionSweepScheduleRole", "RetentionFunctionRetentionScheduleRole"}
    assert set(roles) == set(MAY) | made
    for name, properties in roles.items():
        assert properties["PermissionsBoundary"] == BOUNDARY, name


@pytest.mark.parametrize("path", ["infra/observability.yaml", "infra/apprise_layer.yaml"])
def test_the_other_templates_make_no_role(path: str) -> None:
    assert not [name for name, each in transformed(path).items() if each["Type"].startswith("AWS::IAM::")]


def test_an_asynchronous_call_that_fails_ends_in_a_queue_that_its_function_may_write_to(
    resources: dict[str, Any],
) -> None:
    configured = _of_type(resources, "AWS::Lambda::EventInvokeConfig").values()
    assert {each["FunctionName"]["Ref"] for each in configured} == {
        "SendFunction", "RetrySweeperFunction", "RetentionFunction",
    }  # fmt: skip
    queue = {"Fn::GetAtt": ["EventDeadLetterQueue", "Arn"]}
    for each in configured:
        assert each["Qualifier"] == "$LATEST"  # which a call by the function's name is
        assert each["DestinationConfig"] == {"OnFailure": {"Destination": queue}}
        role = each["FunctionName"]["Ref"].replace("Function", "Role")
        assert "sqs:SendMessage EventDeadLetterQueue" in MAY[role]
