import io
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest
from aws_lambda_powertools import Logger

from redeliver.telemetry import EmfTelemetry

SECRET = "https://hooks.example.com/services/T0/B0/secret"


@pytest.fixture
def log() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def telemetry(log: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> EmfTelemetry:
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "redeliver-test")
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "redeliver")
    return EmfTelemetry(Logger(service=f"test-{uuid4()}", stream=log))  # loggers are kept by their service


def blobs(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def metrics(blob: dict[str, Any]) -> list[dict[str, str]]:
    (directive,) = blob["_aws"]["CloudWatchMetrics"]
    found: list[dict[str, str]] = directive["Metrics"]
    return found


def test_counts_add_up_to_one_blob_per_dimension_set(
    telemetry: EmfTelemetry, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(3):
        telemetry.count("notifications.sent", {"channel": "ops", "kind": "cve"})
    telemetry.count("notifications.sent", {"kind": "cve", "channel": "ops"}, 4)
    telemetry.count("notifications.failed", {"channel": "ops", "reason": "transient"})
    telemetry.count("notifications.invalid")
    telemetry.gauge("notifications.pending", 5)
    telemetry.gauge("notifications.pending", 0)
    telemetry.flush()
    written = {tuple(sorted(blob["_aws"]["CloudWatchMetrics"][0]["Dimensions"][0])): blob for blob in blobs(capsys)}
    assert set(written) == {("channel", "kind", "service"), ("channel", "reason", "service"), ("service",)}
    assert written["channel", "kind", "service"]["notifications.sent"] == [7]
    assert written["channel", "kind", "service"]["service"] == "redeliver-test"
    plain = written[("service",)]
    assert (plain["notifications.invalid"], plain["notifications.pending"]) == ([1], [0])


def test_units(telemetry: EmfTelemetry, capsys: pytest.CaptureFixture[str]) -> None:
    telemetry.gauge("notifications.oldest_due_seconds", 5)
    telemetry.gauge("channels.held", 1)
    telemetry.flush()
    (blob,) = blobs(capsys)
    assert {metric["Name"]: metric["Unit"] for metric in metrics(blob)} == {
        "notifications.oldest_due_seconds": "Seconds",
        "channels.held": "Count",
    }


def test_a_flush_empties_and_an_empty_one_writes_nothing(
    telemetry: EmfTelemetry, capsys: pytest.CaptureFixture[str]
) -> None:
    telemetry.flush()
    assert not blobs(capsys)
    telemetry.count("notifications.invalid")
    telemetry.flush()
    telemetry.flush()
    assert len(blobs(capsys)) == 1


@pytest.mark.parametrize(("number", "sizes"), [(99, [99]), (100, [99, 1]), (250, [99, 99, 52])])
def test_no_blob_has_more_metrics_than_cloudwatch_reads(
    telemetry: EmfTelemetry, capsys: pytest.CaptureFixture[str], number: int, sizes: list[int]
) -> None:
    for n in range(number):
        telemetry.gauge(f"g{n}", n)
    telemetry.flush()
    assert [len(metrics(blob)) for blob in blobs(capsys)] == sizes


def test_many_threads_lose_nothing(telemetry: EmfTelemetry, capsys: pytest.CaptureFixture[str]) -> None:
    def count() -> None:
        for _ in range(500):
            telemetry.count("notifications.invalid")

    with ThreadPoolExecutor(8) as pool:
        for _ in range(8):
            pool.submit(count)
    telemetry.flush()
    assert blobs(capsys)[0]["notifications.invalid"] == [4000]


@pytest.mark.parametrize("level", ["log", "warn"])
def test_lines_are_redacted_wherever_the_text_is(telemetry: EmfTelemetry, log: io.StringIO, level: str) -> None:
    getattr(telemetry, level)(
        "item_failed", error=f"POST {SECRET}", deep={"list": [SECRET, {"a": (SECRET,)}]}, count=5, none=None
    )
    text = log.getvalue()
    line = json.loads(text)
    assert line["level"] == ("INFO" if level == "log" else "WARNING")
    assert (line["message"], line["count"]) == ("item_failed", 5)
    assert "secret" not in text
    assert "hooks.example.com/***" in line["error"]
    assert line["deep"]["list"][1]["a"] == ["https://hooks.example.com/***"]


def test_a_line_says_what_a_record_is_by_names_that_the_logger_does_not_use_itself(
    telemetry: EmfTelemetry, log: io.StringIO
) -> None:
    telemetry.warn(
        "notification_dead_lettered", channel="ops", kind="cve", subject="s", attempt_count=5, reason="r", error="e"
    )
    line = json.loads(log.getvalue())
    assert (line["channel"], line["kind"], line["subject"], line["attempt_count"]) == ("ops", "cve", "s", 5)


def test_what_was_counted_is_written_also_when_the_invocation_fails(
    telemetry: EmfTelemetry, log: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        with telemetry.invocation("request-1"):
            telemetry.count("notifications.invalid")
            telemetry.log("on_its_way")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert blobs(capsys)[0]["notifications.invalid"] == [1]
    assert json.loads(log.getvalue())["request_id"] == "request-1"
