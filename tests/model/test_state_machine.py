"""Every arrow, time, faults, deaths, old readings and concurrent actors, in any order, against the store.

What must hold is checked at every attempt and after every step; in the end the weather clears and everything ends.
"""

from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from redeliver.core.notification import Key
from tests.model.findings import Findings
from tests.stores import Store, dynamo


class Machine(Findings):
    """Over the store in memory."""


class DynamoMachine(Findings):
    """Over the pynamodb store on moto. Its indexes do not lag."""

    def open_store(self) -> Store:
        return self.opened.enter_context(dynamo())

    def forget(self, key: Key) -> None:
        keys = {"channel": {"S": key.channel}, "dedup_key": {"S": key.dedup_key}}
        self.store.client.delete_item(TableName="NotificationsTable", Key=keys)


CHECKS = [HealthCheck.too_slow, HealthCheck.filter_too_much]
ALIKE: dict[str, Any] = {"deadline": None, "derandomize": True, "database": None, "suppress_health_check": CHECKS}
Machine.TestCase.settings = settings(max_examples=250, stateful_step_count=50, **ALIKE)
DynamoMachine.TestCase.settings = settings(max_examples=8, stateful_step_count=40, **ALIKE)
TestOverMemory = pytest.mark.filterwarnings("error")(Machine.TestCase)
TestOverDynamo = pytest.mark.filterwarnings("error")(DynamoMachine.TestCase)
