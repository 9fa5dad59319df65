"""Metrics of runs for OpenTelemetry: ``Runner(store, observer=RunMetrics())``. Needs the extra ``otel``.

They count and time what a process does with runs and steps, by workflow and place. For traces see `stagepost.agents`.
"""

import re
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Final

from stagepost._installing import how_to_install
from stagepost.checkpoint import CheckpointError, RunStatus
from stagepost.hub import Duration, Event, get_logger, seconds

from ._events import Checkpointed, ItemEnded, RunEnded, RunStarted, StepEnded, StepRetried, WaitOpened
from ._runner._runner import Runner
from .errors import RunnerNotOpen

try:
    from opentelemetry import metrics

    from stagepost._metering import Gauges, Readings, meter_of
except ModuleNotFoundError as error:
    raise ImportError(
        f"stagepost.workflows.otel needs opentelemetry-api, which is not installed: {how_to_install('otel')}",
        name=error.name,
    ) from None

__all__ = ["RunMetrics"]

_WORKFLOW: Final = "stagepost.workflow"
_STEP: Final = "stagepost.step"
_STATUS: Final = "stagepost.run.status"
_OUTCOME: Final = "stagepost.outcome"
_OUTCOMES: Final = {True: "ok", False: "failed"}
_COUNT: Final = "stagepost.run.count"
_QUEUED: Final = "stagepost.run.queued"
_WATCHED: Final = (RunStatus.RUNNING, RunStatus.WAITING, RunStatus.FAILED, RunStatus.DEAD)
_INDEX: Final = re.compile(r"\[\d+\]")
_LONG: Final = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0, 14400.0)  # seconds
_SHORT: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)


class RunMetrics:
    """Records what happens to runs as metrics of OpenTelemetry; an observer of a `Runner` or of ``Pattern.run``.

    Events are counted and timed as they come. How many runs there are is read from the store within `watching`::

        metrics = RunMetrics()
        async with Runner(store, workflows=[digest], observer=metrics) as runner, metrics.watching(runner): ...

    Make one of it for all runners of a process. Attributes are names of workflows, places of steps without the indexes
    of items, statuses and classes of errors: never an id, and never a value.

    Args:
        meter_provider: Makes the instruments; by default the global one of OpenTelemetry.
    """

    def __init__(self, meter_provider: metrics.MeterProvider | None = None) -> None:
        meter = meter_of("stagepost.workflows", meter_provider)
        counter, timed = meter.create_counter, partial(meter.create_histogram, unit="s")
        self._started = counter("stagepost.run.started", "{run}", "Runs that a process began or went on with.")
        self._ended = counter("stagepost.run.ended", "{run}", "Runs that a process works on no longer.")
        self._lasted = timed(
            "stagepost.run.duration",
            description="How long a process has worked on a run.",
            explicit_bucket_boundaries_advisory=_LONG,
        )
        self._steps = counter("stagepost.step.ended", "{step}", "Steps that were committed or have failed.")
        self._took = timed(
            "stagepost.step.duration",
            description="How long steps took, with their commits.",
            explicit_bucket_boundaries_advisory=_LONG,
        )
        self._items = counter("stagepost.item.ended", "{item}", "Items of fan-outs whose outcome was committed.")
        self._retried = counter("stagepost.step.retried", "{retry}", "Failed attempts that are followed by another.")
        self._waits = counter("stagepost.wait.opened", "{wait}", "Waits for something outside.")
        self._commits = timed(
            "stagepost.commit.duration",
            description="How long the store took for a commit.",
            explicit_bucket_boundaries_advisory=_SHORT,
        )
        self._gauges = Gauges(meter)
        self._gauges.add(_COUNT, "{run}", "Runs in the store that are open, failed or dead.")
        self._gauges.add(_QUEUED, "{run}", "Runs that wait for a slot or a limit of their runner.")
        self._log = get_logger("workflows")

    def on_event(self, event: Event, /) -> None:
        """Record an event."""
        match event:
            case StepEnded():
                about = {**_place(event), _OUTCOME: _OUTCOMES[event.ok]}
                self._steps.add(1, about)
                self._took.record(event.seconds, about)
            case ItemEnded():
                self._items.add(1, {**_place(event), _OUTCOME: _OUTCOMES[event.ok]})
            case Checkpointed():
                self._commits.record(event.seconds, {_WORKFLOW: event.workflow})
            case StepRetried():
                self._retried.add(1, {**_place(event), "error.type": event.error})
            case WaitOpened():
                self._waits.add(1, {**_place(event), "stagepost.wait.kind": event.kind})
            case RunStarted():
                self._started.add(1, {_WORKFLOW: event.workflow, "stagepost.run.recovered": event.recovered})
            case RunEnded():
                about = {_WORKFLOW: event.workflow, _STATUS: event.status}
                self._ended.add(1, about)
                self._lasted.record(event.seconds, about)

    def watching(self, runner: Runner, *, every: Duration = 15.0) -> AbstractAsyncContextManager[None]:
        """Also record how many runs a runner and its store have, within a block inside of the runner's.

        The store is read by a task on the runner's event loop. If it cannot be read, that is logged, and nothing is
        recorded until it can be read again.

        Args:
            runner: The runner, which is entered.
            every: How often they are counted, in seconds or as a `timedelta`. Export them no more often.

        Raises:
            RunnerNotOpen: The runner is not entered.
        """
        runner.statistics()
        return self._gauges.reading(partial(self._read, runner), seconds(every, "every"))

    async def _read(self, runner: Runner) -> Readings:
        try:
            counts = await runner.runs.count(by="status", status=_WATCHED)
            now = runner.statistics()
        except (CheckpointError, RunnerNotOpen) as error:
            self._log.warning("runs could not be counted for metrics", error=type(error).__name__)
            return {}
        queued = {"slot": now.queued, "limit": now.in_line}
        return {
            _COUNT: {((_STATUS, status.value),): counts.by[status] for status in _WATCHED},
            _QUEUED: {(("stagepost.run.queued_for", what),): number for what, number in queued.items()},
        }


def _place(event: StepEnded | ItemEnded | StepRetried | WaitOpened) -> Mapping[str, str]:
    """The workflow of a step, and its place, which is the same for all items."""
    path = event.path
    return {_WORKFLOW: event.workflow, _STEP: _INDEX.sub("", path) if "[" in path else path}
