"""The `history` function: the page of the records, as a custom widget of the CloudWatch dashboard."""

import os
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

from redeliver import settings, wiring
from redeliver.operator.desk import Desk
from redeliver.page.widget import Widget
from redeliver.store.archive import DynamoRegister
from redeliver.store.channels import DynamoChannelStates
from redeliver.store.connection import connect
from redeliver.store.models import ChannelModel, FindingModel, NotificationModel
from redeliver.store.notifications import DynamoNotifications
from redeliver.store.timeline import DynamoTimeline
from redeliver.telemetry import EmfTelemetry


class WidgetContext(wiring.LambdaContext, Protocol):
    """What we use of Lambda's context."""

    invoked_function_arn: str


@dataclass(frozen=True, slots=True)
class History:
    """What an invocation needs."""

    widget: Widget
    telemetry: EmfTelemetry


@cache
def wired() -> History:
    """Return the page over the real adapters, made once per container."""
    environment = settings.read(os.environ)
    telemetry = wiring.telemetry_of(environment)
    notifications = connect(NotificationModel, environment.notifications_table)
    ledger = DynamoNotifications(notifications)
    channels = connect(ChannelModel, wiring.required(environment.channels_table, "CHANNELS_TABLE"))
    findings = connect(FindingModel, wiring.required(environment.findings_table, "FINDINGS_TABLE"))
    desk = Desk(
        ledger=ledger,
        lanes=ledger,
        timeline=DynamoTimeline(notifications),
        states=DynamoChannelStates(channels),
        register=DynamoRegister(findings),
        telemetry=telemetry,
        policy=environment.policy,
        clock=wiring.now,
    )
    return History(Widget(desk), telemetry)


def handler(event: dict[str, Any], context: WidgetContext) -> str:
    """Answer CloudWatch with the widget's HTML, or with its description."""
    history = wired()
    with history.telemetry.invocation(context.aws_request_id):
        return history.widget(event, context.invoked_function_arn)
