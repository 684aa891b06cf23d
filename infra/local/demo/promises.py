"""The promises, in the words of the verdict, and whether they were kept."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from infra.local.demo import cast, checks_a, checks_all, checks_b
from infra.local.demo.evidence import Evidence

Check = Callable[[Evidence], Iterator[str]]


@dataclass(frozen=True, slots=True)
class Promise:
    """A sentence, and the check of it."""

    text: str
    check: Check


PROMISES: dict[str, tuple[Promise, ...]] = {
    "A  price tracker": (
        Promise("every user has each message exactly once", checks_a.each_user_once),
        Promise("the same ad asked for three times, twice at once: sent once", checks_a.asked_thrice_answered_once),
        Promise("bot blocked: dead-lettered after one attempt", checks_a.blocked_is_dead_at_once),
        Promise(f"Telegram asked for {cast.TELEGRAM_WAIT} s: left alone for as long", checks_a.named_wait_is_kept),
        Promise("failed twice, delivered by the third attempt", checks_a.failed_twice_then_delivered),
        Promise("the retry sends the stored text, though the ad has changed", checks_a.stored_text_goes_out),
    ),
    "B  container-update guard": (
        Promise("a failed digest leaves every member retrying, its error kept", checks_b.failed_digest_waits_whole),
        Promise("old and new findings went out in one digest with one batch id", checks_b.one_digest),
        Promise("every webhook call has a valid signature and a fresh time", checks_b.signatures_verify),
        Promise("Slack and Discord: one message each, nobody mentioned", checks_b.slack_and_discord_have_one_each),
        Promise("dead-lettered after the last attempt, delivered by a redrive", checks_b.dead_letter_then_redriven),
        Promise("channel not configured: waits, no attempt charged", checks_b.not_configured_costs_nothing),
        Promise("invalid queue message: put aside with its reason", checks_b.invalid_is_put_aside),
        Promise("finding still active past the window: kept, not told again", checks_b.active_finding_is_kept),
        Promise("finding resolved: forgotten, not before its window", checks_b.resolved_finding_is_forgotten),
    ),
    "Both": (
        Promise("one record per notification, by whatever way it came", checks_all.records_are_sound),
        Promise("no retry before its backoff has passed", checks_all.backoff_is_kept),
        Promise("nothing due: nobody is called", checks_all.quiet_tick_calls_nobody),
        Promise("CloudWatch counts what really happened", checks_all.cloudwatch_agrees),
        Promise("no secret in logs, records, answers, metrics", checks_all.no_secret_is_seen),
        Promise("no function has logged an error", checks_all.no_function_failed),
        Promise("the story was told to its end", checks_all.told_to_the_end),
    ),
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """A promise with what was found wrong; nothing wrong means kept."""

    part: str
    promise: Promise
    problems: Sequence[str]

    @property
    def kept(self) -> bool:
        """Tell whether it was kept."""
        return not self.problems


def judge(evidence: Evidence) -> list[Verdict]:
    """Return the verdict on every promise."""
    return [Verdict(part, each, _problems(each, evidence)) for part, some in PROMISES.items() for each in some]


def _problems(promise: Promise, evidence: Evidence) -> list[str]:
    try:
        return list(promise.check(evidence))
    except Exception as error:  # noqa: BLE001 - evidence too odd to be read is no evidence: the promise was not kept
        return [f"cannot be told: {error!r}"]
