"""What system A asks for (SPEC 11), over the deployed functions with their roles enforced."""

import json
import time
from concurrent.futures import ThreadPoolExecutor

from infra.local.endpoint import Step
from tests.stack.scene import Scene

DOWN = Step(status=503, body="down for maintenance")


def test_a1_a_failed_send_is_stored_with_all_that_a_retry_needs(scene: Scene) -> None:
    scene.endpoint.script(scene.path, default=DOWN)
    (answer,) = scene.send("ad-1", subject="Flat, 2 rooms", body="Rent fell to 900", kind="price_drop", recipient="42")
    stored = scene.stored("ad-1")
    assert answer["result"] == "retrying"
    assert answer["attempt_count"] == 1
    assert stored["status"] == "retrying"
    assert (stored["subject"], stored["body"]) == ("Flat, 2 rooms", "Rent fell to 900")
    assert (stored["kind"], stored["recipient"]) == ("price_drop", "42")
    assert "503" in stored["last_error"]
    assert int(stored["next_attempt_at"]) == answer["next_attempt_at"]


def test_a2_a_sweep_tries_it_when_its_backoff_has_passed_and_not_before(scene: Scene) -> None:
    scene.endpoint.script(scene.path, DOWN, DOWN, DOWN)
    scene.send("ad-2")
    # A minute that has not passed.
    scene.change("ad-2", "SET next_attempt_at = :then", then={"N": str(int(time.time()) + 60)})
    calls = len(scene.received())
    scene.sweep()
    assert len(scene.received()) == calls
    scene.change("ad-2", "SET next_attempt_at = :then", then={"N": str(int(time.time()))})
    scene.sweep()
    assert scene.stored("ad-2")["status"] == "sent"
    assert len(scene.received()) == calls + 1


def test_a4_the_last_attempt_leaves_a_dead_letter_and_a_log_line(scene: Scene) -> None:
    scene.endpoint.script(scene.path, default=DOWN)
    scene.send("ad-4")
    for _ in range(4):
        scene.sweep_when_due("ad-4")
    stored = scene.stored("ad-4")
    assert (stored["status"], stored["attempt_count"]) == ("dead_lettered", "5")
    assert "next_attempt_at" not in stored
    (line,) = scene.log("RetrySweeperFunction", "notification_dead_lettered")
    assert line["level"] == "WARNING"
    assert (line["dedup_key"], line["attempt_count"], line["reason"]) == ("ad-4", 5, "http_503")


def test_a6_the_same_thing_enqueued_twice_at_once_is_told_once(scene: Scene) -> None:
    scene.endpoint.script(scene.path, default=Step(delay=0.3))
    with ThreadPoolExecutor(2) as pool:
        answers = [pair[0]["result"] for pair in pool.map(lambda _: scene.send("ad-6"), range(2))]
    assert sorted(answers) == ["duplicate", "sent"]
    assert scene.told() == ["ad-6"]


def test_a7_a_retry_that_succeeds_is_recorded_like_a_direct_success(scene: Scene) -> None:
    scene.endpoint.script(scene.path, DOWN, DOWN, DOWN)
    scene.send("ad-7")
    scene.sweep_when_due("ad-7")
    scene.send("ad-7-direct")
    retried, direct = scene.stored("ad-7"), scene.stored("ad-7-direct")
    assert retried["status"] == direct["status"] == "sent"
    assert set(retried) == set(direct)


def test_a8_pending_and_dead_are_counted_in_the_log_and_on_request(scene: Scene) -> None:
    scene.endpoint.script(scene.path, default=Step(status=410))
    scene.send("ad-8-dead")
    scene.endpoint.script(scene.path, default=DOWN)
    scene.send("ad-8-waiting")
    scene.change("ad-8-waiting", "SET next_attempt_at = :then", then={"N": str(int(time.time()) + 3600)})
    report = scene.sweep()
    counts = scene.stack.invoke("RetrySweeperFunction", {"command": "counts"})
    assert counts["channels"][scene.channel]["pending"] == 1
    assert counts["channels"][scene.channel]["dead_letters"] == 1
    finished = scene.log("RetrySweeperFunction", "sweep_finished")[-1]
    assert finished["pending"] == report["pending"] >= 1
    assert finished["dead_letters"] == report["dead_letters"] >= 1


def test_a9_the_retry_sends_the_stored_text_even_when_the_source_has_changed(scene: Scene) -> None:
    scene.endpoint.script(scene.path, DOWN, DOWN, DOWN)
    scene.send("ad-9", body="It costs 900 now")
    scene.send("ad-9", body="It costs 950 again")
    scene.sweep_when_due("ad-9")
    assert json.loads(scene.received()[-1].body)["data"]["body"] == "It costs 900 now"


def test_a10_error_texts_are_capped(scene: Scene) -> None:
    scene.endpoint.script(scene.path, default=Step(status=500, body="x" * 60_000))
    scene.send("ad-10")
    assert 100 < len(scene.stored("ad-10")["last_error"]) <= 1024
