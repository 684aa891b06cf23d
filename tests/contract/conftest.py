"""Both stores, for every test that takes one: the fake is held to what the real one promises."""

from collections.abc import Iterator

import pytest

from tests.stores import BOTH, Store


@pytest.fixture(params=sorted(BOTH))
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    with BOTH[request.param]() as opened:
        yield opened
