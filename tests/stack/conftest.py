"""One deployed stack for all tests in this folder."""

import logging
from collections.abc import Iterator

import pytest

from infra.local.endpoint import Endpoint
from infra.local.stack import LocalStack
from tests.stack.scene import Scene, new_channel

# No schedule fires by itself: a test that wants a sweep asks for one. Waits are short, so that a test can sit them out.
PARAMETERS = {
    "SweepSchedule": "rate(30 days)",
    "RetentionSchedule": "rate(30 days)",
    "RetryBaseDelaySeconds": "1",
    "RetryMaxDelaySeconds": "1",
    "NotConfiguredRecheckSeconds": "1",
}


@pytest.fixture(scope="session")
def stack() -> Iterator[LocalStack]:
    """The template as deployed with the functions' roles enforced; shared, so tests use channels of their own."""
    logging.getLogger("infra.local").setLevel(logging.INFO)
    with LocalStack(PARAMETERS, auth=True) as deployed:
        yield deployed


@pytest.fixture(scope="session")
def endpoint() -> Iterator[Endpoint]:
    """The endpoint behind all channels; each channel has a path of its own."""
    with Endpoint() as serving:
        yield serving


@pytest.fixture
def scene(stack: LocalStack, endpoint: Endpoint) -> Scene:
    """A channel that no other test uses."""
    return new_channel(stack, endpoint)
