"""What reaches the bus: EventBridge (moto), and the telemetry that tells it."""

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

import boto3
import pytest
from aws_lambda_powertools import Logger
from moto import mock_aws

from redeliver.bus import EventBridgeBus
from redeliver.ports import MOST_EVENTS, Announcement, Unavailable
from redeliver.telemetry import EmfTelemetry


class FakeBus:
    """Remembers what was published, call by call; or is down."""

    def __init__(self, *, down: bool = False) -> None:
        self.calls: list[list[tuple[str, Mapping[str, object]]]] = []
        self.down = down
        self.asked = 0

    def publish(self, events: Sequence[tuple[str, Mapping[str, object]]]) -> None:
        self.asked += 1
        if self.down:
            raise Unavailable("EventBridge: InternalException")
        self.calls.append(list(events))


def telemetry_over(bus: Any) -> tuple[EmfTelemetry, io.StringIO]:
    log = io.StringIO()
    return EmfTelemetry(Logger(service=f"test-{uuid4()}", stream=log), bus), log


def test_events_are_put_on_the_bus() -> None:
    """That a rule hands them on is shown on the local stack; here, that EventBridge takes them."""
    with mock_aws():
        boto3.client("events").create_event_bus(Name="ours")
        EventBridgeBus("ours").publish([("Channel Held", {"reason": "schön"}), ("Channel Recovered", {"reason": "x"})])


def test_a_bus_that_is_not_there_is_unavailable() -> None:
    with mock_aws(), pytest.raises(Unavailable, match="EventBridge: "):
        EventBridgeBus("nowhere").publish([("Channel Held", {"channel": "x" * 2_000_000})])


def test_announcements_go_out_in_calls_of_the_most_and_the_rest_at_the_end() -> None:
    bus = FakeBus()
    telemetry, _ = telemetry_over(bus)
    with telemetry.invocation("r1"):
        for number in range(2 * MOST_EVENTS + 3):
            telemetry.announce(Announcement.SENT, dedup_key=str(number), error=None)
        assert [len(call) for call in bus.calls] == [MOST_EVENTS] * 2
    assert [len(call) for call in bus.calls] == [MOST_EVENTS, MOST_EVENTS, 3]
    assert bus.calls[0][0] == ("Notification Sent", {"dedup_key": "0"})
    telemetry.flush()
    assert len(bus.calls) == 3


def test_a_bus_that_is_down_is_logged_and_nothing_else() -> None:
    telemetry, log = telemetry_over(FakeBus(down=True))
    with telemetry.invocation("r1"):
        telemetry.announce(Announcement.HELD, channel="ops")
    (line,) = map(json.loads, log.getvalue().splitlines())
    assert (line["message"], line["number"], line["level"]) == ("events_not_published", 1, "WARNING")


def test_a_bus_that_is_down_is_asked_once_an_invocation() -> None:
    bus = FakeBus(down=True)
    telemetry, log = telemetry_over(bus)
    with telemetry.invocation("r1"):
        for _ in range(5 * MOST_EVENTS + 3):
            telemetry.announce(Announcement.HELD, channel="ops")
    assert bus.asked == 1
    lines = list(map(json.loads, log.getvalue().splitlines()))
    assert [(line["message"], line["number"]) for line in lines] == [
        ("events_not_published", MOST_EVENTS),
        ("events_not_published", 4 * MOST_EVENTS + 3),
    ]
    bus.down = False
    with telemetry.invocation("r2"):
        telemetry.announce(Announcement.HELD, channel="ops")
    assert [len(call) for call in bus.calls] == [1]


class Looking(FakeBus):
    """Notes what has been written when it is asked."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        super().__init__()
        self.capsys, self.written = capsys, ""

    def publish(self, events: Sequence[tuple[str, Mapping[str, object]]]) -> None:
        self.written = self.capsys.readouterr().out


def test_metrics_are_written_before_a_bus_is_waited_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "redeliver")
    bus = Looking(capsys)
    telemetry, _ = telemetry_over(bus)
    telemetry.count("notifications.invalid")
    telemetry.announce(Announcement.HELD, channel="ops")
    telemetry.flush()
    assert "notifications.invalid" in bus.written


def test_secrets_stay_here() -> None:
    bus = FakeBus()
    telemetry, _ = telemetry_over(bus)
    with telemetry.invocation("r1"):
        telemetry.announce(Announcement.DEAD_LETTERED, error="POST https://hooks.example.com/services/T0/B0/secret")
    assert "secret" not in json.dumps(bus.calls)


def test_without_a_bus_nobody_is_told() -> None:
    telemetry, log = telemetry_over(None)
    with telemetry.invocation("r1"):
        telemetry.announce(Announcement.HELD, channel="ops")
    assert log.getvalue() == ""
