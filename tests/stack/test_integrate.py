"""The Python of docs/integrate.md, run as it stands there against the deployed functions."""

import json
from pathlib import Path

import pytest

from infra.local.endpoint import Endpoint
from infra.local.processes import CREDENTIALS, REGION
from infra.local.stack import LocalStack
from tests.stack.scene import Scene, configure, until
from tests.test_docs import BLOCK

GUIDE = Path(__file__).parents[2] / "docs" / "integrate.md"


def test_every_way_in_works_as_it_is_written(
    stack: LocalStack, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Scene(stack, endpoint, "ops-hook")
    configure(scene)
    monkeypatch.setenv("AWS_ENDPOINT_URL", stack.endpoint_url)
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name.upper(), value)
    names = {
        "send_function": stack.outputs["SendFunction"],
        "send_queue": stack.outputs["SendQueue"],
        "notification_bus": stack.outputs["NotificationBus"],
    }
    text = GUIDE.read_text(encoding="utf-8")
    programs = [found[2] for found in BLOCK.finditer(text) if found[1] == "python"]
    assert len(programs) == 4
    for program in programs:
        exec(compile(program, str(GUIDE), "exec"), dict(names))
    until(lambda: len(scene.told()) == 3)
    assert sorted(scene.told()) == [f"disk-full:web-{number}:2026-11-30" for number in (1, 2, 3)]

    def heard() -> bool:
        lines = [json.loads(line) for line in stack.logs("RetentionFunction") if line.startswith("{")]
        return any(line.get("finding_id") == "CVE-2024-3094" for line in lines)

    assert until(heard)
