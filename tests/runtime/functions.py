"""The built functions under Lambda's Runtime API, with AWS's stand-in behind them."""

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from infra.local.runtime_api import RuntimeApi
from infra.local.stack import STAGE, FunctionFailedError, LocalStack
from tests.stores import tables
from tests.test_template import RESOURCES, TEMPLATE

QUEUES = ("SendQueue", "SendDeadLetterQueue")
BUS = "NotificationBus"


class Functions(LocalStack):
    """A stack as the template describes it, whose functions are run by Lambda's own runtime instead of the stack's.

    Tables, queues and bus are made one by one, in a second. A deployment to the same stand-in, which tests/stack has,
    would add a good part of the time that this folder takes; moto's server would do too, but needs packages more.
    """

    def __init__(self, packages: Path, parameters: dict[str, str]) -> None:
        super().__init__(parameters)
        self._packages = packages
        self._running: dict[str, RuntimeApi] = {}
        self._functions = contextlib.ExitStack()

    def __exit__(self, *exception: object) -> None:
        self._functions.close()
        super().__exit__(*exception)

    def start(self, function: str, changes: Mapping[str, str | None] | None = None, *, seconds: int = 60) -> RuntimeApi:
        """Return a function of its own, not yet started; None takes a variable of the template away."""
        variables = {**self._variables(function), **(changes or {})}
        given = {name: value for name, value in variables.items() if value is not None}
        return RuntimeApi(self._packages, function, given, seconds=seconds)

    def running(self, function: str) -> RuntimeApi:
        """Return the function that the tests share, started when it is first asked for."""
        if function not in self._running:
            self._running[function] = self._functions.enter_context(self.start(function))
        return self._running[function]

    def invoke(self, function: str, payload: object) -> Any:
        """Call the shared function and return its answer; raise FunctionFailedError if it came to none."""
        answer = self.running(function).invoke(payload)
        if answer.failed:
            raise FunctionFailedError(f"{function}: {answer.body.decode()}")
        return answer.value

    def _deploy(self) -> dict[str, str]:
        for name, properties in tables().items():
            self.client("dynamodb").create_table(TableName=name, **properties)
        queues = {name: self.client("sqs").create_queue(QueueName=name)["QueueUrl"] for name in QUEUES}
        self.client("events").create_event_bus(Name=BUS)
        return {name: name for name in (*tables(), BUS)} | queues

    def _variables(self, function: str) -> dict[str, str]:
        common = TEMPLATE["Globals"]["Function"]["Environment"]["Variables"]
        own = RESOURCES[function]["Properties"]["Environment"]["Variables"]
        return {name: self._resolved(value) for name, value in (common | own).items()}

    def _resolved(self, value: object) -> str:
        """Return a value of the template as CloudFormation makes it, as far as variables need that."""
        given = {"Stage": STAGE, "EndpointUrl": self.endpoint_url, **self._parameters, **self.outputs}
        match value:
            case {"Ref": str(name)}:
                return str(given.get(name) or TEMPLATE["Parameters"][name]["Default"])
            case {"Sub": str(text)}:
                return text.replace("${Stage}", given["Stage"])
            case {"If": ["HasEndpointUrl", then, _]}:
                return self._resolved(then)
        return str(value)
