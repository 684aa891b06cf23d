"""What a run came to, for people to read."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from infra.local.faults.plan import Fault
from tests.faults.account import Account, Case
from tests.faults.run import Run
from tests.faults.stage import FUNCTIONS

MOST_SHOWN = 20  # offending records of one rule
_UNTOLD = ("channel", "dedup_key", "kind", "subject", "body", "lane", "created_at", "updated_at", "requested_at")


def text(run: Run) -> str:
    """Return the whole report."""
    account = run.account
    seconds = ", ".join(f"{what} {spent:.0f} s" for what, spent in run.seconds.items())
    parts = [
        [f"seed {run.seed}: {len(account.cases):,} notifications, asked for {run.asked:,} times ({seconds})"],
        _faults(run),
        _invocations(run),
        _account(account),
        ["", "adds up" if run.adds_up else "DOES NOT ADD UP"],
        _offences(run),
    ]
    return "\n".join(line for part in parts for line in part)


def _faults(run: Run) -> Iterator[str]:
    yield from ("", _row("requests of the functions", run.met))
    yield _row("  in all", [requests for requests, _ in run.met.values()])
    for fault in Fault:
        yield _row(f"  {fault.value}", [met[fault] for _, met in run.met.values()])


def _invocations(run: Run) -> Iterator[str]:
    yield from ("", _row("functions, by their logs", FUNCTIONS))
    for table in (run.ends, run.events):
        for what in sorted({name for found in table.values() for name in found}):
            yield _row(f"  {what}", [table[function][what] for function in FUNCTIONS])
    yield f"  processes killed, idle ones included: {run.kills}"


def _account(account: Account) -> Iterator[str]:
    names = ("accepted", "= sent", "+ dead", "+ suppr.", "+ pending", "requests", "delivered", "again", "maybe")
    yield from ("", "account".ljust(12) + "".join(name.rjust(10) for name in names))
    for channel in [*sorted({case.key[0] for case in account.cases}), None]:
        cases = list(account.of(channel))
        numbers = [
            account.taken(channel),
            *(account.count(status, channel) for status in ("sent", "dead_lettered", "suppressed", "pending")),
            sum(len(case.seen) for case in cases),
            sum(case.delivered for case in cases),
            sum(case.delivered > 1 for case in cases),
            sum(case.maybe for case in cases),
        ]
        yield f"  {channel or 'all'}".ljust(12) + "".join(f"{number:,}".rjust(10) for number in numbers)
    reasons: dict[str, int] = {}
    for case in account.cases:
        if case.record and case.status == "dead_lettered":
            reasons[case.record["last_reason"]] = reasons.get(case.record["last_reason"], 0) + 1
    told = ", ".join(f"{number} {reason}" for reason, number in sorted(reasons.items()))
    yield f"  requests and deliveries are counted by member of a digest; dead: {told or 'none'}"
    back = sum(not case.taken for case in account.cases)
    yield f"  handed back by the queue without having been stored: {back}"


def _offences(run: Run) -> Iterator[str]:
    if not run.account.sum_is_right:
        yield "  what was accepted is not what is sent, dead, suppressed or pending"
    for error in run.unforeseen:
        yield f"  a function, or an item of a sweep, met an error that no fault should lead to: {error}"
    if run.unrecorded:
        yield f"  {run.unrecorded} requests that the endpoint got are not those that the proxy forwarded"
    for rule, cases in run.account.broken.items():
        yield f"  {len(cases)} times it is not so that {rule}:"
        for case in cases[:MOST_SHOWN]:
            yield from _case(case)
        if len(cases) > MOST_SHOWN:
            yield f"    and {len(cases) - MOST_SHOWN} more"


def _case(case: Case) -> Iterator[str]:
    kept = {name: str(value) for name, value in (case.record or {}).items() if name not in _UNTOLD}
    yield f"    {' '.join(case.key)}: {kept if case.record else 'no record'}"
    for answer in case.told:
        yield f"      told: {answer['result']}, {answer['status']}"
    for seen in case.seen:
        at = datetime.fromtimestamp(seen.at, UTC).strftime("%H:%M:%S.%f")[:-3]
        batch = f" in batch {seen.batch_id}" if seen.batch_id else ""
        yield f"      {at} answered {seen.status}, {seen.fault or 'no fault'}{batch}"


def _row(title: str, cells: Sequence[object] | Mapping[str, object]) -> str:
    told = (f"{cell:,}" if isinstance(cell, int) else str(cell).removesuffix("Function") for cell in cells)
    return title.ljust(46) + "".join(cell.rjust(14) for cell in told)
