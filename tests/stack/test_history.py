"""The history page over the deployed stack, with its role enforced: the widget as CloudWatch calls it."""

import json

import pytest

from infra.local.processes import REGION
from redeliver.core.notification import EXPIRED, Status
from tests.stack.planted import ago, ask, buttons, dead, plant, sent, subjects
from tests.stack.scene import Scene, news, until


def test_the_function_answers_to_its_own_address(scene: Scene) -> None:
    (attributes, _) = buttons(ask(scene.stack))["Show"]
    assert attributes["endpoint"].startswith("arn:aws:lambda:")
    assert attributes["endpoint"].endswith(f":function:{scene.stack.outputs['HistoryFunction']}")
    body = scene.stack.client("cloudwatch").get_dashboard(DashboardName=f"redeliver-local-{REGION}")["DashboardBody"]
    endpoints = [each["properties"]["endpoint"] for each in json.loads(body)["widgets"] if each["type"] == "custom"]
    assert endpoints == [attributes["endpoint"]]


@pytest.mark.parametrize(
    ("forms", "expected"),
    [
        ({}, ["waits", "sent-1", "dead-2", "sent-3", "dead-4"]),
        ({"status": "sent"}, ["sent-1", "sent-3"]),
        ({"status": "dead"}, ["dead-2", "dead-4"]),
        ({"status": "waiting"}, ["waits"]),
        ({"kind": "other"}, ["sent-3", "dead-4"]),
        ({"kind": "other", "status": "dead"}, ["dead-4"]),
        ({"kind": "neither"}, []),
    ],
    ids=str,
)
def test_each_filter_shows_what_it_says_newest_first(scene: Scene, forms: dict[str, str], expected: list[str]) -> None:
    name, other = scene.channel, {"kind": "other"}
    open_ = {"status": Status.RETRYING, "next_attempt_at": ago(-9), "dead_lettered_at": None, "attempt_count": 1}
    plant(scene.stack, [dead(name, "waits", 0, **open_), sent(name, "sent-1", 1), sent(name, "sent-3", 3, **other)])
    plant(scene.stack, [dead(name, "dead-2", 2), dead(name, "dead-4", 4, **other)])
    page = ask(scene.stack, None, **{"channel": name, **forms})
    assert "did not work" not in page
    assert subjects(page) == expected


def test_pages_have_all_records_once(scene: Scene) -> None:
    plant(scene.stack, [dead(scene.channel, f"d{number:03}", number / 60) for number in range(120)])
    found, page = [], ask(scene.stack, channel=scene.channel, status="dead")
    while True:
        found.append(subjects(page))
        step = buttons(page).get("Next page →")
        if step is None:
            break
        page = ask(scene.stack, step[1], kind="typed but not yet asked for")
    assert found == [[f"d{number:03}" for number in part] for part in (range(50), range(50, 100), range(100, 120))]


def test_the_story_of_what_was_really_sent(scene: Scene) -> None:
    scene.send("told", finding_id="CVE-2", payload={"cve": "CVE-2"})
    page = ask(scene.stack, channel=scene.channel)
    told = ask(scene.stack, buttons(page)["About toldtold"][1])
    assert "delivered" in told
    assert "nobody has said that its finding" in told
    assert "CVE-2" in told
    assert "Send again" not in buttons(told)


def test_a_redrive_sends_it_again_once(scene: Scene) -> None:
    plant(scene.stack, [dead(scene.channel, "d")])
    told = ask(scene.stack, buttons(ask(scene.stack, channel=scene.channel))["About dd"][1])
    attributes, parameters = buttons(told)["Send again"]
    assert "Send this notification again?" in attributes["confirmation"]
    after = ask(scene.stack, parameters)
    assert "goes out with the next sweep" in after
    assert "Send again" not in buttons(after)
    assert "no longer in that state" in ask(scene.stack, parameters)
    scene.sweep()
    assert scene.told() == ["d"]
    assert (scene.stored("d")["status"], scene.stored("d")["redrive_count"]) == ("sent", "1")
    assert len(scene.log("HistoryFunction", "notification_redriven")) == 1


def test_what_is_stale_or_resolved_goes_only_if_it_is_insisted(scene: Scene) -> None:
    plant(scene.stack, [dead(scene.channel, "stale", last_reason=EXPIRED)])
    plant(scene.stack, [dead(scene.channel, "resolved", finding_id=f"F-{scene.channel}")])
    news(scene, f"F-{scene.channel}", "resolved")
    until(lambda: "expires_at" in scene.stored("resolved"), seconds=60)
    for key, why in (("stale", "stale"), ("resolved", "finding resolved")):
        ask_for = {"do": "redrive", "channel": scene.channel, "dedup_key": key}
        refused = ask(scene.stack, ask_for)
        assert f"Not sent again: {why}." in refused
        assert scene.stored(key)["status"] == "dead_lettered"
        attributes, insisting = buttons(refused)["Send all the same"]
        assert attributes["confirmation"]
        ask(scene.stack, insisting)
        assert scene.stored(key)["status"] == "pending"


def test_a_hold_is_shown(scene: Scene) -> None:
    plant(scene.stack, [sent(scene.channel, "s")])
    scene.stack.client("dynamodb").update_item(
        TableName=scene.stack.outputs["ChannelsTable"],
        Key={"channel": {"S": scene.channel}},
        UpdateExpression="SET hold_until = :until, hold_reason = :why",
        ExpressionAttributeValues={":until": {"N": str(int(ago(-60).timestamp()))}, ":why": {"S": "operator"}},
    )
    assert "is on hold until" in ask(scene.stack, channel=scene.channel)


def test_a_call_that_makes_no_sense_is_told_so_and_logged_as_no_error(scene: Scene) -> None:
    page = ask(scene.stack, {"do": "list", "view": {"status": "<b>"}})
    assert "This did not work: status: must be one of" in page
    assert "<b>" not in page
