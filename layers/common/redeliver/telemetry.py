"""Counters and gauges as CloudWatch Embedded Metric Format, and log lines, through Powertools (SPEC 8)."""

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from redeliver.core.redaction import redact
from redeliver.ports import MOST_EVENTS, Announcement, Bus, Unavailable

_MOST_METRICS = 99  # in one blob: CloudWatch drops what is beyond 100, and Powertools flushes by itself at 100
_Dimensions = tuple[tuple[str, str], ...]


class EmfTelemetry:
    """Adds up in memory and writes one blob per dimension set when flushed; safe to use from many threads."""

    def __init__(self, logger: Logger, bus: Bus | None = None) -> None:
        """Log through a Powertools logger; service and namespace come from its environment variables."""
        self._logger = logger
        self._bus = bus
        self._untold: list[tuple[str, Mapping[str, object]]] = []
        self._bus_fails = False  # until the next flush: a silent bus would hold up one delivery after the other
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, _Dimensions]] = Counter()
        self._gauges: dict[str, float] = {}

    def count(self, name: str, by: Mapping[str, str] | None = None, number: int = 1) -> None:
        """Add to a counter, by its dimensions beside `service`."""
        with self._lock:
            self._counts[name, tuple(sorted((by or {}).items()))] += number

    def gauge(self, name: str, value: float) -> None:
        """Set a gauge."""
        with self._lock:
            self._gauges[name] = value

    def log(self, event: str, **fields: object) -> None:
        """Write one log line; its texts are redacted."""
        self._logger.info(event, extra=_cleaned(fields))

    def warn(self, event: str, **fields: object) -> None:
        """Write one log line that somebody should look at; its texts are redacted."""
        self._logger.warning(event, extra=_cleaned(fields))

    def announce(self, what: Announcement, **detail: object) -> None:
        """Tell who listens, soon; the texts are redacted."""
        told = {name: value for name, value in _cleaned(detail).items() if value is not None}
        with self._lock:
            self._untold.append((what.value, told))
            full = len(self._untold) >= MOST_EVENTS and not self._bus_fails
        if full:
            self._publish()

    def _publish(self) -> None:
        with self._lock:
            events, self._untold = self._untold, []
        if self._bus is None or not events:
            return
        try:
            self._bus.publish(events)
        except Unavailable as error:  # who listens misses something; what was delivered stays delivered
            self._bus_fails = True
            self.warn("events_not_published", number=len(events), error=str(error))

    def _publish_the_rest(self) -> None:
        if not self._bus_fails:
            self._publish()
        with self._lock:
            left, self._untold, self._bus_fails = len(self._untold), [], False
        if left:
            self.warn("events_not_published", number=left, error="the bus had failed before, and was not asked again")

    @contextmanager
    def invocation(self, request_id: str) -> Iterator[None]:
        """Put the request id into every log line, and write what was counted, also when the invocation fails."""
        self._logger.append_keys(request_id=request_id)
        try:
            yield
        finally:
            self.flush()

    def flush(self) -> None:
        """Write what was counted, and tell what was announced, since the last flush."""
        with self._lock:
            counts, self._counts = self._counts, Counter()
            gauges, self._gauges = self._gauges, {}
        sets: dict[_Dimensions, list[tuple[str, MetricUnit, float]]] = {}
        for (name, dimensions), number in counts.items():
            sets.setdefault(dimensions, []).append((name, MetricUnit.Count, number))
        for name, value in gauges.items():
            unit = MetricUnit.Seconds if name.endswith("_seconds") else MetricUnit.Count
            sets.setdefault((), []).append((name, unit, value))
        for dimensions, metrics in sets.items():
            for first in range(0, len(metrics), _MOST_METRICS):
                _write(dimensions, metrics[first : first + _MOST_METRICS])
        self._publish_the_rest()  # last: a bus that does not answer costs no metric, should the invocation's time end


def _write(dimensions: _Dimensions, metrics: list[tuple[str, MetricUnit, float]]) -> None:
    blob = EphemeralMetrics()
    for name, value in dimensions:
        blob.add_dimension(name, value)
    for name, unit, number in metrics:
        blob.add_metric(name, unit, number)
    blob.flush_metrics()


def _cleaned(fields: Mapping[str, object]) -> dict[str, Any]:
    return {name: _clean(value) for name, value in fields.items()}


def _clean(value: object) -> object:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {str(name): _clean(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(inner) for inner in value]
    return value
