"""A deployed stack, found by its outputs: the ports that the commands work with, over AWS."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config
from pynamodb.connection import TableConnection
from pynamodb.models import Model

from redeliver import settings
from redeliver.channels.sources import File, ParameterStore
from redeliver.core.json_text import decoded
from redeliver.ports import Unavailable
from redeliver.store.archive import DynamoArchive, DynamoRegister
from redeliver.store.channels import DynamoChannelStates
from redeliver.store.connection import connect
from redeliver.store.models import ChannelModel, FindingModel, NotificationModel
from redeliver.store.notifications import DynamoNotifications
from redeliver_cli.cloudwatch import CloudWatchDeliveries
from redeliver_cli.desk import Desk, Documents, Unreachable, Where

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_ssm import SSMClient

_QUICK = Config(connect_timeout=3, read_timeout=10, retries={"total_max_attempts": 3, "mode": "standard"})
# A function may take its minute, and what it did is not done again.
_PATIENT = Config(connect_timeout=3, read_timeout=75, retries={"total_max_attempts": 1})
_READ_SECONDS = 20  # of DynamoDB: a function has a deadline, a person has not
_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")


def opened(where: Where) -> Desk:
    """Return the desk of a stack; raises Unreachable, or what boto3 raises."""
    session = _session(where)
    outputs = _Outputs(where.stack, _outputs(session, where))
    functions = DeployedFunctions(session.client("lambda", config=_PATIENT), outputs)
    environment = functions.environment("RetrySweeperFunction")
    told = settings.read({**environment, "FINDINGS_TABLE": outputs["FindingsTable"]})
    notifications = _connected(NotificationModel, outputs["NotificationsTable"])
    states = DynamoChannelStates(_connected(ChannelModel, outputs["ChannelsTable"]))
    ledger = DynamoNotifications(notifications)
    return Desk(
        settings=told,
        ledger=ledger,
        lanes=ledger,
        archive=DynamoArchive(notifications),
        register=DynamoRegister(_connected(FindingModel, outputs["FindingsTable"])),
        states=states,
        holds=states,
        deliveries=CloudWatchDeliveries(session.client("cloudwatch", config=_QUICK), f"redeliver-{told.stage}"),
        documents=_documents(told, session),
        functions=functions,
    )


def _connected(model: type[Model], table: str) -> TableConnection:
    return connect(model, table, read_seconds=_READ_SECONDS)


def _session(where: Where) -> boto3.Session:
    """Return a session of the profile and region.

    pynamodb and the parameter store make clients of their own, and take region, endpoint and credentials from the
    environment: it is set for this process, so that all of them reach the same account.
    """
    if where.profile is not None:
        for name in _KEYS:  # keys in the environment would go before the profile
            os.environ.pop(name, None)
        os.environ["AWS_PROFILE"] = where.profile
    if where.endpoint_url is not None:
        os.environ["AWS_ENDPOINT_URL"] = where.endpoint_url
    session = boto3.Session(region_name=where.region)
    if session.region_name is None:
        raise Unreachable("no region is known: name it with --region, or in AWS_REGION")
    os.environ["AWS_REGION"] = os.environ["AWS_DEFAULT_REGION"] = session.region_name
    return session


def _outputs(session: boto3.Session, where: Where) -> Mapping[str, str]:
    client = session.client("cloudformation", config=_QUICK)
    [found] = client.describe_stacks(StackName=where.stack)["Stacks"]
    return {each["OutputKey"]: each["OutputValue"] for each in found.get("Outputs", [])}


class _Outputs:
    """The outputs of a stack; one that is missing is an answer of its own."""

    def __init__(self, stack: str, values: Mapping[str, str]) -> None:
        self._stack = stack
        self._values = values

    def __getitem__(self, name: str) -> str:
        if name not in self._values:
            raise Unreachable(
                f"stack {self._stack!r} has no output {name}: is it one of redeliver, and fully deployed?"
            )
        return self._values[name]


class DeployedFunctions:
    """The functions of a stack: port Functions."""

    def __init__(self, client: "LambdaClient", outputs: _Outputs) -> None:
        """Call nothing yet."""
        self._client = client
        self._outputs = outputs

    def environment(self, function: str) -> Mapping[str, str]:
        """Return the variables of a function."""
        answer = self._client.get_function_configuration(FunctionName=self._outputs[function])
        return answer.get("Environment", {}).get("Variables", {})

    def call(self, function: str, event: object) -> Any:
        """Return a function's answer; raises Unreachable with its error if it failed."""
        answer = self._client.invoke(FunctionName=self._outputs[function], Payload=json.dumps(event).encode())
        said = json.loads(answer["Payload"].read() or b"null")
        if "FunctionError" in answer:
            why = said.get("errorMessage", said) if isinstance(said, dict) else said
            raise Unreachable(f"{function} failed: {why}; see its log")
        return said


class ParameterDocuments(ParameterStore):
    """The documents in SSM: port Documents."""

    def __init__(self, stage: str, client: "SSMClient") -> None:
        """Read nothing yet."""
        super().__init__(stage, lambda: client)
        self._client_of_names = client
        self._folder = f"/redeliver/{stage}/channels/"

    def names(self) -> Sequence[str]:
        """Return the names of all documents; their values are not read."""
        pages = self._client_of_names.get_paginator("get_parameters_by_path").paginate(Path=self._folder)
        return sorted(each["Name"].removeprefix(self._folder) for page in pages for each in page["Parameters"])


class FileDocuments(File):
    """The documents in one local file: port Documents."""

    def __init__(self, path: Path) -> None:
        """Read nothing yet."""
        super().__init__(path)
        self._named = path

    def names(self) -> Sequence[str]:
        """Return the names of all documents."""
        try:
            documents = decoded(self._named.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            raise Unavailable(f"CHANNELS_FILE of the functions, {self._named}, cannot be read here") from None
        return sorted(documents) if isinstance(documents, dict) else []


def _documents(told: settings.Settings, session: boto3.Session) -> Documents:
    if told.channels_file:
        return FileDocuments(Path(told.channels_file))
    return ParameterDocuments(told.stage, session.client("ssm", config=_QUICK))
