"""The `retry_sweeper` function: one sweep over what is due, or an operator's command."""

import os
from dataclasses import dataclass
from functools import cache
from typing import Any

from redeliver import settings, wiring
from redeliver.operator.commands import Operate
from redeliver.sweep import Sweep
from redeliver.telemetry import EmfTelemetry


class SweepIncomplete(Exception):
    """Items met an error of ours; the run did all the others."""


@dataclass(frozen=True, slots=True)
class Sweeper:
    """What an invocation needs."""

    sweep: Sweep
    operate: Operate
    telemetry: EmfTelemetry


@cache
def wired() -> Sweeper:
    """Return the use cases over the real adapters, made once per container."""
    environment = settings.read(os.environ)
    kit = wiring.outfit(environment, concurrency=environment.sweep_concurrency)
    sweep = Sweep(
        ledger=kit.notifications,
        lanes=kit.notifications,
        channels=kit.channels,
        states=kit.states,
        deliver=kit.deliver,
        telemetry=kit.telemetry,
        clock=wiring.now,
        max_records=environment.sweep_max_records,
        concurrency=environment.sweep_concurrency,
        recheck=environment.not_configured_recheck,
    )
    operate = Operate(
        ledger=kit.notifications,
        lanes=kit.notifications,
        states=kit.states,
        telemetry=kit.telemetry,
        clock=wiring.now,
    )
    return Sweeper(sweep, operate, kit.telemetry)


def handler(event: object, context: wiring.LambdaContext) -> dict[str, Any]:
    """Carry out a command, or sweep on any other event; raises SweepIncomplete when a run is over."""
    sweeper = wired()
    with sweeper.telemetry.invocation(context.aws_request_id):
        if isinstance(event, dict) and "command" in event:
            return sweeper.operate(event)
        report = sweeper.sweep(wiring.InvocationDeadline(context))
    if report.failed_items:
        raise SweepIncomplete(f"{report.failed_items} items met an error; see item_failed in the log: {report}")
    return report.as_json()
