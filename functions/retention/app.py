"""The `retention` function: news of findings, the daily healing run, and what TTL has removed."""

import os
from dataclasses import dataclass
from functools import cache
from typing import Any

from redeliver import settings, wiring
from redeliver.queue import SqsRequests
from redeliver.retain import InvalidFinding, Report, Retain
from redeliver.store.connection import connect
from redeliver.store.findings import DynamoFindingRecords, DynamoFindings
from redeliver.store.models import FindingModel, NotificationModel
from redeliver.store.notifications import DynamoNotifications
from redeliver.telemetry import EmfTelemetry

FINDING_CHANGED = "Finding Status Changed"
_SCHEDULED = "Scheduled Event"
_TTL = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}


class RetentionIncomplete(Exception):
    """Findings met an error; the run did all the others, and Lambda calls it again for these."""


@dataclass(frozen=True, slots=True)
class Retention:
    """What an invocation needs."""

    retain: Retain
    telemetry: EmfTelemetry


@cache
def wired() -> Retention:
    """Return the use case over the real adapters, made once per container."""
    environment = settings.read(os.environ)
    telemetry = wiring.telemetry_of(environment)
    notifications = connect(NotificationModel, environment.notifications_table)
    findings = connect(FindingModel, wiring.required(environment.findings_table, "FINDINGS_TABLE"))
    retain = Retain(
        ledger=DynamoNotifications(notifications),
        findings=DynamoFindings(findings),
        records=DynamoFindingRecords(notifications, findings),
        requests=SqsRequests(wiring.required(environment.send_queue_url, "SEND_QUEUE_URL")),
        telemetry=telemetry,
        clock=wiring.now,
        retention=environment.policy.retention,
    )
    return Retention(retain, telemetry)


def handler(event: dict[str, Any], context: wiring.LambdaContext) -> dict[str, Any]:
    """Answer a finding's news, the daily schedule, or a batch of the table's stream with the run's counts.

    Raises RetentionIncomplete when the daily run is over.
    """
    retention = wired()
    with retention.telemetry.invocation(context.aws_request_id):
        report = _run(retention.retain, event, context)
    if report.failed_items:
        raise RetentionIncomplete(
            f"{report.failed_items} findings met an error; see finding_failed in the log: {report}"
        )
    return report.as_json()


def _run(retain: Retain, event: dict[str, Any], context: wiring.LambdaContext) -> Report:
    deadline = wiring.InvocationDeadline(context)
    if "Records" in event:
        return retain.removed(_forgotten(event["Records"]))
    if event.get("detail-type") == FINDING_CHANGED:
        return retain.news(event.get("detail"), deadline)
    _refuse_what_is_no_schedule(event)
    return retain.heal(deadline)


def _refuse_what_is_no_schedule(event: dict[str, Any]) -> None:
    """Raise InvalidFinding for what may be news: a run that answers with its counts would be all that comes of it."""
    kind = event.get("detail-type", _SCHEDULED)
    if kind != _SCHEDULED:
        raise InvalidFinding(f"detail-type: must be {FINDING_CHANGED!r} or {_SCHEDULED!r}; got {str(kind)[:80]!r}")
    for field in ("finding_id", "status", "changed_at"):
        if field in event:
            raise InvalidFinding(f"{field!r}: unknown; news of a finding is the detail of an event {FINDING_CHANGED!r}")


def _forgotten(records: list[dict[str, Any]]) -> list[str]:
    """Return the channels of what TTL, and nobody else, removed."""
    if not all("dynamodb" in record for record in records):
        raise InvalidFinding("Records: not of the table's stream; news of a finding comes by the bus")
    return [
        record["dynamodb"]["Keys"]["channel"]["S"]
        for record in records
        if record.get("eventName") == "REMOVE" and record.get("userIdentity") == _TTL
    ]
