"""A stack without functions that run: tables, outputs and settings as the command line looks for them."""

import io
import json
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import boto3

from infra.local.emulator import ministack
from infra.local.processes import CREDENTIALS, REGION, aws_environment
from tests.stores import tables

STACK = "redeliver-bare"
_SWEEPER = "bare-sweeper"
_OUTPUTS = {name: name for name in ("NotificationsTable", "ChannelsTable", "FindingsTable")}
_SETTINGS = {"NOTIFICATIONS_TABLE": "NotificationsTable", "CHANNELS_TABLE": "ChannelsTable", "STAGE": "bare"}


@dataclass(frozen=True)
class BareStack:
    """Where it is, and a client of its tables."""

    endpoint_url: str
    client: Any

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment in which the command line finds it."""
        return aws_environment(self.endpoint_url) | {"REDELIVER_STACK": STACK}


@contextmanager
def bare_stack() -> Iterator[BareStack]:
    """Give one of its own while the block lasts."""
    with ministack() as address:
        session = boto3.Session(region_name=REGION, **CREDENTIALS)  # type: ignore[arg-type]
        client: Any = session.client("dynamodb", endpoint_url=address)
        for name, properties in tables().items():
            client.create_table(TableName=name, **properties)
        session.client("lambda", endpoint_url=address).create_function(
            FunctionName=_SWEEPER,
            Runtime="python3.13",
            Handler="app.handler",
            Role="arn:aws:iam::000000000000:role/none",
            Code={"ZipFile": _nothing()},
            Environment={"Variables": _SETTINGS},
        )
        outputs = _OUTPUTS | {"RetrySweeperFunction": _SWEEPER}
        template = {
            "Resources": {"Mark": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": "bare"}}},
            "Outputs": {name: {"Value": value} for name, value in outputs.items()},
        }
        stacks = session.client("cloudformation", endpoint_url=address)
        stacks.create_stack(StackName=STACK, TemplateBody=json.dumps(template))
        stacks.get_waiter("stack_create_complete").wait(StackName=STACK, WaiterConfig={"Delay": 1})
        yield BareStack(address, client)


def _nothing() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("app.py", "")
    return packed.getvalue()
