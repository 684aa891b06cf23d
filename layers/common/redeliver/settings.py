"""The environment, read once at the edge into a frozen object (SPEC 9, 12)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from redeliver.core.policy import Policy

Number = TypeVar("Number", int, float)


class InvalidSetting(ValueError):
    """A variable is missing or wrong; the message names it and says what is allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the environment says. A function that does not use a table has None for its name."""

    stage: str
    notifications_table: str
    channels_table: str | None
    findings_table: str | None
    send_queue_url: str | None
    notification_bus: str | None
    dead_letter_queue_url: str | None
    channels_file: str | None
    policy: Policy
    sweep_max_records: int
    sweep_concurrency: int
    not_configured_recheck: timedelta


def read(environment: Mapping[str, str]) -> Settings:
    """Return the settings; raises InvalidSetting naming the first variable that is wrong."""
    variables = _Variables(environment)
    table = variables.text("NOTIFICATIONS_TABLE")
    if table is None:
        raise InvalidSetting("NOTIFICATIONS_TABLE: is required: the name of the table of notifications")
    recheck = variables.whole("NOT_CONFIGURED_RECHECK_SECONDS", 900, 1, 86400)
    return Settings(
        stage=variables.text("STAGE") or "dev",
        notifications_table=table,
        channels_table=variables.text("CHANNELS_TABLE"),
        findings_table=variables.text("FINDINGS_TABLE"),
        notification_bus=variables.text("NOTIFICATION_BUS"),
        send_queue_url=variables.text("SEND_QUEUE_URL"),
        dead_letter_queue_url=variables.text("SEND_DEAD_LETTER_QUEUE_URL"),
        channels_file=variables.text("CHANNELS_FILE"),
        policy=_policy(variables),
        sweep_max_records=variables.whole("SWEEP_MAX_RECORDS", 500, 1, 10_000),
        sweep_concurrency=variables.whole("SWEEP_CONCURRENCY", 32, 1, 256),
        not_configured_recheck=timedelta(seconds=recheck),
    )


def _policy(variables: "_Variables") -> Policy:
    base = variables.whole("RETRY_BASE_DELAY_SECONDS", 300, 0, 86400)
    cap = variables.whole("RETRY_MAX_DELAY_SECONDS", 86400, 1, 30 * 86400)
    if base > cap:
        raise InvalidSetting(f"RETRY_BASE_DELAY_SECONDS: must not exceed RETRY_MAX_DELAY_SECONDS ({cap}); got {base}")
    return Policy(
        base_delay=timedelta(seconds=base),
        max_delay=timedelta(seconds=cap),
        jitter=variables.number("RETRY_JITTER", 0, 0, 1),
        max_attempts=variables.whole("MAX_DELIVERY_ATTEMPTS", 5, 1, 100),
        retention=timedelta(days=variables.number("RETENTION_DAYS", 90, 0, 3650)),
    )


@dataclass(frozen=True, slots=True)
class _Variables:
    """The environment's variables; blank is as good as absent."""

    environment: Mapping[str, str]

    def text(self, name: str) -> str | None:
        return self.environment.get(name, "").strip() or None

    def whole(self, name: str, default: int, least: int, most: int) -> int:
        return self._within(name, default, least, most, int, "a whole number")

    def number(self, name: str, default: float, least: float, most: float) -> float:
        return self._within(name, default, least, most, float, "a number")

    def _within(
        self, name: str, default: Number, least: float, most: float, kind: Callable[[str], Number], what: str
    ) -> Number:
        given = self.text(name)
        if given is None:
            return default
        try:
            value = kind(given)
            if least <= value <= most:
                return value
        except ValueError:
            pass
        raise InvalidSetting(f"{name}: must be {what} from {least} to {most}; got {given!r}")
