"""What the story does with the deployed stack: ask by every way in, sweep, wait for something to become true."""

import json
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from boto3.dynamodb.types import TypeDeserializer

from infra.local.demo.cast import PAGER, Request, Secrets, Way, documents
from infra.local.demo.evidence import Asked, Key, State, key_of
from infra.local.endpoint import Endpoint
from infra.local.stack import STAGE, FunctionFailedError, LocalStack

PATIENCE = 60.0  # seconds, for a machine that is slow or busy


class StalledError(Exception):
    """Something that was waited for did not come."""


def plain(item: Mapping[str, Any]) -> State:
    """Return an item of a table without its types."""
    read = TypeDeserializer().deserialize
    values = {name: read(value) for name, value in item.items()}
    return {name: value if isinstance(value, str | bool) else int(value) for name, value in values.items()}


def is_due(record: State, now: float) -> bool:
    """Tell whether a sweep would attempt a record; `ops-pager` has no document."""
    return record["channel"] != PAGER and bool(record.get("next_attempt_at", now + 1) <= now)


class Stage:
    """The stack and the endpoint, and a note of everything that was asked."""

    def __init__(self, stack: LocalStack, endpoint: Endpoint, own: Secrets) -> None:
        self.stack = stack
        self.endpoint = endpoint
        self.secrets = own
        self.asked: list[Asked] = []
        self.up_since: dict[str, float] = {}
        self.quiet_sweep_calls = 0
        # Made before any thread is: boto3 makes clients from one thread at a time only.
        self.clients = {name: stack.client(name) for name in ("dynamodb", "events", "lambda", "sqs", "ssm")}

    def write_documents(self) -> None:
        """Configure the channels, as an operator would."""
        for name, document in documents(self.secrets, self.endpoint.url()).items():
            self.clients["ssm"].put_parameter(
                Name=f"/redeliver/{STAGE}/channels/{name}", Value=json.dumps(document), Type="SecureString"
            )

    def warm_up(self) -> None:
        """Start the functions' processes together: a sweep with nothing due, and retention's daily run."""
        with ThreadPoolExecutor() as pool:
            for run in [pool.submit(self.invoke, f, {}) for f in ("RetrySweeperFunction", "RetentionFunction")]:
                run.result()
        self.quiet_sweep_calls = len(self.endpoint.requests())

    def invoke(self, function: str, payload: object) -> Any:
        """Call a function; from several threads, unlike `LocalStack.invoke`."""
        response = self.clients["lambda"].invoke(FunctionName=self.stack.outputs[function], Payload=json.dumps(payload))
        answer = json.loads(response["Payload"].read())
        if "FunctionError" in response:
            raise FunctionFailedError(f"{function}: {json.dumps(answer)}")
        return answer

    def ask(self, *requests: Request) -> list[str]:
        """Call `send` with notifications and return its results."""
        at = time.time()
        answers = self.invoke("SendFunction", {"notifications": requests})["results"]
        self.asked += [Asked(at, Way.DIRECT, *pair) for pair in zip(requests, answers, strict=True)]
        return [answer["result"] for answer in answers]

    def ask_at_once(self, request: Request, times: int) -> list[str]:
        """Call `send` with the same notification from as many threads at the same moment."""
        barrier = threading.Barrier(times)

        def one() -> list[str]:
            barrier.wait()
            return self.ask(request)

        with ThreadPoolExecutor(times) as pool:
            return [result for call in [pool.submit(one) for _ in range(times)] for result in call.result()]

    def enqueue(self, request: Request) -> None:
        """Put a notification into the queue."""
        self.clients["sqs"].send_message(QueueUrl=self.stack.outputs["SendQueue"], MessageBody=json.dumps(request))
        self.asked.append(Asked(time.time(), Way.QUEUE, request))

    def publish(self, request: Request) -> None:
        """Put a notification on the bus."""
        self._put_event("Notification Requested", request)
        self.asked.append(Asked(time.time(), Way.BUS, request))

    def ask_by(self, way: Way, request: Request) -> None:
        """Ask by the way that is named."""
        match way:
            case Way.DIRECT:
                self.ask(request)
            case Way.QUEUE:
                self.enqueue(request)
            case Way.BUS:
                self.publish(request)

    def finding(self, request: Request, status: str) -> None:
        """Tell the bus that the finding behind a notification has changed."""
        changed_at = datetime.now(UTC).isoformat()
        news = {"finding_id": request["finding_id"], "status": status, "changed_at": changed_at}
        self._put_event("Finding Status Changed", news)

    def _put_event(self, detail_type: str, detail: Request) -> None:
        entry = {
            "EventBusName": self.stack.outputs["NotificationBus"],
            "Source": "demo",
            "DetailType": detail_type,
            "Detail": json.dumps(detail),
        }
        self.clients["events"].put_events(Entries=[entry])

    def recover(self, path: str) -> None:
        """Let a webhook work again."""
        self.endpoint.script(path)
        self.up_since[path] = time.time()

    def redrive(self, request: Request) -> Any:
        """Ask the sweeper to send a dead letter again."""
        channel, dedup_key = key_of(request)
        return self.invoke(
            "RetrySweeperFunction", {"command": "redrive", "channel": channel, "dedup_keys": [dedup_key]}
        )

    def sweep(self) -> None:
        """Run the sweeper now."""
        self.invoke("RetrySweeperFunction", {})

    @cached_property
    def _pages(self) -> Any:
        return self.clients["dynamodb"].get_paginator("scan")

    def table(self) -> dict[Key, State]:
        """Return the records that are stored now."""
        name = self.stack.outputs["NotificationsTable"]
        pages = self._pages.paginate(TableName=name, ConsistentRead=True)
        records = [plain(item) for page in pages for item in page["Items"]]
        return {(record["channel"], record["dedup_key"]): record for record in records}

    def until(self, what: str, true: Callable[[Mapping[Key, State]], bool], *, sweeping: bool = False) -> None:
        """Look at the table until something is true, sweeping meanwhile whenever a record is due; or StalledError."""
        deadline = time.monotonic() + PATIENCE
        while not true(table := self.table()):
            if time.monotonic() > deadline:
                raise StalledError(f"waited {PATIENCE:.0f} seconds in vain until {what}")
            if sweeping and any(is_due(record, time.time()) for record in table.values()):
                self.sweep()
            else:
                time.sleep(0.1)
