"""Run ministack with five things AWS does and this release of it does not.

It runs in the stack's own environment and patches private names, so ministack is pinned exactly, and
tests/stack/test_local_stack.py fails when one of the first three stops working, test_entry_points.py without the
fourth, test_resolution.py without the last:

1. TTL and point-in-time recovery declared for a table in CloudFormation take effect;
2. what TTL removes leaves a REMOVE record in the table's stream, with the service's identity;
3. Embedded Metric Format lines in a function's log become metrics;
4. a queue's MaximumConcurrency that comes from a parameter, and so as text, is a number;
5. who may send a message to a queue may send a batch of them (SQS Developer Guide, "Amazon SQS batch actions").
"""

import json
import logging
import threading
import time
from collections.abc import Iterator
from typing import Any

from ministack import app
from ministack.core import iam_actions
from ministack.core.responses import request_scope
from ministack.services import cloudwatch, dynamodb, lambda_svc
from ministack.services.cloudformation import provisioners

REAPER = "redeliver-ttl-reaper"
MINISTACKS_REAPER = "dynamodb-ttl-reaper"
SERVICE = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}

logger = logging.getLogger("redeliver.wrapper")


def apply_table_settings() -> None:
    """Make CloudFormation's tables have the TTL and recovery settings of their template."""
    handlers = provisioners._RESOURCE_HANDLERS["AWS::DynamoDB::Table"]
    create = handlers["create"]

    def create_with_settings(logical_id: str, props: dict[str, Any], stack_name: str) -> Any:
        name, attributes = create(logical_id, props, stack_name)
        if ttl := props.get("TimeToLiveSpecification"):
            enabled = str(ttl.get("Enabled")).lower() == "true"
            dynamodb._update_ttl({"TableName": name, "TimeToLiveSpecification": {**ttl, "Enabled": enabled}})
        if recovery := props.get("PointInTimeRecoverySpecification"):
            enabled = str(recovery.get("PointInTimeRecoveryEnabled")).lower() == "true"
            specification = {"PointInTimeRecoveryEnabled": enabled}
            dynamodb._update_continuous_backups({"TableName": name, "PointInTimeRecoverySpecification": specification})
        return name, attributes

    handlers["create"] = create_with_settings


def read_concurrency_as_a_number() -> None:
    """Make CloudFormation's event sources have their MaximumConcurrency as a number: with text nothing is polled."""
    handlers = provisioners._RESOURCE_HANDLERS["AWS::Lambda::EventSourceMapping"]
    create, update = handlers["create"], handlers["update"]

    def with_number(props: dict[str, Any]) -> dict[str, Any]:
        scaling = {name: int(value) for name, value in props.get("ScalingConfig", {}).items()}
        return {**props, "ScalingConfig": scaling} if scaling else props

    handlers["create"] = lambda logical_id, props, stack: create(logical_id, with_number(props), stack)
    handlers["update"] = lambda id_, old, new, stack: update(id_, with_number(old), with_number(new), stack)


def authorize_batches_as_single_actions() -> None:
    """Let SQS's batch actions need the permission of their single ones: IAM knows none for them."""
    extract = iam_actions.extract_iam_action

    def extract_single(*args: Any) -> str | None:
        action: str | None = extract(*args)
        return action.removesuffix("Batch") if action is not None and action.startswith("sqs:") else action

    iam_actions.extract_iam_action = extract_single


def remove_expired_items(every_seconds: float) -> None:
    """Let TTL remove items, with a stream record each, in place of ministack's own reaper."""
    build_record, remove = dynamodb._build_change_record, dynamodb._remove_item

    def build_with_identity(*args: Any) -> dict[str, Any]:
        record: dict[str, Any] = build_record(*args)
        if threading.current_thread().name == REAPER:
            record["userIdentity"] = SERVICE
        return record

    def remove_unless_ministacks_reaper(*args: Any) -> Any:
        # Its reaper leaves no stream record; an item it took would vanish unseen.
        return None if threading.current_thread().name == MINISTACKS_REAPER else remove(*args)

    dynamodb._build_change_record = build_with_identity
    dynamodb._remove_item = remove_unless_ministacks_reaper
    threading.Thread(target=_reap_for_ever, args=(every_seconds,), name=REAPER, daemon=True).start()


def _reap_for_ever(every_seconds: float) -> None:
    while True:
        time.sleep(every_seconds)
        try:
            with dynamodb._lock:
                _reap_all(time.time())
        except Exception:
            logger.exception("TTL removed nothing this time")  # a thread that died would never say so


def _reap_all(now: float) -> None:
    for (account, region, name), setting in list(dynamodb._ttl_settings.all_items()):
        table = dynamodb._tables.get_scoped(account, region, name)
        if table and setting["TimeToLiveStatus"] == "ENABLED":
            with request_scope(account, region):
                _reap(name, table, setting["AttributeName"], now)


def _reap(name: str, table: dict[str, Any], attribute: str, now: float) -> None:
    # Not all of ministack's writes take its lock: whole copies, which no other thread can come between.
    for hash_key, items in list(table["items"].items()):
        for range_key, item in list(items.items()):
            # As DynamoDB: only numbers count, and a time more than five years ago is taken for a mistake.
            if now - 5 * 365 * 86400 < float(item.get(attribute, {}).get("N", "inf")) <= now:
                removed = dynamodb._remove_item(table, hash_key, range_key)
                dynamodb._emit_stream_event(name, "REMOVE", removed, None)


def turn_log_lines_into_metrics() -> None:
    """Record what a function logs in Embedded Metric Format as CloudWatch metrics."""
    emit_logs = lambda_svc._emit_lambda_logs

    def emit_logs_and_metrics(func: Any, request_id: str, log_text: str, *args: Any, **more: Any) -> None:
        emit_logs(func, request_id, log_text, *args, **more)
        for blob in _embedded_metrics(log_text or ""):
            _record(blob)

    lambda_svc._emit_lambda_logs = emit_logs_and_metrics


def _embedded_metrics(log_text: str) -> Iterator[dict[str, Any]]:
    for line in log_text.splitlines():
        if '"_aws"' in line:
            try:
                yield json.loads(line)
            except ValueError:
                logger.warning("not a metric blob: %s", line[:200])


def _record(blob: dict[str, Any]) -> None:
    for directive in blob["_aws"]["CloudWatchMetrics"]:
        for names in directive["Dimensions"]:
            dimensions = {name: str(blob[name]) for name in names}
            for metric in directive["Metrics"]:
                values = blob[metric["Name"]]
                for value in values if isinstance(values, list) else [values]:
                    unit = metric.get("Unit", "None")
                    cloudwatch.record_metric(directive["Namespace"], metric["Name"], value, unit, dimensions)


def main() -> None:
    """Patch, then serve."""
    apply_table_settings()
    read_concurrency_as_a_number()
    authorize_batches_as_single_actions()
    remove_expired_items(every_seconds=1)
    turn_log_lines_into_metrics()
    app.main()


if __name__ == "__main__":
    main()
