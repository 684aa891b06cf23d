"""The `send` function: takes notifications in, from a call or from the queue, and tries them at once."""

import os
from dataclasses import dataclass
from functools import cache
from typing import Any

from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from redeliver import intake, settings, wiring
from redeliver.accept import Accept
from redeliver.ports import Unavailable
from redeliver.queue import SqsDeadLetterQueue
from redeliver.telemetry import EmfTelemetry


@dataclass(frozen=True, slots=True)
class Send:
    """What an invocation needs."""

    accept: Accept
    refused: SqsDeadLetterQueue
    telemetry: EmfTelemetry


@cache
def wired() -> Send:
    """Return the use case over the real adapters, made once per container."""
    environment = settings.read(os.environ)
    kit = wiring.outfit(environment, concurrency=1)
    accept = Accept(
        ledger=kit.notifications,
        channels=kit.channels,
        states=kit.states,
        deliver=kit.deliver,
        telemetry=kit.telemetry,
        clock=wiring.now,
    )
    url = wiring.required(environment.dead_letter_queue_url, "SEND_DEAD_LETTER_QUEUE_URL")
    return Send(accept, SqsDeadLetterQueue(url), kit.telemetry)


def handler(event: dict[str, Any], context: wiring.LambdaContext) -> dict[str, Any]:
    """Answer a call with its results, a batch of the queue with what has to go back to it."""
    send, deadline, behind = wired(), wiring.InvocationDeadline(context), 0

    def one(record: SQSRecord) -> None:
        nonlocal behind
        behind -= 1
        try:
            intake.message(send.accept, record.body, send.refused, intake.Reserved(deadline, behind))
        except Unavailable as error:
            send.telemetry.warn("message_returned", message_id=record.message_id, error=str(error))
            raise

    with send.telemetry.invocation(context.aws_request_id):
        if not _from_queue(event):
            return intake.direct(send.accept, event, send.refused, deadline)
        behind = len(event["Records"])
        # A processor of its own per invocation: it keeps state. All messages failing is an answer, not an error.
        processor = BatchProcessor(EventType.SQS, raise_on_entire_batch_failure=False)
        return dict(process_partial_response(event, one, processor))


def _from_queue(event: object) -> bool:
    records = event.get("Records") if isinstance(event, dict) else None
    # SQS sends no empty batch: what has no records is no batch, and is refused by name.
    return (
        isinstance(records, list)
        and records != []
        and all(isinstance(r, dict) and r.get("eventSource") == "aws:sqs" for r in records)
    )
