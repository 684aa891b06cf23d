"""How functions are run here: what they can import, how much they can answer, that nothing is left behind."""

import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.local import runtime_api
from infra.local.processes import ROOT, aws_environment
from infra.local.runtime_api import LARGEST_ANSWER, RuntimeApi
from tests.runtime.functions import Functions
from tests.stack.scene import until

PROBE = Path(__file__).parent / "probe"
# Where Lambda's runtime and its emulator come as wheels.
EXPECTED = sys.platform == "linux" and platform.machine() in {"x86_64", "aarch64"}
LOOPBACK = "0100007F"
LISTENING = "0A"
STARTER = """
import sys, time
from pathlib import Path
from infra.local.runtime_api import RuntimeApi
with RuntimeApi(Path(sys.argv[1]), "Probe", {}) as probe:
    print(*probe.invoke({}).value, flush=True)
    time.sleep(600)
"""


@pytest.fixture(scope="module")
def probe(packages: Path) -> Iterator[RuntimeApi]:
    """The probe, running."""
    shutil.copytree(PROBE, packages / "Probe")
    with RuntimeApi(packages, "Probe", {}) as running:
        yield running


@pytest.mark.skipif(not EXPECTED, reason="Lambda's runtime and its emulator are there for two kinds of Linux")
def test_functions_can_be_run_here_as_lambda_runs_them() -> None:
    assert runtime_api.missing() is None


def test_a_function_finds_the_layer_and_nothing_of_the_projects_environment(probe: RuntimeApi) -> None:
    assert not probe.invoke({"module": "redeliver.settings"}).failed
    for module in ("pytest", "moto", "tests.builders"):
        assert probe.invoke({"module": module}).value["errorType"] == "ModuleNotFoundError"


def test_a_package_that_is_missing_from_the_layer_is_named(packages: Path, tmp_path: Path) -> None:
    layer = tmp_path / "CommonLayer" / "python"
    layer.mkdir(parents=True)
    for entry in (packages / "CommonLayer" / "python").iterdir():
        if entry.name != "requests":
            (layer / entry.name).symlink_to(entry)
    for folder in ("SendFunction", "Runtime"):
        (tmp_path / folder).symlink_to(packages / folder)
    with RuntimeApi(tmp_path, "SendFunction", {}) as send:
        error = send.invoke({}).value
    assert error["errorType"] == "Runtime.ImportModuleError"
    assert "No module named 'requests'" in error["errorMessage"]


def test_an_answer_may_be_as_large_as_lambda_takes_and_no_larger(probe: RuntimeApi) -> None:
    quotes = 2
    assert len(probe.invoke({"letters": LARGEST_ANSWER - quotes}).body) == LARGEST_ANSWER
    refused = probe.invoke({"letters": LARGEST_ANSWER - quotes + 1})
    assert refused.value["errorType"] == "Function.ResponseSizeTooLarge"
    assert not probe.invoke({}).failed


def test_only_this_machine_can_call_it(functions: Functions, probe: RuntimeApi) -> None:
    _, emulator = probe.invoke({}).value
    sockets = {str(entry.readlink()) for entry in Path(f"/proc/{emulator}/fd").iterdir()}
    rows = [line.split() for kind in ("tcp", "tcp6") for line in Path(f"/proc/net/{kind}").read_text().splitlines()[1:]]
    ours = [row[1].partition(":")[0] for row in rows if row[3] == LISTENING and f"socket:[{row[9]}]" in sockets]
    assert ours == [LOOPBACK, LOOPBACK]


def test_nothing_runs_on_when_it_is_over(packages: Path, probe: RuntimeApi) -> None:
    with RuntimeApi(packages, "Probe", {}) as short_lived:
        processes = short_lived.invoke({}).value
        assert all(map(_alive, processes))
    assert not any(map(_alive, processes))


def test_nothing_runs_on_when_its_starter_was_killed(packages: Path, probe: RuntimeApi) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STARTER, str(packages)],
        cwd=ROOT,
        env=aws_environment(),
        stdout=subprocess.PIPE,
        text=True,
    ) as starter:
        assert starter.stdout is not None
        processes = [int(process) for process in starter.stdout.readline().split()]
        assert all(map(_alive, processes))
        starter.kill()
    until(lambda: not any(map(_alive, processes)))


def _alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"  # has ended, and waits for whoever inherited it to notice
