"""What holds for every notification: each check yields what is wrong, nothing if the promise was kept."""

from collections import Counter
from collections.abc import Iterator, Mapping

from infra.local.demo import cast
from infra.local.demo.evidence import Evidence, Metric, differs, key_of

OPEN = ("pending", "retrying")
COUNTED = tuple(f"notifications.{name}" for name in ("sent", "failed", "duplicate", "invalid", "forgotten"))


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
        if history.times_became("sent") > 1:
            yield f"{history.key}: sent more than once"


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
    wanted["notifications.forgotten", ()] = evidence.forgotten
    return wanted


def no_secret_is_seen(evidence: Evidence) -> Iterator[str]:
    """Tokens and keys are in no log line, record, answer or metric, although an endpoint repeated one."""
    places: Mapping[str, object] = {
        "a log": evidence.logs,
        "a record": [history.states for history in evidence.histories.values()],
        "an answer": [asked.answer for asked in evidence.asked],
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
