"""Every event file for `sam local invoke`, through the deployed functions."""

import json
from pathlib import Path

import pytest

from infra.local.stack import LocalStack

EVENTS = Path(__file__).resolve().parents[1] / "events"
FUNCTIONS = {
    "send": "SendFunction",
    "retry": "RetrySweeperFunction",
    "retention": "RetentionFunction",
    "history": "HistoryFunction",
}
# What the answer has, whatever else the shared stack holds by then.
ANSWERS: dict[str, set[str]] = {
    "send_one": {"results"},
    "send_many": {"results"},
    "send_queue": {"batchItemFailures"},
    "send_queue_invalid": {"batchItemFailures"},
    "retry_sweeper_schedule": {"looked_at", "sent", "pending", "dead_letters"},
    "retry_sweeper_counts": {"channels", "pending", "dead_letters"},
    "retry_sweeper_redrive": {"channel", "redriven", "results"},
    "retention_finding_active": {"stamped", "released", "kept_active", "removed", "failed_items"},
    "retention_finding_resolved": {"stamped", "released", "kept_active", "removed", "failed_items"},
    "retention_finding_deleted": {"stamped", "released", "kept_active", "removed", "failed_items"},
    "retention_schedule": {"stamped", "released", "kept_active", "removed", "failed_items"},
    "retention_forgotten": {"stamped", "released", "kept_active", "removed", "failed_items"},
}
# The page answers with a text.
TEXTS = {
    "history_describe": "### Widget parameters",
    "history_page": "There is nothing of the kind.",
    "history_story": "there is no such notification",
    "history_redrive": "Not sent again: no longer in that state.",
}


def test_every_event_file_is_tried() -> None:
    assert {path.stem for path in EVENTS.glob("*.json")} == {*ANSWERS, *TEXTS}


@pytest.mark.parametrize("name", TEXTS)
def test_event_of_the_page(stack: LocalStack, name: str) -> None:
    event = json.loads((EVENTS / f"{name}.json").read_text())
    assert TEXTS[name] in stack.invoke(FUNCTIONS["history"], event)


@pytest.mark.parametrize("name", ANSWERS)
def test_event(stack: LocalStack, name: str) -> None:
    assert_answered(stack, name)


def assert_answered(stack: LocalStack, name: str) -> None:
    """Call the function that an event file's name begins with, and look at its answer."""
    answer = stack.invoke(FUNCTIONS[name.split("_")[0]], json.loads((EVENTS / f"{name}.json").read_text()))
    assert ANSWERS[name] <= set(answer)
    assert not answer.get("batchItemFailures")
    assert all(result["result"] != "invalid" for result in answer.get("results", []))


def test_what_ttl_removed_is_counted(stack: LocalStack) -> None:
    event = json.loads((EVENTS / "retention_forgotten.json").read_text())
    answer = stack.invoke("RetentionFunction", event)
    by_service = [record for record in event["Records"] if "userIdentity" in record]
    assert answer["removed"] == len(by_service) > 0
