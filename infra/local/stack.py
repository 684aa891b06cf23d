"""The template, deployed with SAM to AWS's stand-in on this machine, for as long as a `with` block lasts.

with LocalStack({"SweepSchedule": "rate(1 minute)"}) as stack:
    stack.invoke("SendFunction", {"channel": ...})
"""

import contextlib
import json
import logging
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import boto3
from botocore.config import Config

from infra.local.build import SAM, built, platform_parameters
from infra.local.emulator import ministack
from infra.local.processes import CREDENTIALS, REGION, aws_environment, run, termination_as_interrupt

STACK = "redeliver-local"
BUCKET = "redeliver-local-artifacts"
STAGE = "local"
LOG_GROUPS = {
    "SendFunction": "send",
    "RetrySweeperFunction": "retry_sweeper",
    "RetentionFunction": "retention",
    "HistoryFunction": "history",
}

logger = logging.getLogger(__name__)


class FunctionFailedError(Exception):
    """A function raised; the message is the error it answered with."""


class LocalStack:
    """A deployed stack of its own: own port, own processes, own temporary folder, all gone afterwards.

    `parameters` are template parameters; `auth` makes the stack enforce the functions' IAM roles; with `state`, a
    folder, it goes on where the last one with that folder ended. Several may run at once. `outputs` holds the stack's
    outputs and `endpoint_url` its address.
    """

    def __init__(
        self, parameters: Mapping[str, str] | None = None, *, auth: bool = False, state: Path | None = None
    ) -> None:
        self._parameters = dict(parameters or {})
        self._auth = auth
        self._state = state
        self._cleanup = contextlib.ExitStack()
        self._session = boto3.Session(region_name=REGION, **CREDENTIALS)  # type: ignore[arg-type]
        self._clients: dict[str, Any] = {}
        self._making = threading.Lock()
        self.endpoint_url = ""
        self.outputs: dict[str, str] = {}

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as unfinished:
            unfinished.enter_context(termination_as_interrupt())
            self.endpoint_url = unfinished.enter_context(ministack(auth=self._auth, state=self._state))
            self.outputs = self._deploy()
            self._cleanup = unfinished.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        self._cleanup.close()

    def client(self, service: str) -> Any:
        """A boto3 client of the stack with all permissions."""
        with self._making:  # a session makes clients for one thread at a time; a client serves all threads
            if service not in self._clients:
                config = Config(retries={"total_max_attempts": 2}, read_timeout=90, proxies={}, max_pool_connections=64)
                self._clients[service] = self._session.client(service, endpoint_url=self.endpoint_url, config=config)  # type: ignore[call-overload]
            return self._clients[service]

    def invoke(self, function: str, payload: object) -> Any:
        """Call a function, named by its output, and return its answer; raise FunctionFailedError if it raised."""
        response = self.client("lambda").invoke(FunctionName=self.outputs[function], Payload=json.dumps(payload))
        answer = json.loads(response["Payload"].read() or b"null")
        if "FunctionError" in response:
            raise FunctionFailedError(f"{function}: {json.dumps(answer)}")
        return answer

    def logs(self, function: str) -> list[str]:
        """Every line a function, named by its output, has logged so far, oldest first."""
        pages = self.client("logs").get_paginator("filter_log_events")
        group = f"/redeliver/{self._parameters.get('Stage', STAGE)}/{LOG_GROUPS[function]}"
        return [event["message"] for page in pages.paginate(logGroupName=group) for event in page["events"]]

    def _deploy(self) -> dict[str, str]:
        parameters = {
            "Stage": STAGE, "EndpointUrl": self.endpoint_url, **platform_parameters(), **self._parameters,
        }  # fmt: skip
        s3 = self.client("s3")
        with contextlib.suppress(s3.exceptions.BucketAlreadyOwnedByYou):
            s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
        with built() as template:
            logger.info("deploying the template")
            run(
                [
                    SAM, "deploy", "--template-file", str(template), "--stack-name", STACK, "--s3-bucket", BUCKET,
                    "--capabilities", "CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND",
                    "--no-confirm-changeset", "--no-progressbar", "--no-fail-on-empty-changeset",
                    "--parameter-overrides", *(f'{name}="{value}"' for name, value in parameters.items()),
                ],
                aws_environment(self.endpoint_url),
            )  # fmt: skip
        [stack] = self.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"]
        return {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}
