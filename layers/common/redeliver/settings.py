"""The environment, read once at the edge into a frozen object (SPEC 9, 12)."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from redeliver.core.lifecycle import Policy


class InvalidSetting(ValueError):
    """A variable is missing or wrong; the message names it and says what is allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the environment says. A function that does not use a table has None for its name."""

    stage: str
    notifications_table: str
    channels_table: str | None
    findings_table: str | None
    dead_letter_queue_url: str | None
    channels_file: str | None
    policy: Policy
    sweep_max_records: int
    sweep_concurrency: int
    not_configured_recheck: timedelta


def read(environment: Mapping[str, str]) -> Settings:
    """Return the settings; raises InvalidSetting naming the first variable that is wrong."""

    def text(name: str) -> str | None:
        return environment.get(name, "").strip() or None

    def number(name: str, default: float, least: float, most: float, kind: Callable[[str], float] = int) -> float:
        given = text(name)
        try:
            value = default if given is None else kind(given)
        except ValueError:
            value = math.nan
        if not least <= value <= most:
            what = "a whole number" if kind is int else "a number"
            raise InvalidSetting(f"{name}: must be {what} from {least} to {most}; got {given!r}")
        return value

    table = text("NOTIFICATIONS_TABLE")
    if table is None:
        raise InvalidSetting("NOTIFICATIONS_TABLE: is required: the name of the table of notifications")
    base = number("RETRY_BASE_DELAY_SECONDS", 300, 0, 86400)
    cap = number("RETRY_MAX_DELAY_SECONDS", 86400, 1, 30 * 86400)
    if base > cap:
        raise InvalidSetting(f"RETRY_BASE_DELAY_SECONDS: must not exceed RETRY_MAX_DELAY_SECONDS ({cap}); got {base}")
    return Settings(
        stage=text("STAGE") or "dev",
        notifications_table=table,
        channels_table=text("CHANNELS_TABLE"),
        findings_table=text("FINDINGS_TABLE"),
        dead_letter_queue_url=text("SEND_DEAD_LETTER_QUEUE_URL"),
        channels_file=text("CHANNELS_FILE"),
        policy=Policy(
            base_delay=timedelta(seconds=base),
            max_delay=timedelta(seconds=cap),
            jitter=number("RETRY_JITTER", 0, 0, 1, float),
            max_attempts=int(number("MAX_DELIVERY_ATTEMPTS", 5, 1, 100)),
            retention=timedelta(days=number("RETENTION_DAYS", 90, 0, 3650, float)),
        ),
        sweep_max_records=int(number("SWEEP_MAX_RECORDS", 500, 1, 10_000)),
        sweep_concurrency=int(number("SWEEP_CONCURRENCY", 32, 1, 256)),
        not_configured_recheck=timedelta(seconds=number("NOT_CONFIGURED_RECHECK_SECONDS", 900, 1, 86400)),
    )
