"""Collects the evidence: the table and its stream, the endpoint, the dead-letter queue, the logs, CloudWatch."""

import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from infra.local.demo import cast
from infra.local.demo.evidence import Call, Evidence, History, Key, Metric, State
from infra.local.demo.stage import Stage, plain
from infra.local.stack import LOG_GROUPS, LocalStack

NAMESPACE = "redeliver"
FORGOTTEN: Metric = ("notifications.forgotten", ())
GAUGES = ("notifications.pending", "notifications.dead_letters", "notifications.oldest_due_seconds", "channels.held")
# The stream's batching window is five seconds.
PATIENCE = 20.0


def collect(stage: Stage, problem: str | None) -> Evidence:
    """Return all that can be known; waits for the metric of what TTL removed, which comes through the stream."""
    found = histories(stage)
    return Evidence(
        secrets=stage.secrets,
        asked=tuple(stage.asked),
        histories=found,
        metrics=_metrics_with(stage.stack, sum(history.forgotten for history in found.values())),
        calls=tuple(Call(r.at, r.path, r.headers, r.body) for r in stage.endpoint.requests()),
        messages={chat: tuple(texts) for chat, texts in stage.endpoint.telegram.messages.items()},
        posts={
            cast.SLACK: tuple(stage.endpoint.slack.texts(stage.secrets.slack_path)),
            cast.DISCORD: tuple(stage.endpoint.discord.texts(cast.DISCORD_WEBHOOK)),
        },
        up_since=dict(stage.up_since),
        refused=tuple(_refused(stage)),
        logs=tuple(line for function in LOG_GROUPS for line in stage.stack.logs(function)),
        quiet_sweep_calls=stage.quiet_sweep_calls,
        problem=problem,
    )


def histories(stage: Stage) -> dict[Key, History]:
    """Return every state of every record: the stream holds the old images, the table the present ones."""
    # The table first: what changes in between is then in the stream.
    states: dict[Key, list[State]] = {}
    table, removed = stage.table(), set()
    for record in _stream(stage.stack):
        old, keys = record["dynamodb"].get("OldImage"), plain(record["dynamodb"]["Keys"])
        key = keys["channel"], keys["dedup_key"]
        if old is not None:
            states.setdefault(key, []).append(plain(old))
        # Only what TTL removes carries an identity; the demo itself removes nothing.
        if record["eventName"] == "REMOVE" and "userIdentity" in record:
            removed.add(key)
    for key, present in table.items():
        if key not in removed:
            states.setdefault(key, []).append(present)
    return {key: History(tuple(each), key in removed) for key, each in states.items()}


def _stream(stack: LocalStack) -> Iterator[Mapping[str, Any]]:
    client = stack.client("dynamodbstreams")
    [stream] = client.list_streams(TableName=stack.outputs["NotificationsTable"])["Streams"]
    arn = stream["StreamArn"]
    for shard in client.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
        position = client.get_shard_iterator(StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON")[
            "ShardIterator"
        ]
        while position:
            page = client.get_records(ShardIterator=position)
            yield from page["Records"]
            # An open shard has no end: an empty page is where it is now.
            position = page.get("NextShardIterator") if page["Records"] else None


def _refused(stage: Stage) -> Iterator[tuple[str, str]]:
    """Yield the messages in the dead-letter queue with their reasons, and leave them there."""
    answer = stage.clients["sqs"].receive_message(
        QueueUrl=stage.stack.outputs["SendDeadLetterQueue"],
        MaxNumberOfMessages=10, MessageAttributeNames=["All"], VisibilityTimeout=0, WaitTimeSeconds=1,
    )  # fmt: skip
    for message in answer.get("Messages", []):
        yield message["Body"], message.get("MessageAttributes", {}).get("reason", {}).get("StringValue", "")


def _metrics_with(stack: LocalStack, forgotten: int) -> dict[Metric, float]:
    deadline = time.monotonic() + PATIENCE
    while (found := metrics(stack)).get(FORGOTTEN, 0) < forgotten and time.monotonic() < deadline:
        time.sleep(0.2)
    return found


def metrics(stack: LocalStack) -> dict[Metric, float]:
    """Return the sums of the counters and the maxima of the gauges in CloudWatch."""
    client, now = stack.client("cloudwatch"), datetime.now(UTC)
    pages = client.get_paginator("list_metrics").paginate(Namespace=NAMESPACE)
    listed = [metric for page in pages for metric in page["Metrics"]]
    if not listed:
        return {}
    answer = client.get_metric_data(
        StartTime=now - timedelta(hours=1),
        EndTime=now + timedelta(minutes=1),
        MetricDataQueries=[
            {"Id": f"m{i}", "MetricStat": {"Metric": metric, "Period": 3600, "Stat": _statistic(metric)}}
            for i, metric in enumerate(listed)
        ],
    )
    values = {each["Id"]: each["Values"] for each in answer["MetricDataResults"]}
    return {_name(metric): _whole(metric, values[f"m{i}"]) for i, metric in enumerate(listed)}


def _statistic(metric: Mapping[str, Any]) -> str:
    return "Maximum" if metric["MetricName"] in GAUGES else "Sum"


def _whole(metric: Mapping[str, Any], values: list[float]) -> float:
    return max(values) if metric["MetricName"] in GAUGES else sum(values)


def _name(metric: Mapping[str, Any]) -> Metric:
    own = sorted((each["Name"], each["Value"]) for each in metric["Dimensions"] if each["Name"] != "service")
    return metric["MetricName"], tuple(value for _, value in own)
