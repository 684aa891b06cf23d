"""The end of an invocation's time: Lambda's answer, the lease that is left behind, and attempts that are not begun."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from infra.local.endpoint import Endpoint, Step
from infra.local.runtime_api import Answer
from tests.runtime.functions import Functions
from tests.runtime.relay import Relay
from tests.stack.scene import Scene, new_channel

# An attempt is begun while there are 12 seconds for it: too little time for one, and enough with some to spare.
TOO_SHORT, LONG_ENOUGH = 11, 14
LEASE_MARGIN = 5


@dataclass(frozen=True, slots=True)
class Slow:
    """An invocation that took as long as it could."""

    scene: Scene
    began: float
    answer: Answer


def _silent_endpoint(functions: Functions, endpoint: Endpoint) -> Slow:
    scene = new_channel(functions, endpoint)
    endpoint.script(scene.path, Step(failure="hang"))
    return _slow(functions, scene)


def _silent_store(functions: Functions, endpoint: Endpoint) -> Slow:
    scene = new_channel(functions, endpoint)
    with Relay(functions.endpoint_url) as dynamodb:
        # The attempt's only update: the write of what it came to.
        dynamodb.silence("UpdateItem")
        return _slow(functions, scene, {"AWS_ENDPOINT_URL_DYNAMODB": dynamodb.url})


def _slow(functions: Functions, scene: Scene, changes: dict[str, str | None] | None = None) -> Slow:
    with functions.start("SendFunction", changes, seconds=LONG_ENOUGH) as send:
        # All that it takes but the attempt: what is loaded and connected by now costs the next one no time.
        assert send.invoke(scene.notification("before", suppress="only to be ready")).value["results"]
        began = time.time()
        return Slow(scene, began, send.invoke(scene.notification("k")))


@pytest.fixture(scope="module")
def slow(functions: Functions, endpoint: Endpoint) -> tuple[Slow, Slow]:
    """Both at once, since they only wait: the endpoint is silent, DynamoDB is silent."""
    functions.invoke("RetrySweeperFunction", {"command": "counts"})  # a start would use up the lease that it is to meet
    with ThreadPoolExecutor() as pool:
        one, other = (pool.submit(case, functions, endpoint) for case in (_silent_endpoint, _silent_store))
        return one.result(), other.result()


def test_a_silent_endpoint_leaves_time_for_an_answer(slow: tuple[Slow, Slow]) -> None:
    answer, scene = slow[0].answer, slow[0].scene
    assert not answer.timed_out
    (result,) = answer.value["results"]
    assert (result["result"], result["attempt_count"]) == ("retrying", 1)
    assert scene.stored("k")["maybe_delivered"]


def test_an_invocation_that_lambda_ended_leaves_its_lease_and_has_cost_an_attempt(slow: tuple[Slow, Slow]) -> None:
    answer, scene = slow[1].answer, slow[1].scene
    assert answer.timed_out
    left = scene.stored("k")
    assert (left["status"], left["attempt_count"]) == ("pending", "1")
    assert left["claimed_until"] == left["next_attempt_at"]
    lease = int(left["claimed_until"]) - (slow[1].began + LONG_ENOUGH)
    assert LEASE_MARGIN - 1 < lease < 2 * LEASE_MARGIN
    scene.sweep()
    assert scene.stored("k") == left

    scene.sweep_when_due("k")

    after = scene.stored("k")
    assert (after["status"], after["attempt_count"], after["maybe_delivered"]) == ("sent", "2", True)
    first, second = (request.headers["webhook-id"] for request in scene.received())
    assert first == second


def test_with_little_time_left_no_attempt_is_begun(functions: Functions, scene: Scene) -> None:
    with functions.start("SendFunction", seconds=TOO_SHORT) as send:
        (result,) = send.invoke(scene.notification("k")).value["results"]
    assert (result["result"], result["attempt_count"]) == ("accepted", 0)
    with functions.start("RetrySweeperFunction", seconds=TOO_SHORT) as sweeper:
        report = sweeper.invoke({}).value
    assert (report["looked_at"], report["failed_items"]) == (0, 0)  # what there is no time for is not read either
    assert scene.received() == []
    assert scene.stored("k")["attempt_count"] == "0"

    scene.sweep()

    assert scene.told() == ["k"]
    assert scene.stored("k")["attempt_count"] == "1"
