"""One check per promise: each yields what is wrong with the evidence, and nothing if the promise was kept."""

import base64
import hashlib
import hmac
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from infra.local.demo import cast
from infra.local.demo.cast import Request
from infra.local.demo.evidence import Call, Evidence, History, Metric, key_of

OPEN = ("pending", "retrying")
CLOCK_SLACK = 10  # seconds between a signature's time and its arrival, on a busy machine


def differs(what: str, found: object, wanted: object) -> Iterator[str]:
    """Yield what is wrong if the two are not equal."""
    if found != wanted:
        yield f"{what}: {found!r} instead of {wanted!r}"


# ------------------------------------------------------------------ A


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


# ------------------------------------------------------------------ B


def failed_digest_waits_whole(evidence: Evidence) -> Iterator[str]:
    """Every member of the failed digest is retrying after one attempt, with the error."""
    for request, _ in cast.FIRST_DIGEST:
        failed = [s for s in evidence.history(request).states if s["status"] == "retrying"]
        yield from differs(f"{request['subject']}: attempts", failed[0]["attempt_count"] if failed else None, 1)
        if failed and "503" not in failed[0].get("last_error", ""):
            yield f"{request['subject']}: the error is not kept"


def one_digest(evidence: Evidence) -> Iterator[str]:
    """What had failed and what came after it went out in one message with one batch id, the records say so too."""
    taken = evidence.taken(cast.DIGEST_PATH)
    yield from differs("messages taken", len(taken), 1)
    for call in taken[:1]:
        yield from differs("members", set(call.members), {key_of(request) for request in cast.DIGESTED})
        batch = call.content["data"]["batch_id"]
        for request in cast.DIGESTED:
            last = evidence.history(request).last
            found = last["status"], last.get("dispatch_batch_id")
            yield from differs(request["subject"], found, ("sent", batch))


def signatures_verify(evidence: Evidence) -> Iterator[str]:
    """Every call to a webhook is signed by its channel's key, with a fresh time; computed here independently."""
    calls = evidence.webhook_calls()
    if not calls:
        yield "no webhook was called"
    for call in calls:
        headers = _headers(call)
        signed = f"{headers.get('webhook-id')}.{headers.get('webhook-timestamp')}.{call.body}".encode()
        digest = hmac.new(evidence.secrets.key_of(call.path), signed, hashlib.sha256).digest()
        wanted = f"v1,{base64.b64encode(digest).decode()}"
        if not hmac.compare_digest(headers.get("webhook-signature", ""), wanted):
            yield f"{call.path}: the signature does not verify"
        if abs(int(headers.get("webhook-timestamp", 0)) - call.at) > CLOCK_SLACK:
            yield f"{call.path}: the signed time is not that of the request"


def dead_letter_then_redriven(evidence: Evidence) -> Iterator[str]:
    """Dead after the last attempt, with its error and a warning; delivered after a redrive, under the same id."""
    history = evidence.history(cast.NGINX)
    dead = [state for state in history.states if state["status"] == "dead_lettered"]
    yield from differs("times dead", len(dead), 1)
    for state in dead[:1]:
        yield from differs("attempts", state["attempt_count"], cast.MAX_ATTEMPTS)
        yield from differs("next attempt", state.get("next_attempt_at"), None)
        if "503" not in state.get("last_error", ""):
            yield "the error is not kept"
    found = history.last["status"], history.last["redrive_count"], history.last.get("last_error")
    yield from differs("in the end", found, ("sent", 1, None))
    yield from differs("messages taken", len(evidence.taken(cast.UPDATES_PATH)), 1)
    yield from differs("webhook ids", len({_headers(c).get("webhook-id") for c in evidence.calls_for(history)}), 1)
    warnings = [line for line in lines(evidence, "notification_dead_lettered") if line["channel"] == cast.UPDATES]
    yield from differs("warnings in the log", [line["level"] for line in warnings], ["WARNING"])


def not_configured_costs_nothing(evidence: Evidence) -> Iterator[str]:
    """A channel without a document: the notification waits, no attempt is charged, nobody is called."""
    history = evidence.history(cast.PAGED)
    yield from differs("answers", evidence.results(cast.PAGED), ["not_configured"])
    yield from differs("status", history.last["status"], "pending")
    yield from differs("attempts", {state["attempt_count"] for state in history.states}, {0})
    yield from differs("requests", len(evidence.calls_for(history)), 0)


def invalid_is_put_aside(evidence: Evidence) -> Iterator[str]:
    """The queue's invalid message is in the dead-letter queue with its reason, and nothing of it is stored."""
    yield from differs("messages", [json.loads(body) for body, _ in evidence.refused], [cast.INVALID])
    for _, reason in evidence.refused:
        if not reason.startswith("kind:"):
            yield f"the reason does not name the field: {reason!r}"
    if key_of(cast.INVALID) in evidence.histories:
        yield "it was stored"


def active_finding_is_kept(evidence: Evidence) -> Iterator[str]:
    """Past the retention window the record is there, without expiry, and asking again tells nobody."""
    history = evidence.history(cast.XZ)
    asked = max((a.at for a in evidence.asked if key_of(a.request) == key_of(cast.XZ)), default=0)
    if asked <= history.last["created_at"] + cast.RETENTION_SECONDS:
        yield "it was not asked for again after the window"
    yield from differs("answers", evidence.results(cast.XZ), ["accepted", "duplicate"])
    if history.forgotten or any("expires_at" in state for state in history.states):
        yield "its record was forgotten, or about to be"
    told = [call for call in evidence.taken(cast.DIGEST_PATH) if history.key in call.members]
    yield from differs("times told", len(told), 1)


def resolved_finding_is_forgotten(evidence: Evidence) -> Iterator[str]:
    """TTL has removed the record, not before its window was over."""
    history = evidence.history(cast.HEARTBLEED)
    yield from differs("forgotten", history.forgotten, True)
    earliest = history.last["created_at"] + int(cast.RETENTION_SECONDS)
    if history.last.get("expires_at", 0) < earliest:
        yield "it was to be forgotten before its window was over"
    removed = sum(line["removed"] for line in lines(evidence, "retention_finished"))
    yield from differs("removed, says the log", removed, _forgotten(evidence))


# ------------------------------------------------------------------ both


def backoff_is_kept(evidence: Evidence) -> Iterator[str]:
    """No retry was planned, and no request came, before its backoff had passed."""
    for history in evidence.histories.values():
        for plan in history.plans:
            wait, least = plan.next_attempt_at - plan.settled_at, cast.BASE_DELAY * 2 ** (plan.attempt - 1)
            if wait < least:
                yield f"{history.key}: {wait} seconds planned after attempt {plan.attempt}, {least} promised"
            # A settle is noted by the second in which it lies.
            early = [c for c in evidence.calls_for(history) if plan.settled_at + 1 <= c.at < plan.next_attempt_at]
            if early:
                yield f"{history.key}: requested again before {plan.next_attempt_at}"


def records_are_sound(evidence: Evidence) -> Iterator[str]:
    """There is one record for each valid notification; attempts stay within bounds; what is open never expires."""
    yield from differs("records", set(evidence.histories), {key_of(request) for request in cast.EXPECTED})
    for history in evidence.histories.values():
        for state in history.states:
            if state["attempt_count"] > cast.MAX_ATTEMPTS:
                yield f"{history.key}: {state['attempt_count']} attempts"
            if state["status"] in OPEN and "expires_at" in state:
                yield f"{history.key}: {state['status']}, yet it would expire"
        yield from differs(f"{history.key}: times sent", history.times_became("sent") > 1, False)


def quiet_tick_calls_nobody(evidence: Evidence) -> Iterator[str]:
    """A sweep with nothing due calls no channel."""
    yield from differs("requests", evidence.quiet_sweep_calls, 0)


def cloudwatch_agrees(evidence: Evidence) -> Iterator[str]:
    """The counters in CloudWatch are what records, answers and queues say."""
    wanted = counters(evidence)
    for metric in sorted(wanted.keys() | evidence.metrics.keys()):
        if metric[0] in COUNTED:
            yield from differs(" ".join((metric[0], *metric[1])), evidence.metrics.get(metric, 0), wanted[metric])
    if not evidence.metrics.get(("notifications.not_configured", ()), 0):
        yield "notifications.not_configured is missing"


COUNTED = tuple(f"notifications.{name}" for name in ("sent", "failed", "duplicate", "invalid", "forgotten"))


def counters(evidence: Evidence) -> Counter[Metric]:
    """Return what the counters have to be."""
    wanted: Counter[Metric] = Counter()
    for history in evidence.histories.values():
        channel, kind = history.last["channel"], history.last["kind"]
        wanted["notifications.sent", (channel, kind)] += history.times_became("sent")
        wanted["notifications.failed", (channel, "transient")] += len(history.plans)
        wanted["notifications.failed", (channel, "dead_lettered")] += history.times_became("dead_lettered")
    for asked in evidence.asked:
        wanted["notifications.duplicate", (asked.request["channel"],)] += asked.result == "duplicate"
    wanted["notifications.invalid", ()] = len(evidence.refused)
    wanted["notifications.forgotten", ()] = _forgotten(evidence)
    return wanted


def no_secret_is_seen(evidence: Evidence) -> Iterator[str]:
    """Tokens and keys are in no log line, record, answer or metric, although an endpoint repeated one."""
    places: Mapping[str, object] = {
        "a log": evidence.logs,
        "a record": [history.states for history in evidence.histories.values()],
        "the dead-letter queue": evidence.refused,
        "a metric": list(evidence.metrics),
    }
    for place, content in places.items():
        text = str(content)
        if any(secret in text for secret in evidence.secrets.spelled()):
            yield f"a secret is in {place}"


def no_function_failed(evidence: Evidence) -> Iterator[str]:
    """The functions' logs hold no error."""
    if not evidence.logs:
        yield "there are no logs"
    signs = ('"level":"ERROR"', '"message":"item_failed"', "Traceback", "Task timed out", "[ERROR]")
    yield from (line[:200] for line in evidence.logs if any(sign in line for sign in signs))


def told_to_the_end(evidence: Evidence) -> Iterator[str]:
    """Nothing that the story waited for failed to come."""
    if evidence.problem is not None:
        yield evidence.problem


def lines(evidence: Evidence, event: str) -> list[dict[str, Any]]:
    """Return the log lines of an event."""
    found = [json.loads(line) for line in evidence.logs if f'"message":"{event}"' in line]
    return [line for line in found if line["message"] == event]


def _headers(call: Call) -> dict[str, str]:
    return {name.lower(): value for name, value in call.headers.items()}


def _forgotten(evidence: Evidence) -> int:
    return sum(history.forgotten for history in evidence.histories.values())
