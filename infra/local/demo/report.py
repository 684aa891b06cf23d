"""The report: a line per notification, what CloudWatch holds, the verdict. Text only; printing is for others."""

from collections.abc import Iterator, Sequence

from infra.local.demo import cast
from infra.local.demo.evidence import Evidence, History
from infra.local.demo.promises import Verdict
from infra.local.demo.witness import GAUGES

Row = tuple[str, ...]
COLUMNS = ("channel", "key", "kind", "status", "tries", "waits s", "batch", "why", "record")
LONGEST_PROBLEM = 110


def notifications(evidence: Evidence) -> Iterator[str]:
    """Yield the table of the notifications, in the order of the story."""
    yield "Notifications"
    known = [evidence.history(request) for request in cast.EXPECTED if _known(evidence, request)]
    others = [history for history in evidence.histories.values() if history not in known]
    yield from _table([COLUMNS, *(_row(evidence, history) for history in [*known, *others])])
    yield ""
    yield "tries:  attempts charged, +n after a redrive; one attempt makes up to three requests"
    yield "waits:  seconds for which the endpoint heard nothing between two attempts"
    yield "record: deleted by TTL after the retention window; kept, as its finding is not known to be resolved"


def metrics(evidence: Evidence) -> Iterator[str]:
    """Yield what CloudWatch holds."""
    yield "CloudWatch, namespace redeliver"
    rows = [
        (name, ", ".join(values), f"{value:.0f}", "maximum" if name in GAUGES else "sum")
        for (name, values), value in sorted(evidence.metrics.items())
    ]
    yield from _table([("metric", "by", "value", ""), *rows])


def verdict(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield each promise with ✓ or ✗, and the sum of them."""
    yield "Verdict"
    part = ""
    for each in verdicts:
        if each.part != part:
            part = each.part
            yield part
        yield f"  {'✓' if each.kept else '✗'} {each.promise.text}"
        yield from (f"      {problem[:LONGEST_PROBLEM]}" for problem in each.problems)
    kept = sum(each.kept for each in verdicts)
    yield ""
    yield f"{kept} of {len(verdicts)} promises kept" + ("." if kept == len(verdicts) else ": NOT as promised.")


def _known(evidence: Evidence, request: cast.Request) -> bool:
    return (request["channel"], request["dedup_key"]) in evidence.histories


def _row(evidence: Evidence, history: History) -> Row:
    last = history.last
    return (
        last["channel"],
        last["dedup_key"],
        last["kind"],
        last["status"],
        "+".join(map(str, history.attempts)),
        " ".join(f"{wait:.1f}" for wait in evidence.waits(history)) or "-",
        last.get("dispatch_batch_id", "-")[:6],
        " ".join(_why(history)) or "-",
        _record(history),
    )


def _why(history: History) -> Iterator[str]:
    """Yield what explains a record: its failures, or that it waits for a channel document."""
    reasons = [state["last_reason"] for state in history.states if state.get("last_reason")]
    yield from dict.fromkeys(reasons)
    if history.last["channel"] == cast.PAGER:
        yield "unconfigured"


def _record(history: History) -> str:
    if history.forgotten:
        return "deleted"
    if history.last["status"] in ("pending", "retrying"):
        return "waits"
    return "expires" if "expires_at" in history.last else "kept"


def _table(rows: Sequence[Row]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        if number == 0:
            yield "  ".join("-" * width for width in widths)
