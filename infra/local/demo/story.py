"""What happens, in order. It asks and waits, and judges nothing: that is for `promises`."""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from infra.local.demo import cast
from infra.local.demo.cast import Request
from infra.local.demo.evidence import Key, State, key_of
from infra.local.demo.stage import Stage, is_due
from infra.local.endpoint import Endpoint, Step
from infra.local.telegram import Answer, Telegram

logger = logging.getLogger(__name__)

say = logger.info


@dataclass
class FailingTelegram(Telegram):
    """A Telegram that fails so many times for a chat."""

    failures: dict[str, int] = field(default_factory=dict)

    def send_message(self, token: str, request: Mapping[str, object]) -> Answer:
        """Answer 502 while there are failures left for the chat."""
        chat = str(request.get("chat_id"))
        with self.lock:
            self.failures[chat] = left = self.failures.get(chat, 0) - 1
        if left >= 0:
            return 502, {"ok": False, "error_code": 502, "description": "Bad Gateway"}
        return super().send_message(token, request)


def set_up_trouble(endpoint: Endpoint, own: cast.Secrets) -> None:
    """Make the endpoint fail as the story needs it."""
    telegram = FailingTelegram(
        blocked={cast.BEN},
        limits={cast.CEM: (1, cast.TELEGRAM_WAIT)},
        failures={cast.DORA: cast.REQUESTS_TO_FAIL_TWICE},
        tokens={own.bot_token},
    )
    endpoint.telegram = telegram
    endpoint.slack.limits[own.slack_path] = (1, 1)
    endpoint.discord.limits[cast.DISCORD_WEBHOOK] = (1, 0.5, "global")
    endpoint.script(cast.DIGEST_PATH, default=Step(status=503, body="down for maintenance"))
    # An endpoint that repeats our credentials in its error page: they must not end in a record or a log.
    endpoint.script(cast.UPDATES_PATH, default=Step(status=503, body=f"no upstream for Bearer {own.updates_header}"))


def tell(stage: Stage) -> None:
    """Play all of it."""
    say("a quiet tick of the schedule: nothing is due, so nobody is called")
    stage.warm_up()
    ads_go_out(stage)
    findings_are_reported(stage)
    webhook_recovers(stage)
    the_rest_is_retried(stage)
    dead_letter_is_redriven(stage)
    findings_change(stage)


def ads_go_out(stage: Stage) -> None:
    """Play A: five users, one of each kind; the same ad is asked for three times."""
    say("A  five ads for five Telegram users; Anna's is asked for twice at the same moment, and once more")
    results = [*stage.ask_at_once(cast.FLAT, 2), *stage.ask(cast.FLAT)]
    say("   Anna: %s", ", ".join(results))
    stage.enqueue(cast.BIKE)
    for request in (cast.BLOCKED, cast.LIMITED, cast.FAILING):
        say("   %s: %s", cast.USERS[request["recipient"]], *stage.ask(request))


def findings_are_reported(stage: Stage) -> None:
    """Play B: findings come in by every way while the webhook is down."""
    say("B  findings by direct call, queue and bus for the digest of %s, which is down (503)", cast.DIGEST)
    for request, way in cast.FIRST_DIGEST:
        stage.ask_by(way, request)
    stage.enqueue(cast.INVALID)
    say("   nginx to %s, down too: %s", cast.UPDATES, *stage.ask(cast.NGINX))
    say("   to %s, which nobody has configured: %s", cast.PAGER, *stage.ask(cast.PAGED))
    for request, way_out in ((cast.TRAEFIK, "Slack, which asks for a second"), (cast.CURL, "Discord, for half of one")):
        say("   to %s, within the attempt: %s", way_out, *stage.ask(request))
    stage.until("queue and bus have arrived", stored(*(request for request, _ in cast.FIRST_DIGEST)))
    stage.until("Emil has his ad", lambda _: cast.EMIL in stage.endpoint.telegram.messages)
    say("   sweeping by hand instead of waiting for the schedule, here and below")
    stage.sweep()


def webhook_recovers(stage: Stage) -> None:
    """Let the digest that failed go out together with what came after it."""
    stage.until("the digest has failed", every("retrying", *(request for request, _ in cast.FIRST_DIGEST)))
    say("   the digest has failed and waits; two more findings come in; Dora's ad gets yet another price")
    for request, way in cast.JOINING:
        stage.ask_by(way, request)
    say("   Dora, asked again with the new price: %s", *stage.ask(cast.FAILING_CHANGED))
    stage.until("the whole digest is due", all_due(*cast.DIGESTED))
    stage.recover(cast.DIGEST_PATH)
    say("   %s works again", cast.DIGEST)
    stage.sweep()
    stage.until("the digest is out", every("sent", *cast.DIGESTED), sweeping=True)


def the_rest_is_retried(stage: Stage) -> None:
    """Tell retention what became of two findings, and sweep while anything is due."""
    say("   %s stays active, %s is resolved", cast.XZ["subject"], cast.HEARTBLEED["subject"])
    stage.finding(cast.XZ, "active")
    stage.finding(cast.HEARTBLEED, "resolved")
    say("   Dora's and nginx's retries follow; Cem's waits the %d s that Telegram asked for", cast.TELEGRAM_WAIT)
    stage.until("Dora has her message", ended(cast.FAILING), sweeping=True)
    stage.until("nginx is a dead letter", every("dead_lettered", cast.NGINX), sweeping=True)


def dead_letter_is_redriven(stage: Stage) -> None:
    """Mend the endpoint, then give the dead letter another chance."""
    say("   nginx is a dead letter after %d attempts; %s is mended: redrive", cast.MAX_ATTEMPTS, cast.UPDATES)
    stage.recover(cast.UPDATES_PATH)
    stage.redrive(cast.NGINX)
    stage.until("the dead letter is out", every("sent", cast.NGINX), sweeping=True)
    stage.until("Cem has his message", ended(cast.LIMITED), sweeping=True)


def findings_change(stage: Stage) -> None:
    """Let the retention window pass: what may be forgotten goes, what is still true stays."""
    say("   the retention window of %.0f s passes: TTL removes what may be forgotten", cast.RETENTION_SECONDS)
    stage.until("all ads and the resolved finding are forgotten", forgotten(*cast.ADS_OUT, cast.HEARTBLEED))
    created_at = stage.table()[key_of(cast.XZ)]["created_at"]
    stage.until("the window has passed for good", lambda _: time.time() > created_at + cast.RETENTION_SECONDS + 1)
    say("   %s, found once more: %s", cast.XZ["subject"], *stage.ask(cast.XZ))


# ------------------------------------------------------------------ what is waited for

Condition = Callable[[Mapping[Key, State]], bool]


def stored(*requests: Request) -> Condition:
    """All of them have a record."""
    return lambda table: all(key_of(request) in table for request in requests)


def every(status: str, *requests: Request) -> Condition:
    """All of them have that status."""
    return lambda table: all(table.get(key_of(request), {}).get("status") == status for request in requests)


def ended(request: Request) -> Condition:
    """It is sent, and may be forgotten already."""
    return lambda table: table.get(key_of(request), {"status": "sent"})["status"] == "sent"


def forgotten(*requests: Request) -> Condition:
    """None of them has a record."""
    return lambda table: not any(key_of(request) in table for request in requests)


def all_due(*requests: Request) -> Condition:
    """All of them would go out with a sweep now, and nobody is at it."""

    def ready(table: Mapping[Key, State]) -> bool:
        records = [table.get(key_of(request)) for request in requests]
        return all(r is not None and "claimed_until" not in r and is_due(r, time.time()) for r in records)

    return ready
