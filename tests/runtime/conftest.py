"""One stand-in for AWS and one set of unpacked functions for all tests in this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.local import runtime_api
from infra.local.endpoint import Endpoint
from tests.runtime.functions import Functions
from tests.stack.scene import Scene, new_channel

# Short waits, so that a test can sit them out.
PARAMETERS = {"RetryBaseDelaySeconds": "1", "RetryMaxDelaySeconds": "1"}


@pytest.fixture(scope="session")
def packages() -> Iterator[Path]:
    """What `sam build` made; skips where Lambda's runtime does not run, as on a Mac."""
    if reason := runtime_api.missing():
        pytest.skip(reason)
    with runtime_api.unpacked() as folder:
        yield folder


@pytest.fixture(scope="session")
def functions(packages: Path) -> Iterator[Functions]:
    """The functions; shared, so tests use channels of their own."""
    with Functions(packages, PARAMETERS) as running:
        yield running


@pytest.fixture(scope="session")
def endpoint() -> Iterator[Endpoint]:
    """The endpoint behind all channels; each channel has a path of its own."""
    with Endpoint() as serving:
        yield serving


@pytest.fixture
def scene(functions: Functions, endpoint: Endpoint) -> Scene:
    """A channel that no other test uses."""
    return new_channel(functions, endpoint)
