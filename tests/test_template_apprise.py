"""The optional layer with Apprise: only where it is asked for, and no other versions of what the common one has."""

import re
from pathlib import Path

from tests.test_template import RESOURCES, TEMPLATE

ROOT = Path(__file__).resolve().parents[1]


def pins(layer: str) -> dict[str, str]:
    text = (ROOT / "layers" / layer / "requirements.txt").read_text()
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", text, re.MULTILINE))


def test_the_layer_is_attached_to_what_sends_and_only_if_it_is_given() -> None:
    assert TEMPLATE["Conditions"]["HasAppriseLayer"] == {"Not": [{"Equals": [{"Ref": "AppriseLayerArn"}, ""]}]}
    assert TEMPLATE["Parameters"]["AppriseLayerArn"]["Default"] == ""
    optional = {"If": ["HasAppriseLayer", {"Ref": "AppriseLayerArn"}, {"Ref": "AWS::NoValue"}]}
    layers = {
        name: each["Properties"]["Layers"]
        for name, each in RESOURCES.items()
        if each["Type"] == "AWS::Serverless::Function" and "Layers" in each["Properties"]
    }
    assert layers == {"SendFunction": [optional], "RetrySweeperFunction": [optional]}


def test_what_both_layers_have_is_of_one_version() -> None:
    common, apprise = pins("common"), pins("apprise")
    assert "apprise" not in common
    shared = common.keys() & apprise.keys()
    assert "requests" in shared
    assert {name: common[name] for name in shared} == {name: apprise[name] for name in shared}
