"""What is asked for in a run: channels, notifications and their ways in, all from a seed."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

Key = tuple[str, str]

ALERTS, REPORTS, BROKEN, QUIET, LEFT = "alerts", "reports", "broken", "quiet", "left"
DOCUMENTS: Mapping[str, Mapping[str, object]] = {
    ALERTS: {},
    REPORTS: {"mode": "digest", "digest_seconds": 3},
    BROKEN: {},  # its endpoint fails for the first part of a run
    QUIET: {},  # half of what it is asked for is to be suppressed
    LEFT: {},  # none of its recipients exists any more
}
_SHARES = {ALERTS: 45, REPORTS: 25, BROKEN: 15, QUIET: 10, LEFT: 5}


class Way(StrEnum):
    """How a notification is asked for."""

    DIRECT = "direct"
    QUEUE = "queue"
    BUS = "bus"


_WAYS = {Way.DIRECT: 40, Way.QUEUE: 40, Way.BUS: 20}


@dataclass(frozen=True, slots=True)
class Ask:
    """One notification, and how often it is asked for in that way."""

    way: Way
    notification: Mapping[str, Any]
    times: int

    @property
    def key(self) -> Key:
        """Return the identity of the notification."""
        return self.notification["channel"], self.notification["dedup_key"]


def asks(seed: int, number: int, now: datetime) -> list[Ask]:
    """Return that many notifications, each with its way; every seventh or so is asked for more than once."""
    chance = random.Random(f"cast {seed}")
    return [_ask(chance, index, now) for index in range(number)]


def _ask(chance: random.Random, index: int, now: datetime) -> Ask:
    (channel,) = chance.choices(list(_SHARES), list(_SHARES.values()))
    (way,) = chance.choices(list(_WAYS), list(_WAYS.values()))
    (times,) = chance.choices([1, 2, 3], [86, 10, 4])
    notification = {
        "channel": channel,
        "dedup_key": f"n-{index:04}",
        "kind": chance.choice(["cve", "image_update", "price_drop"]),
        "subject": f"About n-{index:04}",
        "body": "x" * chance.randrange(400),
        **dict(_beside(chance, channel, now)),
    }
    return Ask(way, notification, times)


def _beside(chance: random.Random, channel: str, now: datetime) -> Iterator[tuple[str, object]]:
    if chance.random() < 0.1:
        yield "finding_id", f"CVE-{chance.randrange(50)}"
    if channel == REPORTS and chance.random() < 0.4:
        yield "recipient", chance.choice(["ann", "bob"])
    if channel == LEFT:
        yield "recipient", f"former-{chance.randrange(1000)}"
    if channel == QUIET and chance.random() < 0.5:
        yield "suppress", "muted"
    elif chance.random() < (0.4 if channel == BROKEN else 0.05):
        wait = chance.choice([-3600, 5, 15, 30, 3600])  # some are late already, some become so while they wait
        yield "deliver_by", (now.astimezone(UTC) + timedelta(seconds=wait)).isoformat(timespec="seconds")
