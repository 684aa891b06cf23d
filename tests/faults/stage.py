"""The deployed stack, a fault proxy between its functions and the store, and another in front of the endpoint."""

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from boto3.dynamodb.types import TypeDeserializer

from infra.local.endpoint import Endpoint, Step
from infra.local.faults.plan import Fault, FaultPlan
from infra.local.faults.proxy import FaultProxy
from infra.local.faults.service import DYNAMODB, HOOK
from infra.local.stack import STAGE, LocalStack
from tests.faults.account import MOST_ATTEMPTS
from tests.faults.cast import BROKEN, DOCUMENTS, LEFT, Key

TIMEOUT = 18  # seconds, of the functions: a lease outlives it by 5, and has to be sat out
VISIBILITY = 20  # seconds until the messages of a batch that died are handed out again
STORE_HANGS, HOOK_HANGS = 3.5, 10.5  # seconds: longer than the functions wait for an answer
FUNCTIONS = ("SendFunction", "RetrySweeperFunction")
PARAMETERS = {
    "SweepSchedule": "rate(30 days)",
    "RetentionSchedule": "rate(30 days)",
    "RetryBaseDelaySeconds": "1",
    "RetryMaxDelaySeconds": "4",
    "MaxDeliveryAttempts": str(MOST_ATTEMPTS),
    "NotConfiguredRecheckSeconds": "1",
}
STORE_RATES = {
    Fault.DELAY: 0.04,
    Fault.LOST: 0.015,
    Fault.RESET: 0.015,
    Fault.ERROR: 0.01,
    Fault.DONE_ERROR: 0.005,
    Fault.THROTTLE: 0.02,
    Fault.HANG: 0.002,
}
STORE_OUTAGE = {Fault.RESET: 0.5, Fault.LOST: 0.02, Fault.THROTTLE: 0.28, Fault.ERROR: 0.2}
HOOK_RATES = {
    Fault.DELAY: 0.10,
    Fault.LOST: 0.05,
    Fault.RESET: 0.05,
    Fault.ERROR: 0.08,
    Fault.THROTTLE: 0.015,
    Fault.HANG: 0.004,
}
# Where Linux keeps files in memory. Every process of a function unpacks the layer's thousands of files anew: on a slow
# disk that takes longer than all the rest.
MEMORY = Path("/dev/shm")
ROOM = 2 * 1024**3  # bytes: some dozen processes


class Stage:
    """All that a run takes place on; no fault happens before `begin`."""

    def __init__(self, seed: int) -> None:
        self.endpoint = Endpoint()
        self.hook = FaultProxy(FaultPlan(f"hook {seed}", {}), HOOK, hang=HOOK_HANGS, keep=True)
        self.store = FaultProxy(FaultPlan(f"store {seed}", {}), DYNAMODB, hang=STORE_HANGS)
        self.stack = LocalStack(PARAMETERS | {"EndpointUrl": self.store.url}, auth=True)
        self._cleanup = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as unfinished:
            unfinished.callback(setattr, tempfile, "tempdir", tempfile.tempdir)
            tempfile.tempdir = _folder_in_memory() or tempfile.tempdir
            for part in (self.endpoint, self.hook, self.store, self.stack):
                unfinished.enter_context(part)
            self.hook.target = self.endpoint.url()
            self.store.target = self.stack.endpoint_url
            self._configure()
            self._warm_up()
            self._cleanup = unfinished.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        self._cleanup.close()

    def _configure(self) -> None:
        """Write the channels' documents, and make what has to be sat out shorter than in the template."""
        for name, document in DOCUMENTS.items():
            usual = {"type": "webhook", "url": f"{self.hook.url}/{name}", "allow_private_network": True}
            self.stack.client("ssm").put_parameter(
                Name=f"/redeliver/{STAGE}/channels/{name}", Type="SecureString", Value=json.dumps({**usual, **document})
            )
        for function in FUNCTIONS:
            self.stack.client("lambda").update_function_configuration(
                FunctionName=self.stack.outputs[function], Timeout=TIMEOUT
            )
        self.stack.client("sqs").set_queue_attributes(
            QueueUrl=self.stack.outputs["SendQueue"], Attributes={"VisibilityTimeout": str(VISIBILITY)}
        )
        # Fewer processes at once than it would start by itself: a start is dear on the local stack.
        [source] = self.stack.client("lambda").list_event_source_mappings(
            FunctionName=self.stack.outputs["SendFunction"]
        )["EventSourceMappings"]
        self.stack.client("lambda").update_event_source_mapping(
            UUID=source["UUID"], ScalingConfig={"MaximumConcurrency": 2}
        )
        self.endpoint.script(f"/{BROKEN}", default=Step(503))
        self.endpoint.script(f"/{LEFT}", default=Step(410))

    def _warm_up(self) -> None:
        """Start the functions' processes, as many as will be at work at once."""
        calls: list[tuple[str, object]] = [("SendFunction", {"notifications": []})] * 4
        calls += [("RetrySweeperFunction", {})] * 2
        with ThreadPoolExecutor(len(calls)) as pool:
            for call in [pool.submit(self.stack.invoke, *each) for each in calls]:
                call.result()

    def requests(self) -> int:
        """Return how many requests to the store there have been."""
        return self.store.plan.met()[0]

    def begin(self) -> None:
        """Let the faults begin, or go on after an outage."""
        self.store.plan.rates, self.hook.plan.rates = STORE_RATES, HOOK_RATES

    def outage(self) -> None:
        """Let no request to the store succeed as far as its clients know."""
        self.store.plan.rates = STORE_OUTAGE

    def repair(self) -> None:
        """Let the endpoint of the broken channel work."""
        self.endpoint.unscript(f"/{BROKEN}")

    def end(self) -> None:
        """Let there be no more faults."""
        self.store.plan.rates, self.hook.plan.rates = {}, {}
        self.repair()

    def release(self) -> None:
        """End all holds, as an operator does."""
        for name in DOCUMENTS:
            self.stack.client("dynamodb").update_item(
                TableName=self.stack.outputs["ChannelsTable"],
                Key={"channel": {"S": name}},
                UpdateExpression="REMOVE hold_until, hold_reason, failures",
            )

    def records(self) -> Mapping[Key, Mapping[str, Any]]:
        """Return all that is stored, numbers as numbers."""
        read = TypeDeserializer().deserialize
        pages = self.stack.client("dynamodb").get_paginator("scan")
        found = {}
        for page in pages.paginate(TableName=self.stack.outputs["NotificationsTable"], ConsistentRead=True):
            for item in page["Items"]:
                record = {name: read(value) for name, value in item.items()}
                found[record["channel"], record["dedup_key"]] = record
        return found

    def queued(self) -> int:
        """Return how many messages are in the queue, those that a batch holds included."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        url = self.stack.outputs["SendQueue"]
        answer = self.stack.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=names)
        return sum(int(answer["Attributes"][name]) for name in names)

    def handed_back(self) -> set[Key]:
        """Return what the queue has given up."""
        found: set[Key] = set()
        url = self.stack.outputs["SendDeadLetterQueue"]
        receive = self.stack.client("sqs").receive_message
        while messages := receive(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
            bodies = [json.loads(message["Body"]) for message in messages]
            found |= {(body["channel"], body["dedup_key"]) for body in bodies}
        return found


def _folder_in_memory() -> str | None:
    roomy = MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= ROOM
    return str(MEMORY) if roomy else None
