"""What talks to AWS for the command line, over moto: the metric, the documents, a deployed stack's name."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from redeliver.ports import NotConfigured, Unavailable
from redeliver_cli.cloudwatch import CloudWatchDeliveries
from redeliver_cli.deployed import FileDocuments, ParameterDocuments

SENT = "notifications.sent"
NOW = datetime.now(UTC).replace(second=30, microsecond=0)


@pytest.fixture
def cloudwatch() -> Iterator[Any]:
    with mock_aws():
        yield boto3.client("cloudwatch")


def datum(value: float, minutes_ago: float, name: str = SENT, **dimensions: str) -> dict[str, Any]:
    return {
        "MetricName": name,
        "Value": value,
        "Timestamp": NOW - timedelta(minutes=minutes_ago),
        "Dimensions": [{"Name": key, "Value": text} for key, text in dimensions.items()],
    }


def put(client: Any, value: float, minutes_ago: float, name: str = SENT, **dimensions: str) -> None:
    client.put_metric_data(Namespace="redeliver", MetricData=[datum(value, minutes_ago, name, **dimensions)])


def test_what_was_sent_in_the_last_hour_is_summed_over_kinds(cloudwatch: Any) -> None:
    ours = {"service": "redeliver-dev", "channel": "ops"}
    for value, minutes_ago, kind in ((5, 1, "cve"), (7, 40, "cve"), (100, 70, "cve"), (11, 2, "price_drop")):
        put(cloudwatch, value, minutes_ago, kind=kind, **ours)
    put(cloudwatch, 1000, 1, kind="cve", service="redeliver-prod", channel="ops")
    put(cloudwatch, 1000, 1, service="redeliver-dev")
    put(cloudwatch, 1000, 1, name="notifications.failed", kind="cve", **ours)
    put(cloudwatch, 3, 1, kind="cve", service="redeliver-dev", channel="chat")
    deliveries = CloudWatchDeliveries(cloudwatch, "redeliver-dev")
    assert deliveries.in_the_last_hour("ops", NOW) == 23
    assert deliveries.in_the_last_hour("chat", NOW) == 3
    assert deliveries.in_the_last_hour("silent", NOW) == 0


def test_a_later_look_sees_what_is_new(cloudwatch: Any) -> None:
    deliveries = CloudWatchDeliveries(cloudwatch, "redeliver-dev")
    assert deliveries.in_the_last_hour("ops", NOW) == 0
    put(cloudwatch, 5, 1, service="redeliver-dev", channel="ops", kind="cve")
    assert deliveries.in_the_last_hour("ops", NOW) == 0
    assert deliveries.in_the_last_hour("ops", NOW + timedelta(seconds=1)) == 5


def test_more_kinds_than_one_call_takes_are_all_counted(cloudwatch: Any) -> None:
    ours = {"service": "redeliver-dev", "channel": "ops"}
    data = [datum(1, 1, kind=f"k{number}", **ours) for number in range(501)]
    cloudwatch.put_metric_data(Namespace="redeliver", MetricData=data)
    assert CloudWatchDeliveries(cloudwatch, "redeliver-dev").in_the_last_hour("ops", NOW) == 501


def test_the_documents_of_a_stage_are_named_and_read() -> None:
    with mock_aws():
        client = boto3.client("ssm")
        for name in [f"ops-{number:02}" for number in range(25)]:
            client.put_parameter(Name=f"/redeliver/dev/channels/{name}", Value='{"type": "x"}', Type="SecureString")
        client.put_parameter(Name="/redeliver/prod/channels/other", Value="{}", Type="SecureString")
        documents = ParameterDocuments("dev", client)
        assert documents.names() == [f"ops-{number:02}" for number in range(25)]  # SSM gives ten at a time
        assert documents.fetch("ops-03") == {"type": "x"}
        assert isinstance(documents.fetch("none"), NotConfigured)


def test_the_documents_of_a_file_are_named_and_read(tmp_path: Path) -> None:
    file = tmp_path / "channels.json"
    documents = FileDocuments(file)
    with pytest.raises(Unavailable, match="cannot be read here"):
        documents.names()
    file.write_text(json.dumps({"b": {"type": "x"}, "a": {}}), encoding="utf-8-sig")  # as Windows writes it
    assert documents.names() == ["a", "b"]
    assert documents.fetch("b") == {"type": "x"}
    file.write_text("[]")
    assert documents.names() == []
