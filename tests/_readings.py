"""Metrics that are collected in memory."""

from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import DataPointT, InMemoryMetricReader, Metric, NumberDataPoint

Attributes = dict[str, Any]


class Collected:
    """A meter provider, and what is collected of it."""

    def __init__(self) -> None:
        self.reader = InMemoryMetricReader()
        self.provider = MeterProvider([self.reader], shutdown_on_exit=False)

    def metrics(self) -> dict[str, Metric]:
        """By name, as of now."""
        data = self.reader.get_metrics_data()
        scopes = [scope for each in data.resource_metrics for scope in each.scope_metrics] if data is not None else []
        return {metric.name: metric for scope in scopes for metric in scope.metrics}

    def numbers(self, name: str) -> list[tuple[Attributes, float]]:
        """The points of a metric, of a histogram how many values there were."""
        metric = self.metrics().get(name)
        points = [] if metric is None else metric.data.data_points
        return [(dict(point.attributes or {}), _number(point)) for point in points]

    def by(self, name: str, attribute: str) -> dict[Any, float]:
        """The points of a metric by one of their attributes, which each has a value of its own of."""
        points = self.numbers(name)
        found = {attributes[attribute]: number for attributes, number in points}
        assert len(found) == len(points)
        return found


def _number(point: DataPointT) -> float:
    return point.value if isinstance(point, NumberDataPoint) else point.count
