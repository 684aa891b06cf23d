"""What was delivered, by the metric `notifications.sent`: port Deliveries."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient
    from mypy_boto3_cloudwatch.type_defs import MetricDataQueryTypeDef, MetricOutputTypeDef

NAMESPACE = "redeliver"
SENT = "notifications.sent"
_HOUR = timedelta(hours=1)
_MOST_QUERIES = 500  # of one GetMetricData call


class CloudWatchDeliveries:
    """The metric of one stack; one look serves all channels."""

    def __init__(self, client: "CloudWatchClient", service: str) -> None:
        """Ask nothing yet."""
        self._client = client
        self._service = service
        self._looked_at: datetime | None = None
        self._sent: Counter[str] = Counter()

    def in_the_last_hour(self, channel: str, now: datetime) -> int:
        """Return how many records a channel delivered, whole minutes of the hour."""
        if self._looked_at != now:
            self._sent, self._looked_at = self._look(now), now
        return self._sent[channel]

    def _look(self, now: datetime) -> Counter[str]:
        sent: Counter[str] = Counter()
        for metrics in _in_groups(list(self._metrics())):
            queries: list[MetricDataQueryTypeDef] = [
                {"Id": f"m{number}", "MetricStat": {"Metric": metric, "Period": 60, "Stat": "Sum"}}
                for number, metric in enumerate(metrics)
            ]
            pages = self._client.get_paginator("get_metric_data").paginate(
                MetricDataQueries=queries, StartTime=now - _HOUR, EndTime=now + timedelta(minutes=1)
            )
            for page in pages:
                for result in page["MetricDataResults"]:
                    channel = _dimensions(metrics[int(result["Id"][1:])])["channel"]
                    sent[channel] += round(sum(result["Values"]))
        return sent

    def _metrics(self) -> Iterator["MetricOutputTypeDef"]:
        pages = self._client.get_paginator("list_metrics").paginate(
            Namespace=NAMESPACE, MetricName=SENT, Dimensions=[{"Name": "service", "Value": self._service}]
        )
        seen = set()
        for page in pages:
            for metric in page["Metrics"]:
                by = _dimensions(metric)
                # One of fewer dimensions, or named twice, would count the same deliveries again.
                if {"channel", "kind"} <= by.keys() and (named := (by["channel"], by["kind"])) not in seen:
                    seen.add(named)
                    yield metric


def _dimensions(metric: "MetricOutputTypeDef") -> dict[str, str]:
    return {each["Name"]: each["Value"] for each in metric.get("Dimensions", [])}


def _in_groups(metrics: Sequence["MetricOutputTypeDef"]) -> Iterator[Sequence["MetricOutputTypeDef"]]:
    for first in range(0, len(metrics), _MOST_QUERIES):
        yield metrics[first : first + _MOST_QUERIES]
