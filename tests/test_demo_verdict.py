"""The demo's verdict can fail: each promise is broken by evidence that was spoiled for it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from infra.local.demo import cast, report
from infra.local.demo.__main__ import NOT_AS_PROMISED, conclude
from infra.local.demo.evidence import Asked, Call, Evidence, State, key_of
from infra.local.demo.promises import PROMISES, judge
from tests.demo_evidence import (
    BATCH,
    RECOVERED,
    SECRETS,
    T,
    digest,
    good,
    posted,
    rewritten,
    telegram,
    webhook,
    without,
)

Spoil = Callable[[Evidence], Evidence]


def with_history(evidence: Evidence, request: cast.Request, states: Sequence[State]) -> Evidence:
    changed = replace(evidence.history(request), states=states)
    return replace(evidence, histories={**evidence.histories, key_of(request): changed})


def more_calls(evidence: Evidence, *calls: Call) -> Evidence:
    return replace(evidence, calls=(*evidence.calls, *calls))


def fewer_calls(evidence: Evidence, path: str) -> Evidence:
    return replace(evidence, calls=tuple(call for call in evidence.calls if call.path != path))


def logged(evidence: Evidence, line: str) -> Evidence:
    return replace(evidence, logs=(*evidence.logs, line))


def counted(evidence: Evidence, name: str, *values: str) -> Evidence:
    metric = (name, values)
    return replace(evidence, metrics={**evidence.metrics, metric: evidence.metrics.get(metric, 0) + 1})


def answered(evidence: Evidence, request: cast.Request, result: str) -> Evidence:
    asked = Asked(T, cast.Way.DIRECT, request, {"result": result, "error": ""})
    return replace(evidence, asked=(*evidence.asked, asked))


def received(evidence: Evidence, chat: str, *texts: str) -> Evidence:
    return replace(evidence, messages={**evidence.messages, chat: texts})


def shown(evidence: Evidence, channel: str, *texts: str) -> Evidence:
    return replace(evidence, posts={**evidence.posts, channel: texts})


def impatient(evidence: Evidence) -> Evidence:
    states = tuple({**s, "next_attempt_at": T + 1} if "next_attempt_at" in s else s
                   for s in evidence.history(cast.FAILING).states)  # fmt: skip
    return with_history(evidence, cast.FAILING, states)


def remembered(evidence: Evidence) -> Evidence:
    kept = replace(evidence.history(cast.HEARTBLEED), forgotten=False)
    return replace(evidence, histories={**evidence.histories, kept.key: kept})


def signed_by(key: bytes, at: float = T + 7.5) -> Spoil:
    call = webhook(cast.UPDATES_PATH, at, "n" * 32, dict(cast.NGINX), key)
    return lambda evidence: more_calls(evidence, call)


def stale_signature(evidence: Evidence) -> Evidence:
    fresh = webhook(cast.UPDATES_PATH, T + 1, "n" * 32, dict(cast.NGINX))
    return more_calls(evidence, replace(fresh, at=T + 60))


SPOILED: list[tuple[str, str, Spoil]] = [
    ("one message more", "every user has each message", lambda e: received(e, cast.EMIL, *e.messages[cast.EMIL], "x")),
    ("a message lost", "every user has each message", lambda e: received(e, cast.ANNA)),
    ("another text", "every user has each message", lambda e: received(e, cast.CEM, "hello")),
    ("a message to the blocker", "every user has each message", lambda e: received(e, cast.BEN, "hello")),
    ("sent twice at once", "the same ad asked for three", lambda e: answered(e, cast.FLAT, "sent")),
    ("a second request", "the same ad asked for three", lambda e: more_calls(e, telegram(cast.FLAT, T + 0.2))),
    ("blocked, tried again", "bot blocked", lambda e: more_calls(e, telegram(cast.BLOCKED, T + 9))),
    ("blocked, yet open", "bot blocked", lambda e: rewritten(e, cast.BLOCKED, status="retrying")),
    ("blocked, charged more", "bot blocked", lambda e: rewritten(e, cast.BLOCKED, attempt_count=2)),
    ("blocked, other reason", "bot blocked", lambda e: rewritten(e, cast.BLOCKED, last_reason="http_403")),
    ("too early for Telegram", "Telegram asked for", lambda e: more_calls(e, telegram(cast.LIMITED, T + 3))),
    ("never recovered", "failed twice", lambda e: rewritten(e, cast.FAILING, status="retrying")),
    ("error left behind", "failed twice", lambda e: rewritten(e, cast.FAILING, last_error="HTTP 502")),
    ("an eighth request", "failed twice", lambda e: more_calls(e, telegram(cast.FAILING, T + 7.3))),
    ("text rendered anew", "the retry sends the stored", lambda e: more_calls(e, telegram(cast.FAILING_CHANGED, T))),
    ("not a duplicate", "the retry sends the stored", lambda e: answered(e, cast.FAILING_CHANGED, "sent")),
    ("digest never failed", "a failed digest", lambda e: with_history(e, cast.XZ, e.history(cast.XZ).states[-1:])),
    ("a second digest", "old and new findings", lambda e: more_calls(e, digest(RECOVERED + 2, "c" * 32, cast.REDIS))),
    ("another batch id", "old and new findings", lambda e: rewritten(e, cast.REDIS, dispatch_batch_id="c" * 32)),
    ("a member unsent", "old and new findings", lambda e: rewritten(e, cast.REDIS, status="retrying")),
    ("no digest", "old and new findings", lambda e: fewer_calls(e, cast.DIGEST_PATH)),
    ("signed by another", "every webhook call", signed_by(b"x" * 32)),
    ("signed long ago", "every webhook call", stale_signature),
    ("never dead", "dead-lettered after the last", lambda e: with_history(
        e, cast.NGINX, [s for s in e.history(cast.NGINX).states if s["status"] != "dead_lettered"]
    )),
    ("not redriven", "dead-lettered after the last", lambda e: rewritten(e, cast.NGINX, redrive_count=0)),
    ("no warning", "dead-lettered after the last", lambda e: replace(e, logs=e.logs[1:])),
    ("another webhook id", "dead-lettered after the last", lambda e: more_calls(
        e, webhook(cast.UPDATES_PATH, T + 7.2, "m" * 32, dict(cast.NGINX))
    )),
    ("posted twice", "Slack and Discord", lambda e: shown(e, cast.SLACK, *(2 * tuple(e.posts[cast.SLACK])))),
    ("posted never", "Slack and Discord", lambda e: shown(e, cast.DISCORD)),
    ("another post", "Slack and Discord", lambda e: shown(e, cast.DISCORD, "hello")),
    ("charged twice", "Slack and Discord", lambda e: rewritten(e, cast.TRAEFIK, attempt_count=2)),
    ("all of Slack called", "Slack and Discord", lambda e: more_calls(e, posted("/services/x", text="<!everyone>"))),
    ("all of Slack called by an element", "Slack and Discord", lambda e: more_calls(
        e, posted("/services/x", text="", blocks=[{"type": "broadcast", "range": "channel"}])
    )),
    ("all of Discord called", "Slack and Discord", lambda e: more_calls(e, posted("/api/webhooks/1/x", content="x"))),
    ("attempt charged", "channel not configured", lambda e: rewritten(e, cast.PAGED, attempt_count=1)),
    ("not put aside", "invalid queue message", lambda e: replace(e, refused=())),
    ("no reason", "invalid queue message", lambda e: replace(e, refused=((e.refused[0][0], ""),))),
    ("active, yet expiring", "finding still active", lambda e: rewritten(e, cast.XZ, expires_at=T)),
    ("active, told again", "finding still active", lambda e: more_calls(e, digest(RECOVERED + 20, BATCH, cast.XZ))),
    ("asked too early", "finding still active", lambda e: replace(e, asked=e.asked[:-1])),
    ("resolved, not forgotten", "finding resolved", remembered),
    ("forgotten too early", "finding resolved", lambda e: rewritten(e, cast.HEARTBLEED, expires_at=T + 3)),
    ("log of removals missing", "finding resolved", lambda e: replace(e, logs=e.logs[:1])),
    ("a record lost", "one record per notification", lambda e: without(e, cast.BIKE)),
    ("open and expiring", "one record per notification", lambda e: rewritten(e, cast.PAGED, expires_at=T)),
    ("too many attempts", "one record per notification", lambda e: rewritten(e, cast.FAILING, attempt_count=4)),
    ("planned too early", "no retry before", impatient),
    ("requested too early", "no retry before", lambda e: more_calls(e, telegram(cast.FAILING, T + 5.5))),
    ("quiet, yet calling", "nothing due", lambda e: replace(e, quiet_sweep_calls=1)),
    ("counted once too often", "CloudWatch counts", lambda e: counted(e, "notifications.sent", cast.ADS, "new_ad")),
    ("counted under another name", "CloudWatch counts", lambda e: counted(e, "notifications.sent", "x", "y")),
    ("no metrics", "CloudWatch counts", lambda e: replace(e, metrics={})),
    ("token in a log", "no secret", lambda e: logged(e, f"POST /bot{SECRETS.bot_token}/sendMessage")),
    ("header in a record", "no secret", lambda e: rewritten(e, cast.NGINX, last_error=SECRETS.updates_header)),
    ("an error logged", "no function", lambda e: logged(e, '{"level":"ERROR","message":"x"}')),
    ("no logs", "no function", lambda e: replace(e, logs=())),
    ("stuck", "the story", lambda e: replace(e, problem="waited in vain")),
]  # fmt: skip


def broken(evidence: Evidence) -> list[str]:
    return [verdict.promise.text for verdict in judge(evidence) if not verdict.kept]


def test_as_promised_is_zero(capsys: pytest.CaptureFixture[str]) -> None:
    assert broken(good()) == []
    assert conclude(good()) == 0
    assert "✗" not in capsys.readouterr().out


@pytest.mark.parametrize(("promise", "spoil"), [case[1:] for case in SPOILED], ids=[case[0] for case in SPOILED])
def test_spoiled_evidence_breaks_its_promise(promise: str, spoil: Spoil, capsys: pytest.CaptureFixture[str]) -> None:
    spoiled = spoil(good())
    assert any(text.startswith(promise) for text in broken(spoiled)), broken(spoiled)
    assert conclude(spoiled) == NOT_AS_PROMISED
    assert "✗" in capsys.readouterr().out


def test_no_promise_is_beyond_breaking() -> None:
    texts = [promise.text for some in PROMISES.values() for promise in some]
    assert [text for text in texts if not any(text.startswith(case[1]) for case in SPOILED)] == []


def test_no_evidence_at_all_is_no_success() -> None:
    assert len(broken(Evidence(secrets=SECRETS))) > len(PROMISES)


def test_the_table_is_no_wider_than_a_screen() -> None:
    assert max(map(len, report.notifications(good()))) <= 120


def test_the_readme_shows_what_the_demo_prints() -> None:
    shown = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    promised = [each.text for some in PROMISES.values() for each in some]
    ticked = re.findall("^  ✓ (.*)$", shown, re.MULTILINE)
    assert ticked
    assert set(ticked) <= set(promised)
    assert f"{len(promised)} of {len(promised)} promises kept." in shown
