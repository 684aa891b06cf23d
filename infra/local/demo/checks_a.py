"""What was promised to the price tracker: each check yields what is wrong, nothing if the promise was kept."""

from collections.abc import Iterator

from infra.local.demo import cast
from infra.local.demo.evidence import Evidence, differs


def each_user_once(evidence: Evidence) -> Iterator[str]:
    """Every user but the one who blocked the bot has exactly their message, as it was rendered."""
    for request in cast.ADS_OUT:
        chat = request["recipient"]
        wanted = () if chat == cast.BEN else (f"{request['subject']}\n\n{request['body']}",)
        yield from differs(cast.USERS[chat], tuple(evidence.messages.get(chat, ())), wanted)


def asked_thrice_answered_once(evidence: Evidence) -> Iterator[str]:
    """The same ad from two threads and once more: one of them sends, the others hear so."""
    yield from differs("answers", evidence.results(cast.FLAT), ["duplicate", "duplicate", "sent"])
    yield from differs("requests", len(evidence.calls_for(evidence.history(cast.FLAT))), 1)


def blocked_is_dead_at_once(evidence: Evidence) -> Iterator[str]:
    """A blocked bot is not tried again."""
    history = evidence.history(cast.BLOCKED)
    yield from differs("status", history.last["status"], "dead_lettered")
    yield from differs("attempts", history.last["attempt_count"], 1)
    yield from differs("reason", history.last.get("last_reason"), "forbidden")
    yield from differs("requests", len(evidence.calls_for(history)), 1)


def named_wait_is_kept(evidence: Evidence) -> Iterator[str]:
    """Telegram's `retry_after` is waited for."""
    waits = evidence.waits(evidence.history(cast.LIMITED))
    yield from differs("waits", len(waits), 1)
    if waits and min(waits) < cast.TELEGRAM_WAIT:
        yield f"left alone for {min(waits):.2f} seconds only"


def failed_twice_then_delivered(evidence: Evidence) -> Iterator[str]:
    """Two failed attempts of three requests each, then a success that is recorded like a direct one."""
    history = evidence.history(cast.FAILING)
    yield from differs("status", history.last["status"], "sent")
    yield from differs("failed attempts", len(history.plans), 2)
    yield from differs("requests", len(evidence.calls_for(history)), cast.REQUESTS_TO_FAIL_TWICE + 1)
    yield from differs("error left behind", history.last.get("last_error"), None)


def stored_text_goes_out(evidence: Evidence) -> Iterator[str]:
    """The ad changed while its message waited; every try sends what was stored."""
    yield from differs("answers", evidence.results(cast.FAILING), ["duplicate", "retrying"])
    texts = {call.content["text"] for call in evidence.calls_for(evidence.history(cast.FAILING))}
    yield from differs("texts", texts, {f"{cast.FAILING['subject']}\n\n{cast.FAILING['body']}"})
