"""What the functions share when they put the use cases and the adapters together."""

import random
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

from aws_lambda_powertools import Logger

from redeliver.bus import EventBridgeBus
from redeliver.channels.attempt import Attempts
from redeliver.channels.directory import Directory
from redeliver.channels.sources import File, ParameterStore
from redeliver.channels.transport import Transport
from redeliver.deliver import Deliver
from redeliver.settings import InvalidSetting, Settings
from redeliver.store.channels import DynamoChannelStates
from redeliver.store.connection import connect
from redeliver.store.models import ChannelModel, NotificationModel
from redeliver.store.notifications import DynamoNotifications
from redeliver.telemetry import EmfTelemetry


class LambdaContext(Protocol):
    """What we use of Lambda's context."""

    aws_request_id: str

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds until Lambda ends the invocation."""


@dataclass(frozen=True, slots=True)
class InvocationDeadline:
    """The deadline of one invocation: port Deadline."""

    context: LambdaContext

    def left(self) -> timedelta:
        """Return the time that is left."""
        return timedelta(milliseconds=self.context.get_remaining_time_in_millis())


@dataclass(frozen=True, slots=True)
class Outfit:
    """What every function that delivers needs."""

    settings: Settings
    notifications: DynamoNotifications
    states: DynamoChannelStates
    channels: Directory
    deliver: Deliver
    telemetry: EmfTelemetry


def now() -> datetime:
    """Return the present: the one clock of the functions."""
    return datetime.now(UTC)


def outfit(settings: Settings, *, concurrency: int) -> Outfit:
    """Return the adapters for that many threads, and the use case `deliver` over them."""
    telemetry = telemetry_of(settings)
    notifications = DynamoNotifications(connect(NotificationModel, settings.notifications_table, threads=concurrency))
    deliver = Deliver(
        ledger=notifications,
        telemetry=telemetry,
        policy=settings.policy,
        clock=now,
        chance=random.random,
        pause=time.sleep,
    )
    states = DynamoChannelStates(connect(ChannelModel, required(settings.channels_table, "CHANNELS_TABLE")))
    source = File(Path(settings.channels_file)) if settings.channels_file else ParameterStore(settings.stage)
    attempts = Attempts(Transport(concurrency), clock=now, addresses=states)
    channels = Directory(source, attempts, settings.not_configured_recheck)
    return Outfit(settings, notifications, states, channels, deliver, telemetry)


def telemetry_of(settings: Settings) -> EmfTelemetry:
    """Return the telemetry of a function; its log lines say what happened, not which line of ours wrote them."""
    bus = EventBridgeBus(settings.notification_bus) if settings.notification_bus else None
    return EmfTelemetry(Logger(location=None), bus)


def required(value: str | None, name: str) -> str:
    """Return a setting that this function cannot do without; raises InvalidSetting."""
    if value is None:
        raise InvalidSetting(f"{name}: is required")
    return value
