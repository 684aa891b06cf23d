"""What was promised to the update guard: each check yields what is wrong, nothing if the promise was kept."""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator

from infra.local.demo import cast
from infra.local.demo.evidence import Call, Evidence, differs, key_of

CLOCK_SLACK = 10  # seconds between a signature's time and its arrival, on a busy machine


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


def slack_and_discord_have_one_each(evidence: Evidence) -> Iterator[str]:
    """Each shows its notification once, after the wait it asked for, and calls nobody by a mention in the text."""
    for request in cast.ELSEWHERE:
        channel, last = request["channel"], evidence.history(request).last
        yield from differs(f"{channel}: attempts", (last["status"], last["attempt_count"]), ("sent", 1))
        posts = evidence.posts.get(channel, ())
        yield from differs(f"{channel}: messages", len(posts), 1)
        yield from (f"{channel}: {request['dedup_key']} is not in it" for post in posts if not _names(post, request))
    for call in evidence.calls:
        # A mention is one in `text`, or an element of its own: what a text element says is only shown.
        if call.path.startswith("/services/") and ("<!" in call.content["text"] or '"broadcast"' in call.body):
            yield "team-slack: a mention of the text would be one"
        if "/webhooks/" in call.path and call.content.get("allowed_mentions") != {"parse": []}:
            yield "club-discord: a mention of the text would be one"


def _names(post: str, request: cast.Request) -> bool:
    return request["subject"].split()[0] in post.replace("\\", "")


def signatures_verify(evidence: Evidence) -> Iterator[str]:
    """Every call to a webhook is signed by its channel's key, with a fresh time; computed here independently."""
    calls = evidence.webhook_calls()
    if not calls:
        yield "no webhook was called"
    for call in calls:
        headers = headers_of(call)
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
    yield from differs("webhook ids", len({headers_of(c).get("webhook-id") for c in evidence.calls_for(history)}), 1)
    warnings = [line for line in evidence.lines("notification_dead_lettered") if line["channel"] == cast.UPDATES]
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
    removed = sum(line["removed"] for line in evidence.lines("retention_finished"))
    yield from differs("removed, says the log", removed, evidence.forgotten)


def headers_of(call: Call) -> dict[str, str]:
    """Return a call's headers by their names in lower case."""
    return {name.lower(): value for name, value in call.headers.items()}
