"""What system B asks for (SPEC 11), over the deployed functions with their roles enforced."""

import time
from datetime import UTC, datetime, timedelta

import pytest

from infra.local.endpoint import Step
from tests.stack.scene import Scene, configure, news, until

DOWN = Step(status=503)
IN_REQUEST = 3  # calls that one attempt makes while the endpoint says 503
LONG_AGO = str(int(time.time()) - 100 * 86400)


@pytest.fixture
def digest(scene: Scene) -> Scene:
    configure(scene, mode="digest")
    return scene


def test_b1_b4_b6_a_digest_fails_is_joined_and_recovers_as_one_batch(digest: Scene) -> None:
    digest.endpoint.script(digest.path, *[DOWN] * IN_REQUEST)
    assert [answer["result"] for answer in digest.send("cve-1", "cve-2")] == ["accepted", "accepted"]
    before = int(time.time())
    digest.sweep()
    for key in ("cve-1", "cve-2"):
        stored = digest.stored(key)
        assert (stored["status"], stored["attempt_count"]) == ("retrying", "1")
        assert int(stored["next_attempt_at"]) > before
    digest.send("cve-3")
    digest.sweep_when_due("cve-1", "cve-2", "cve-3")
    records = [digest.stored(key) for key in ("cve-1", "cve-2", "cve-3")]
    assert {record["status"] for record in records} == {"sent"}
    assert len({record["dispatch_batch_id"] for record in records}) == 1
    assert all("sent_at" in record for record in records)
    last = digest.received()[-1]
    assert last.headers["webhook-id"] == records[0]["dispatch_batch_id"]
    assert len(digest.received()) == IN_REQUEST + 1


def test_b3_nothing_due_calls_no_channel(digest: Scene) -> None:
    digest.send("cve-4")
    digest.sweep()
    calls = len(digest.received())
    digest.sweep()
    assert len(digest.received()) == calls == 1


def test_b5_the_last_attempt_dead_letters_and_nothing_wakes_it_but_a_redrive(digest: Scene) -> None:
    digest.endpoint.script(digest.path, default=DOWN)
    digest.send("cve-5")
    for _ in range(5):
        digest.sweep_when_due("cve-5")
    stored = digest.stored("cve-5")
    assert (stored["status"], stored["last_reason"]) == ("dead_lettered", "http_503")
    assert "503" in stored["last_error"]
    assert "next_attempt_at" not in stored
    calls = len(digest.received())
    digest.sweep()
    (again,) = digest.send("cve-5")
    assert (again["result"], again["status"]) == ("duplicate", "dead_lettered")
    assert len(digest.received()) == calls
    assert digest.log("RetrySweeperFunction", "notification_dead_lettered")
    dead = {"channel": digest.channel, "reason": "dead_lettered"}
    assert until(lambda: digest.metric("notifications.failed", **dead)) == 1
    digest.endpoint.script(digest.path)
    command = {"command": "redrive", "channel": digest.channel, "dedup_keys": ["cve-5", "never-was"]}
    redriven = digest.stack.invoke("RetrySweeperFunction", command)
    assert [one["result"] for one in redriven["results"]] == ["redriven", "not_found"]
    assert digest.hold()["hold_reason"] == "failing"  # five failures in a row
    digest.sweep()
    assert digest.stored("cve-5")["status"] == "pending"
    digest.release()
    digest.sweep()
    assert digest.stored("cve-5")["status"] == "sent"
    assert digest.stored("cve-5")["redrive_count"] == "1"


def test_b7_a_channel_that_is_not_configured_costs_no_attempt(scene: Scene) -> None:
    configure(scene, url="  ")
    (answer,) = scene.send("cve-7")
    assert answer["result"] == "not_configured"
    assert "url" in answer["error"]
    scene.sweep()
    assert scene.stored("cve-7")["attempt_count"] == "0"
    assert scene.hold()["hold_reason"] == "not_configured"
    configure(scene)

    def swept() -> bool:
        scene.sweep()
        return bool(scene.stored("cve-7")["status"] == "sent")

    until(swept)  # the hold lasts a second here
    assert scene.stored("cve-7")["attempt_count"] == "1"
    assert scene.told() == ["cve-7"]


def test_b9_b13_a_final_record_past_the_cutoff_goes_and_the_log_says_so(scene: Scene) -> None:
    scene.send("cve-9")
    expires = int(scene.stored("cve-9")["expires_at"])
    assert expires == int(scene.stored("cve-9")["created_at"]) + 90 * 86400
    scene.change("cve-9", "SET expires_at = :past", past={"N": str(int(time.time()) - 1)})
    until(lambda: not scene.stored("cve-9"))

    def counted() -> bool:
        return any(scene.channel in x["channels"] for x in scene.log("RetentionFunction", "retention_finished")
                   if x.get("trigger") == "stream")  # fmt: skip

    until(counted)
    assert until(lambda: scene.metric("notifications.forgotten")) >= 1


def test_b10_open_records_never_carry_an_expiry(scene: Scene) -> None:
    scene.endpoint.script(scene.path, default=DOWN)
    scene.send("cve-10", finding_id="f-10")
    scene.send("cve-10-b")
    scene.change("cve-10", "SET created_at = :long_ago", long_ago={"N": LONG_AGO})
    news(scene, "f-10", "resolved")
    until(lambda: _runs(scene, "f-10"))
    assert "expires_at" not in scene.stored("cve-10")
    assert "expires_at" not in scene.stored("cve-10-b")


def test_b11_b12_b14_a_finding_keeps_its_record_until_it_is_resolved(scene: Scene) -> None:
    scene.send("cve-11", finding_id="f-11")
    scene.change("cve-11", "SET created_at = :long_ago", long_ago={"N": LONG_AGO})
    news(scene, "f-11", "active")
    until(lambda: _runs(scene, "f-11"))
    assert "expires_at" not in scene.stored("cve-11")
    (again,) = scene.send("cve-11", finding_id="f-11")  # it is a hundred days old, and still known
    assert again["result"] == "duplicate"
    assert scene.told() == ["cve-11"]
    news(scene, "f-11", "deleted")
    until(lambda: not scene.stored("cve-11"))  # past the cutoff already: TTL takes it


def test_a_finding_that_is_active_again_takes_the_expiry_back(scene: Scene) -> None:
    scene.send("cve-12", finding_id="f-12")
    moment = datetime.now(UTC) + timedelta(seconds=5)
    news(scene, "f-12", "resolved", moment)
    until(lambda: "expires_at" in scene.stored("cve-12"))
    news(scene, "f-12", "active", moment + timedelta(seconds=1))
    until(lambda: "expires_at" not in scene.stored("cve-12"))
    news(scene, "f-12", "resolved", moment)  # late: it is about the past
    until(lambda: len(_runs(scene, "f-12")) == 3)
    assert "expires_at" not in scene.stored("cve-12")


def test_b15_what_happened_is_in_cloudwatch(scene: Scene) -> None:
    scene.endpoint.script(scene.path, *[DOWN] * IN_REQUEST)
    scene.send("cve-15", kind="image_update")
    scene.sweep_when_due("cve-15")
    assert until(lambda: scene.metric("notifications.sent", channel=scene.channel, kind="image_update")) == 1
    assert until(lambda: scene.metric("notifications.failed", channel=scene.channel, reason="transient")) == 1
    listed = scene.stack.client("cloudwatch").list_metrics(Namespace="redeliver")["Metrics"]
    gauges = {"pending", "dead_letters", "oldest_due_seconds"}
    assert {f"notifications.{gauge}" for gauge in gauges} | {"channels.held"} <= {m["MetricName"] for m in listed}
    assert all("service" in {d["Name"] for d in metric["Dimensions"]} for metric in listed)


def _runs(scene: Scene, finding: str) -> list[dict[str, object]]:
    return [x for x in scene.log("RetentionFunction", "retention_finished") if x.get("finding_id") == finding]
