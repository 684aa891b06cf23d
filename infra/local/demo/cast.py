"""Who plays: the two model systems' notifications as data, their channels, and the delays of this demo."""

import base64
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

Request = Mapping[str, str]

BASE_DELAY = 1  # seconds after the first failed attempt, 2 after the second
MAX_ATTEMPTS = 3
RETENTION_DAYS = 0.0002
RETENTION_SECONDS = RETENTION_DAYS * 86400
# Longer than the ten seconds of one attempt: a shorter wait would be sat out inside the attempt.
TELEGRAM_WAIT = 10
PARAMETERS = {
    "RetryBaseDelaySeconds": str(BASE_DELAY),
    "MaxDeliveryAttempts": str(MAX_ATTEMPTS),
    "RetentionDays": str(RETENTION_DAYS),
    "NotConfiguredRecheckSeconds": "2",
    "SweepSchedule": "rate(1 minute)",
}

ADS, DIGEST, UPDATES, PAGER = "ads-telegram", "security-digest", "ops-updates", "ops-pager"
SLACK, DISCORD = "team-slack", "club-discord"
DISCORD_WEBHOOK = "1234567890"
DIGEST_PATH, UPDATES_PATH = "/hooks/security", "/hooks/updates"
REQUESTS_TO_FAIL_TWICE = 2 * 3  # one attempt tries three times


class Way(StrEnum):
    """A way into redeliver."""

    DIRECT = "direct call"
    QUEUE = "queue"
    BUS = "event bus"


@dataclass(frozen=True, slots=True)
class Secrets:
    """What must never be seen in a log, a record or an answer; made anew for each run."""

    bot_token: str
    digest_key: bytes
    updates_key: bytes
    updates_header: str
    slack_path: str
    discord_token: str

    @classmethod
    def fresh(cls) -> Self:
        """Return secrets nobody has seen."""
        token = f"{secrets.randbelow(10**9) + 10**9}:{secrets.token_urlsafe(26)}"
        keys = secrets.token_bytes(32), secrets.token_bytes(32)
        paths = f"T0DEMO/B0DEMO/{secrets.token_hex(12)}", secrets.token_hex(32)
        return cls(token, *keys, secrets.token_urlsafe(24), *paths)

    def spelled(self) -> tuple[str, ...]:
        """Return the texts to look for."""
        keys = (base64.b64encode(key).decode() for key in (self.digest_key, self.updates_key))
        return (self.bot_token, *keys, self.updates_header, self.slack_path, self.discord_token)

    def key_of(self, path: str) -> bytes:
        """Return the key by which a webhook's calls are signed."""
        return {DIGEST_PATH: self.digest_key, UPDATES_PATH: self.updates_key}[path]


def documents(own: Secrets, endpoint: str) -> dict[str, dict[str, Any]]:
    """Return the channel documents; `ops-pager` has none."""
    digest_key, updates_key = (f"whsec_{base64.b64encode(key).decode()}" for key in (own.digest_key, own.updates_key))
    local: dict[str, Any] = {"allow_private_network": True}
    return {
        ADS: {"type": "telegram", "bot_token": own.bot_token, "chat_id": "-1001500", "api_base": endpoint, **local},
        DIGEST: {"type": "webhook", "mode": "digest", "url": endpoint + DIGEST_PATH, "secret": digest_key, **local},
        UPDATES: {
            "type": "webhook",
            "url": endpoint + UPDATES_PATH,
            "secret": updates_key,
            "headers": {"Authorization": f"Bearer {own.updates_header}"},
            **local,
        },
        SLACK: {"type": "slack", "url": f"{endpoint}/services/{own.slack_path}", **local},
        DISCORD: {"type": "discord", "url": f"{endpoint}/api/webhooks/{DISCORD_WEBHOOK}/{own.discord_token}", **local},
    }


# ------------------------------------------------------------------ A, the price tracker

ANNA, BEN, CEM, DORA, EMIL = "412345601", "412345602", "412345603", "412345604", "412345605"
USERS = {
    ANNA: "Anna",
    BEN: "Ben, who has blocked the bot",
    CEM: "Cem, whom Telegram is rate limiting",
    DORA: "Dora, for whom Telegram fails twice",
    EMIL: "Emil",
}


def new_ad(chat: str, number: int, title: str, price: str) -> Request:
    """Return the news of an ad that has appeared."""
    text = f"{title}\n{price}\nhttps://ads.example/{number}"
    return _ad(chat, "new_ad", f"{number}:new", f"New: {title}", text)


def price_drop(chat: str, number: int, title: str, before: str, price: str) -> Request:
    """Return the news of a lower price; one per ad, chat and price it had before."""
    text = f"{title}\n{before} → {price}\nhttps://ads.example/{number}"
    return _ad(chat, "price_drop", f"{number}:{before.split()[0]}", f"Price drop: {title}", text)


def _ad(chat: str, kind: str, key: str, subject: str, body: str) -> Request:
    return {
        "channel": ADS,
        "dedup_key": f"{key}:{chat}",
        "kind": kind,
        "recipient": chat,
        "subject": subject,
        "body": body,
    }


FLAT = new_ad(ANNA, 81724311, "2 rooms, 58 m², balcony, Berlin-Neukölln", "890 € warm")
BLOCKED = new_ad(BEN, 81724311, "2 rooms, 58 m², balcony, Berlin-Neukölln", "890 € warm")
LIMITED = price_drop(CEM, 79550127, "Canyon Endurace CF 7, size M", "1450 €", "1290 €")
FAILING = price_drop(DORA, 80113942, "3 rooms, 81 m², Leipzig-Plagwitz", "1150 €", "1090 €")
# The seller lowers the price once more while the message waits: the source has changed, the event is the same.
FAILING_CHANGED = price_drop(DORA, 80113942, "3 rooms, 81 m², Leipzig-Plagwitz", "1150 €", "990 €")
BIKE = new_ad(EMIL, 81730098, "Diamant 885 touring bike, 1962, restored", "420 €")
ADS_OUT = (FLAT, BLOCKED, LIMITED, FAILING, BIKE)


# ------------------------------------------------------------------ B, the container-update guard


def cve(channel: str, number: str, image: str, text: str) -> Request:
    """Return the news of a vulnerability in an image; the finding behind it lasts until it is patched."""
    subject = f"{number} in {image}"
    return _found(channel, "cve", f"{number}:{image}", subject, text)


def image_update(channel: str, image: str, now: str, then: str, text: str) -> Request:
    """Return the news of a newer image."""
    return _found(channel, "image_update", f"{image}:{then}", f"{image}:{now} → {image}:{then}", text)


def _found(channel: str, kind: str, key: str, subject: str, body: str) -> Request:
    return {
        "channel": channel,
        "dedup_key": key,
        "kind": kind,
        "finding_id": f"{kind}/{key}",
        "subject": subject,
        "body": body,
    }


XZ = cve(DIGEST, "CVE-2024-3094", "debian:sid", "CVSS 10.0. Backdoor in xz-utils 5.6.0 and 5.6.1, March 2024.")
LOG4SHELL = cve(DIGEST, "CVE-2021-44228", "solr:8.11.0", "CVSS 10.0. Log4Shell: remote code by JNDI. Fixed in 8.11.1.")
HEARTBLEED = cve(DIGEST, "CVE-2014-0160", "proxy:1.4", "CVSS 7.5. Heartbleed: OpenSSL 1.0.1f. Fixed in 1.0.1g.")
POSTGRES = image_update(DIGEST, "postgres", "16.1", "16.2", "Fixes CVE-2024-0985.")
REDIS = image_update(DIGEST, "redis", "7.2.3", "7.2.4", "Fixes CVE-2023-41056.")
RAPID_RESET = cve(DIGEST, "CVE-2023-44487", "nginx:1.25.2", "CVSS 7.5. HTTP/2 rapid reset. Mitigated in 1.25.3.")
NGINX = image_update(UPDATES, "nginx", "1.25.3", "1.25.4", "Fixes CVE-2024-24989 and CVE-2024-24990.")
PAGED = cve(PAGER, "CVE-2024-3094", "debian:sid", "CVSS 10.0. Backdoor in xz-utils: wake somebody up.")
TRAEFIK = image_update(SLACK, "traefik", "2.10.6", "2.10.7", "Fixes CVE-2023-47633. @channel <!everyone> & all.")
CURL = cve(DISCORD, "CVE-2023-38545", "curl:8.3.0", "CVSS 9.8. SOCKS5 heap overflow. @everyone: **update** to 8.4.0.")
INVALID = {**cve(DIGEST, "CVE-2019-5736", "runc:1.0-rc6", "CVSS 8.6. Container escape."), "kind": "CVE!"}

FIRST_DIGEST = ((XZ, Way.DIRECT), (LOG4SHELL, Way.DIRECT), (HEARTBLEED, Way.QUEUE), (POSTGRES, Way.BUS))
JOINING = ((REDIS, Way.BUS), (RAPID_RESET, Way.DIRECT))
DIGESTED = tuple(request for request, _ in (*FIRST_DIGEST, *JOINING))
ELSEWHERE = (TRAEFIK, CURL)
EXPECTED = (*ADS_OUT, *DIGESTED, NGINX, PAGED, *ELSEWHERE)
