"""One built function under Lambda's own Runtime API, without a container.

SAM's emulator of that API starts the runtime that Lambda runs Python functions with:

    with unpacked() as packages, RuntimeApi(packages, "SendFunction", {"NOTIFICATIONS_TABLE": ...}) as send:
        send.invoke({"channel": ...}).value
"""

import contextlib
import importlib.metadata
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

from infra.local.build import ARCHITECTURE, BUILD, RUNTIME, built
from infra.local.processes import CREDENTIALS, REGION, ROOT, CommandFailedError, end_group, free_port

LARGEST_ANSWER = 6 * 1024 * 1024 + 100  # bytes
READY_WITHIN_SECONDS = 10
GONE_WITHIN_SECONDS = 10
INVOCATIONS = "/2015-03-31/functions/function/invocations"
# What Lambda's image has beside the interpreter; none of it is in the layer.
RUNTIME_CLIENT = ("awslambdaric", "simplejson", "snapshot-restore-py")
# The emulator ends the runtime with itself when it is told to, which its starter may not live to do.
KEEPER = '"$@" & cat; kill $!; wait'


def missing() -> str | None:
    """Why functions cannot be run this way on this machine; None if they can."""
    if not sys.platform.startswith("linux"):
        return f"the emulator of Lambda's Runtime API is a program for Linux; this is {sys.platform}"
    if _emulator() is None:
        return f"aws-sam-cli has no emulator of Lambda's Runtime API for {ARCHITECTURE}"
    try:
        importlib.metadata.distribution("awslambdaric")
    except importlib.metadata.PackageNotFoundError:
        return "awslambdaric, Lambda's runtime for Python, is not installed"
    return None


def _emulator() -> Path | None:
    packages = ROOT / ".tools" / "sam" / "lib"
    return next(packages.glob(f"python3.*/site-packages/samcli/local/rapid/aws-lambda-rie-{ARCHITECTURE}"), None)


@contextlib.contextmanager
def unpacked() -> Iterator[Path]:
    """A folder with the built functions and the built layer, each by its logical id, and the runtime in `Runtime`.

    Apart from the build, gone afterwards: another build must not change what runs, and modules are compiled here.
    """
    # In the build's file system: links are made in no time, and outlive the files they are of.
    with tempfile.TemporaryDirectory(prefix="runtime-", dir=BUILD.parent) as folder:
        with built() as template:
            shutil.copytree(template.parent, folder, copy_function=os.link, dirs_exist_ok=True)
        for file in (file for name in RUNTIME_CLIENT for file in importlib.metadata.files(name) or []):
            if ".." not in file.parts:  # as scripts are
                target = Path(folder, "Runtime", file)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(str(file.locate()), target)
        yield Path(folder)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back from one invocation, byte by byte as Lambda hands it on."""

    body: bytes

    @property
    def timed_out(self) -> bool:
        """Whether the invocation's time was over; the emulator says that in the words of Lambda's log."""
        return self.body.startswith(b"Task timed out")

    @property
    def value(self) -> Any:
        """The function's answer, or its error as Lambda tells it: `errorType`, `errorMessage` and more."""
        return json.loads(self.body)

    @property
    def failed(self) -> bool:
        """Whether the function did not come to an answer."""
        return self.timed_out or (isinstance(self.value, dict) and "errorType" in self.value)


class RuntimeApi:
    """A function, named by its logical id, as Lambda runs it; takes one invocation at a time.

    On its path are the function, the layer and the runtime, and nothing of the project's environment. `variables` is
    all that its environment holds beside what Lambda itself puts there; `seconds` is its time-out.
    """

    def __init__(self, packages: Path, function: str, variables: Mapping[str, str], *, seconds: int = 60) -> None:
        self._task = packages / function
        self._path = (self._task, packages / "CommonLayer" / "python", packages / "Runtime")
        self._variables = dict(variables)
        self._seconds = seconds
        self._port = free_port()
        self._cleanup = contextlib.ExitStack()
        self._log: IO[str]

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as unfinished:
            # Appending: reading it must not move the place where the function writes on.
            self._log = unfinished.enter_context(tempfile.TemporaryFile("a+"))
            unfinished.callback(_end, self._started())
            self._wait_until_ready()
            self._cleanup = unfinished.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        self._cleanup.close()

    def invoke(self, event: object) -> Answer:
        """Call the function and return whatever came back."""
        request = urllib.request.Request(f"http://127.0.0.1:{self._port}{INVOCATIONS}", json.dumps(event).encode())
        # Not through a proxy that the environment may name.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=self._seconds + 10) as response:
                return Answer(response.read())
        except urllib.error.HTTPError as error:  # the runtime ended before it answered
            with error:
                return Answer(error.read())

    def log(self) -> str:
        """Everything that the function and Lambda have logged so far."""
        self._log.seek(0)
        return self._log.read()

    def _started(self) -> subprocess.Popen[str]:
        command = [
            str(_emulator()), "--log-level", "warning",
            # It would listen on every interface otherwise.
            "--runtime-interface-emulator-address", f"127.0.0.1:{self._port}",
            "--runtime-api-address", f"127.0.0.1:{free_port()}",
            # Without the packages that are installed for this interpreter.
            sys.executable, "-S", "-s", "-m", "awslambdaric", "app.handler",
        ]  # fmt: skip
        return subprocess.Popen(
            ["sh", "-c", KEEPER, "sh", *command],
            cwd=self._task,
            env=self._environment(),
            text=True,
            # Ctrl-C is for the starter, who then closes the input.
            process_group=0,
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": os.defpath,
            "PYTHONPATH": os.pathsep.join(map(str, self._path)),
            "TZ": ":UTC",
            "LAMBDA_TASK_ROOT": str(self._task),
            "_HANDLER": "app.handler",
            "AWS_EXECUTION_ENV": f"AWS_Lambda_{RUNTIME}",
            "AWS_LAMBDA_FUNCTION_NAME": self._task.name,
            "AWS_LAMBDA_FUNCTION_TIMEOUT": str(self._seconds),
            "AWS_ACCESS_KEY_ID": CREDENTIALS["aws_access_key_id"],
            "AWS_SECRET_ACCESS_KEY": CREDENTIALS["aws_secret_access_key"],
            "AWS_DEFAULT_REGION": REGION,
            "AWS_REGION": REGION,
            # There are none in Lambda, but there may be on this machine.
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            **self._variables,
        }

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + READY_WITHIN_SECONDS
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self._port), timeout=1).close()
                return
            time.sleep(0.02)
        raise CommandFailedError(f"the emulator of Lambda's Runtime API did not start:\n{self.log()}")


def _end(keeper: subprocess.Popen[str]) -> None:
    try:
        keeper.communicate(timeout=GONE_WITHIN_SECONDS)  # which closes its input
    except subprocess.TimeoutExpired:
        end_group(keeper)
