"""The in-request layer on a clock of its own."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, cast

import pytest

from redeliver.channels.attempt import Attempts
from redeliver.channels.transport import Answer, NoAnswer, Post, Transport
from tests.contract.channel_cases import NOW

UNAVAILABLE = Answer(503)
LOST = NoAnswer("connection_lost", "reset", sent=True)


@dataclass
class Scripted:
    """A transport that answers from a list, each answer after some seconds."""

    results: list[Answer | NoAnswer]
    takes: float = 0.0
    time: float = 100.0
    slept: list[float] = field(default_factory=list)
    posted: list[Post] = field(default_factory=list)

    def post(self, post: Post, seconds_left: Any) -> Answer | NoAnswer:
        self.time += self.takes
        self.posted.append(post)
        return self.results.pop(0)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds


def run(transport: Scripted, *, repeatable: bool = False, chance: float = 0.5) -> Answer | NoAnswer:
    attempts = Attempts(
        cast(Transport, transport),
        budget=10.0,
        monotonic=lambda: transport.time,
        sleep=transport.sleep,
        chance=lambda: chance,
        clock=lambda: NOW,
    )
    attempt = attempts.begin()

    def compose(now: datetime) -> Post:
        return Post(f"https://example.com/{len(transport.posted)}", b"", {}, allow_private=False, repeatable=repeatable)

    result = attempt.post(compose)
    assert transport.time <= 110 + transport.takes
    return result


def test_at_most_two_more_times_with_growing_pauses() -> None:
    transport = Scripted([UNAVAILABLE] * 3)
    assert run(transport) == UNAVAILABLE
    assert transport.slept == [pytest.approx(0.3), pytest.approx(0.6)]
    assert [post.url[-1] for post in transport.posted] == ["0", "1", "2"]  # composed anew for each


@pytest.mark.parametrize(("chance", "pause"), [(0.0, 0.15), (1.0, 0.45)])
def test_pauses_are_jittered(chance: float, pause: float) -> None:
    transport = Scripted([UNAVAILABLE, Answer(200)])
    assert run(transport, chance=chance) == Answer(200)
    assert transport.slept == [pytest.approx(pause)]


@pytest.mark.parametrize("status", [408, 429, 500, 599])
def test_statuses_that_are_tried_again(status: int) -> None:
    assert run(Scripted([Answer(status), Answer(204)])) == Answer(204)


@pytest.mark.parametrize("status", [200, 302, 400, 401, 404, 410, 499])
def test_statuses_that_are_not(status: int) -> None:
    assert run(Scripted([Answer(status)])) == Answer(status)


def test_no_answer_before_the_body_was_sent_is_tried_again() -> None:
    assert run(Scripted([NoAnswer("connection_failed", ""), Answer(200)])) == Answer(200)


def test_no_answer_after_the_body_was_sent_is_tried_again_only_if_the_receiver_can_tell() -> None:
    assert run(Scripted([LOST])) == replace(LOST, again=False)
    assert run(Scripted([LOST, Answer(200)]), repeatable=True) == Answer(200)


def test_what_can_only_fail_again_is_not_tried_again() -> None:
    refused = NoAnswer("address_refused", "", again=False)
    assert run(Scripted([refused]), repeatable=True) == refused


def test_a_short_named_wait_is_slept() -> None:
    transport = Scripted([Answer(429, headers={"Retry-After": "3"}), Answer(200)])
    assert run(transport) == Answer(200)
    assert transport.slept == [3.0]


@pytest.mark.parametrize(("takes", "wait", "calls"), [(0.0, "9", 2), (0.0, "10", 1), (1.0, "8", 2), (1.0, "9", 1)])
def test_a_wait_beyond_the_budget_ends_the_layer(takes: float, wait: str, calls: int) -> None:
    transport = Scripted([Answer(503, headers={"Retry-After": wait}), Answer(200)], takes=takes)
    run(transport)
    assert len(transport.posted) == calls


def test_slow_failures_use_up_the_budget() -> None:
    transport = Scripted([UNAVAILABLE] * 3, takes=8.8)
    assert run(transport) == UNAVAILABLE
    assert (len(transport.posted), transport.slept) == (1, [])
