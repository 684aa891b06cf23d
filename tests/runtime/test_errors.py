"""What a caller of Lambda gets to see when a function fails: which kind of error, in words, and no secret."""

import re

import pytest

from infra.local.endpoint import Endpoint
from infra.local.runtime_api import Answer, RuntimeApi
from tests.runtime.functions import Functions
from tests.runtime.relay import Relay
from tests.stack.scene import new_channel

SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
TOKEN = "token-of-a-header"
ROLE = "secret-key-of-the-role"
FINDING = {"detail-type": "Finding Status Changed"}
BARE = {"finding_id": "CVE-1", "status": "resolved", "changed_at": "2026-11-30T12:00:00Z"}
BY_SNS = {"Records": [{"EventSource": "aws:sns", "Sns": {"Message": "{}"}}]}
ACTIVE = {"status": "active", "changed_at": "2026-11-30T12:00:00Z"}
GONE = {"finding_id": "CVE-1", "status": "gone", "changed_at": "2026-11-30T12:00:00Z"}
WRONG_SETTINGS = {
    "no table": ("SendFunction", {"NOTIFICATIONS_TABLE": None}),
    "no channels": ("RetrySweeperFunction", {"CHANNELS_TABLE": None}),
    "no findings": ("RetentionFunction", {"FINDINGS_TABLE": None}),
    "no dead letter queue": ("SendFunction", {"SEND_DEAD_LETTER_QUEUE_URL": " "}),
    "too much jitter": ("RetrySweeperFunction", {"RETRY_JITTER": "7"}),
    "a word for a number": ("RetentionFunction", {"RETENTION_DAYS": "long"}),
}
REFUSED = {
    "unknown command": ("RetrySweeperFunction", {"command": "drop"}, "InvalidCommand", "command: must be one of"),
    "unknown field": ("RetrySweeperFunction", {"command": "counts", "of": "ops"}, "InvalidCommand", "'of': unknown"),
    "no keys": ("RetrySweeperFunction", {"command": "redrive", "channel": "ops"}, "InvalidCommand", "dedup_keys: must"),
    "no detail": ("RetentionFunction", FINDING, "InvalidFinding", "detail: must be an object"),
    "no envelope": ("RetentionFunction", BARE, "InvalidFinding", "'finding_id': unknown; news of a finding"),
    "another envelope": ("RetentionFunction", BY_SNS, "InvalidFinding", "Records: not of the table's stream"),
    "another event": ("RetentionFunction", {"detail-type": "Finding Solved"}, "InvalidFinding", "detail-type: must be"),
    "unknown status": ("RetentionFunction", FINDING | {"detail": GONE}, "InvalidFinding", "status: must be one of"),
}


@pytest.mark.parametrize(("function", "change"), WRONG_SETTINGS.values(), ids=WRONG_SETTINGS)
def test_a_wrong_setting_is_named_by_every_call(
    functions: Functions, function: str, change: dict[str, str | None]
) -> None:
    with functions.start(function, change) as misled:
        for error in (misled.invoke({}).value, misled.invoke({}).value):
            assert error["errorType"] == "InvalidSetting"
            assert error["errorMessage"].startswith(f"{next(iter(change))}: ")


@pytest.mark.parametrize(("function", "event", "kind", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_carried_out_is_refused_by_its_own_kind_of_error(
    functions: Functions, function: str, event: dict[str, object], kind: str, message: str
) -> None:
    error = functions.running(function).invoke(event).value
    assert error["errorType"] == kind
    assert error["errorMessage"].startswith(message)


def test_a_sweep_whose_items_failed_says_so_after_the_others_were_sent(
    functions: Functions, endpoint: Endpoint
) -> None:
    hit, spared = (new_channel(functions, endpoint, mode="digest", **_credentials()) for _ in range(2))
    for scene in (hit, spared):
        assert scene.send("k")[0]["result"] == "accepted"
    with Relay(functions.endpoint_url) as dynamodb:
        dynamodb.refuse("UpdateItem", "AccessDeniedException", about=hit.channel)
        with _started(functions, "RetrySweeperFunction", dynamodb) as sweeper:
            error = _told(sweeper, sweeper.invoke({}))
            log = sweeper.log()
    assert error["errorType"] == "SweepIncomplete"
    assert error["errorMessage"].startswith("1 items met an error")
    assert re.search(rf'"item_failed".*"channel":"{hit.channel}".*AccessDeniedException', log)
    assert (hit.told(), spared.told()) == ([], ["k"])
    hit.sweep()
    assert hit.told() == ["k"]


def test_a_daily_run_whose_findings_failed_says_so_after_the_others_were_done(functions: Functions) -> None:
    for name in ("F-hit", "F-spared"):
        functions.invoke("RetentionFunction", FINDING | {"detail": ACTIVE | {"finding_id": name}})
    with Relay(functions.endpoint_url) as dynamodb:
        dynamodb.refuse("Query", "AccessDeniedException", about="F-hit")
        with _started(functions, "RetentionFunction", dynamodb) as retention:
            error = _told(retention, retention.invoke({}))
            log = retention.log()
    assert error["errorType"] == "RetentionIncomplete"
    assert error["errorMessage"].startswith("1 findings met an error")
    assert re.search(r'"finding_failed".*"finding_id":"F-hit".*AccessDeniedException', log)
    assert "F-spared" not in log
    assert '"retention_finished"' in log


def test_a_notification_that_could_not_be_stored_fails_the_call(functions: Functions, endpoint: Endpoint) -> None:
    scene = new_channel(functions, endpoint, **_credentials())
    with Relay(functions.endpoint_url) as dynamodb:
        dynamodb.refuse("PutItem", "AccessDeniedException", about='"k"')
        with _started(functions, "SendFunction", dynamodb) as send:
            listed = [scene.notification("k"), scene.notification("other")]
            error = _told(send, send.invoke({"notifications": listed}))
    assert error["errorType"] == "Unavailable"
    assert error["errorMessage"].startswith("1 of 2 could not be stored: DynamoDB: AccessDeniedException")
    assert scene.told() == ["other"]


def _credentials() -> dict[str, object]:
    return {"secret": SECRET, "headers": {"X-Token": TOKEN}}


def _started(functions: Functions, function: str, dynamodb: Relay) -> RuntimeApi:
    return functions.start(function, {"AWS_ENDPOINT_URL_DYNAMODB": dynamodb.url, "AWS_SECRET_ACCESS_KEY": ROLE})


def _told(function: RuntimeApi, answer: Answer) -> dict[str, str]:
    """Return the error in an answer, no secret being in it or in the log."""
    for secret in (SECRET, SECRET.removeprefix("whsec_"), TOKEN, ROLE):
        assert secret not in answer.body.decode() + function.log()
    error: dict[str, str] = answer.value
    return error
