"""The history page in the templates: its place on the dashboard, and what it may do."""

import re
from typing import Any

from tests.test_template import OBSERVABILITY, RESOURCES, dashboard


def test_the_dashboard_has_the_page_and_its_function() -> None:
    (widget,) = [each for each in dashboard()["widgets"] if each["type"] == "custom"]
    assert widget["properties"]["updateOn"] == {"refresh": True, "resize": False, "timeRange": False}
    body: str = OBSERVABILITY["Resources"]["Dashboard"]["Properties"]["DashboardBody"]["Sub"]
    assert re.findall(r'"endpoint": "\$\{(\w+)\}"', body) == ["HistoryFunctionArn"]
    given = RESOURCES["Observability"]["Properties"]["Parameters"]["HistoryFunctionArn"]
    assert given == {"GetAtt": "HistoryFunction.Arn"}


def test_the_page_may_read_and_redrive_and_nothing_else() -> None:
    (policy,) = RESOURCES["HistoryRole"]["Properties"]["Policies"]
    allowed: dict[str, list[Any]] = {}
    for statement in policy["PolicyDocument"]["Statement"]:
        actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
        resources = statement["Resource"] if isinstance(statement["Resource"], list) else [statement["Resource"]]
        for action in actions:
            allowed.setdefault(action, []).extend(next(iter(each.values())) for each in resources)
    table = "NotificationsTable.Arn"
    indexes = [f"${{{table}}}/index/due", f"${{{table}}}/index/dead_letters"]
    assert allowed == {
        "logs:CreateLogStream": ["HistoryLogGroup.Arn"],
        "logs:PutLogEvents": ["HistoryLogGroup.Arn"],
        "dynamodb:Query": [table, *indexes],
        "dynamodb:GetItem": [table, "FindingsTable.Arn"],
        "dynamodb:BatchGetItem": [table],
        "dynamodb:UpdateItem": [table],
        "dynamodb:Scan": ["ChannelsTable.Arn"],
    }
