"""Evidence of a demo in which everything went as promised, made by hand, and ways to spoil it."""

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from standardwebhooks import Webhook

from infra.local.demo import cast
from infra.local.demo.cast import Request, Way
from infra.local.demo.checks_all import counters
from infra.local.demo.evidence import Asked, Call, Evidence, History, State, key_of

T = 1_800_000_000
SECRETS = cast.Secrets("1234567890:" + "t" * 35, b"d" * 32, b"u" * 32, "h" * 24, "T0/B0/" + "s" * 24, "e" * 64)
BATCH, RECOVERED = "b" * 32, T + 100
OUTAGE = {"last_error": "HTTP 503: down", "last_reason": "http_503"}

Step = Mapping[str, Any]


def lived(request: Request, *steps: Step, forgotten: bool = False) -> History:
    """Return the history of a record: each step changes the state before it, None takes an attribute away."""
    state: State = {**request, "attempt_count": 0, "redrive_count": 0, "created_at": T, "updated_at": T}
    states = []
    for step in steps:
        state = {name: value for name, value in {**state, **step}.items() if value is not None}
        states.append(state)
    return History(tuple(states), forgotten)


def claimed(attempt: int, status: str = "retrying") -> Step:
    return {"status": status, "attempt_count": attempt, "claimed_until": T + 65}


def failed(at: int, wait: int, error: Step) -> Step:
    return {"status": "retrying", "updated_at": at, "next_attempt_at": at + wait, "claimed_until": None, **error}


def ended(status: str, **more: object) -> Step:
    return {"status": status, "next_attempt_at": None, "claimed_until": None, **more}


def sent(batch: str = "a" * 32) -> Step:
    return ended("sent", dispatch_batch_id=batch, last_error=None, last_reason=None)


EXPIRES = {"expires_at": T + int(cast.RETENTION_SECONDS) + 1}
PENDING: Step = {"status": "pending", "next_attempt_at": T}
FIRST = claimed(1, "pending")


def _histories() -> Iterator[History]:
    for request in (cast.FLAT, cast.BIKE):
        yield lived(request, FIRST, {**sent(), **EXPIRES}, forgotten=True)
    yield lived(cast.BLOCKED, FIRST, {**ended("dead_lettered", last_reason="forbidden"), **EXPIRES}, forgotten=True)
    limit = {"last_error": "HTTP 429", "last_reason": "http_429"}
    yield lived(cast.LIMITED, FIRST, failed(T, 11, limit), claimed(2), {**sent(), **EXPIRES}, forgotten=True)
    outage = {"last_error": "HTTP 502", "last_reason": "http_502"}
    yield lived(
        cast.FAILING, FIRST, failed(T + 1, 2, outage), claimed(2), failed(T + 4, 3, outage), claimed(3),
        {**sent(), **EXPIRES}, forgotten=True,
    )  # fmt: skip
    for request, _ in cast.FIRST_DIGEST:
        gone = request is cast.HEARTBLEED
        steps = (PENDING, claimed(1, "pending"), failed(T + 90, 2, OUTAGE), claimed(2), sent(BATCH))
        yield lived(request, *steps, *([EXPIRES] if gone else []), forgotten=gone)
    for request, _ in cast.JOINING:
        yield lived(request, PENDING, claimed(1, "pending"), sent(BATCH))
    yield lived(
        cast.NGINX, FIRST, failed(T + 1, 2, OUTAGE), claimed(2), failed(T + 4, 3, OUTAGE), claimed(3),
        ended("dead_lettered"), {**PENDING, "attempt_count": 0, "redrive_count": 1}, claimed(1, "pending"), sent(),
    )  # fmt: skip
    yield lived(cast.PAGED, PENDING)
    yield from (lived(request, FIRST, sent()) for request in cast.ELSEWHERE)


def posted(path: str, **content: object) -> Call:
    return Call(T + 2, path, {}, json.dumps(content))


def telegram(request: Request, at: float) -> Call:
    text = f"{request['subject']}\n\n{request['body']}"
    body = json.dumps({"chat_id": request["recipient"], "text": text})
    return Call(at, f"/bot{SECRETS.bot_token}/sendMessage", {}, body)


def webhook(path: str, at: float, id_: str, data: object, key: bytes | None = None) -> Call:
    """Return a call signed by the reference library of the scheme, not by our own code."""
    body = json.dumps({"type": "x", "data": data})
    whole = int(at)
    signer = Webhook(base64.b64encode(key or SECRETS.key_of(path)).decode())
    signature = signer.sign(id_, datetime.fromtimestamp(whole, UTC), body)
    return Call(at, path, {"Webhook-Id": id_, "Webhook-Timestamp": str(whole), "Webhook-Signature": signature}, body)


def digest(at: float, batch: str, *members: Request) -> Call:
    data = {"batch_id": batch, "notifications": [dict(member) for member in members]}
    return webhook(cast.DIGEST_PATH, at, batch, data)


def _calls() -> Iterator[Call]:
    for request in (cast.FLAT, cast.BIKE, cast.BLOCKED):
        yield telegram(request, T + 0.1)
    yield from (telegram(cast.LIMITED, at) for at in (T + 0.5, T + 11.2))
    yield from (telegram(cast.FAILING, at) for at in (T, T + 0.3, T + 1.0, T + 3.0, T + 3.3, T + 4.0, T + 7.1))
    yield digest(T + 90.2, "f" * 32, *(request for request, _ in cast.FIRST_DIGEST))
    yield digest(RECOVERED + 0.5, BATCH, *cast.DIGESTED)
    yield posted(f"/services/{SECRETS.slack_path}", text="*traefik*")
    yield posted(f"/api/v10/webhooks/1/{SECRETS.discord_token}?wait=true", allowed_mentions={"parse": []})
    yield from (webhook(cast.UPDATES_PATH, at, "n" * 32, dict(cast.NGINX)) for at in (T + 1, T + 4, T + 7, T + 101))


def _asked() -> Iterator[Asked]:
    answers = [
        *((cast.FLAT, result) for result in ("duplicate", "sent", "duplicate")),
        *((cast.FAILING, result) for result in ("retrying", "duplicate")),
        (cast.XZ, "accepted"),
        (cast.PAGED, "not_configured"),
    ]
    yield from (Asked(T, Way.DIRECT, request, {"result": result}) for request, result in answers)
    yield Asked(T + cast.RETENTION_SECONDS + 1, Way.DIRECT, cast.XZ, {"result": "duplicate"})


LOGS = (
    '{"level":"WARNING","message":"notification_dead_lettered","channel":"ops-updates"}',
    '{"level":"INFO","message":"retention_finished","removed":6}',
)


def good() -> Evidence:
    """Return evidence that everything went as promised."""
    evidence = Evidence(
        secrets=SECRETS,
        asked=tuple(_asked()),
        histories={history.key: history for history in _histories()},
        calls=tuple(_calls()),
        messages={r["recipient"]: (f"{r['subject']}\n\n{r['body']}",) for r in cast.ADS_OUT if r is not cast.BLOCKED},
        posts={request["channel"]: (f"*{request['subject']}*",) for request in cast.ELSEWHERE},
        up_since={cast.DIGEST_PATH: RECOVERED, cast.UPDATES_PATH: RECOVERED},
        refused=((json.dumps(cast.INVALID), "kind: must be other"),),
        logs=LOGS,
    )
    return replace(evidence, metrics={**counters(evidence), ("notifications.not_configured", ()): 1})


def rewritten(evidence: Evidence, request: Request, **changes: object) -> Evidence:
    """Return the evidence with the last state of a record changed."""
    history = evidence.history(request)
    last = {name: value for name, value in {**history.last, **changes}.items() if value is not None}
    changed = replace(history, states=(*history.states[:-1], last))
    return replace(evidence, histories={**evidence.histories, key_of(request): changed})


def without(evidence: Evidence, request: Request) -> Evidence:
    """Return the evidence as if a notification had never been stored."""
    return replace(evidence, histories={k: v for k, v in evidence.histories.items() if k != key_of(request)})
