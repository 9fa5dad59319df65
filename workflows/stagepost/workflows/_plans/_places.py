"""Finding the plan or the step that a stored path belongs to."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stagepost.checkpoint import Codec, WaitKind

from .._steps._step import Step
from ..errors import DefinitionError
from ._plan import FanOutPlace, FoldPlace, Plan, RoutePlace, StepPlace

_ITEM = re.compile(r"([^\[\]]+)\[(\d+)\]/?")  # a fan-out in a path, and which of its items


def plan_at(plan: Plan, path: str) -> Plan | None:
    """The plan of the frame at a path: the root's own, or that of the worker that the path leads to."""
    for name, idx in items_in(path):
        worker = _worker(plan, name, idx)
        if worker is None or isinstance(worker, Step):
            return None
        plan = worker
    return plan


def items_in(path: str) -> Sequence[tuple[str, int]]:
    """The fan-outs or folds in a path, outermost first, each with which of its items."""
    return [(name, int(idx)) for name, idx in _ITEM.findall(path)]


def step_at(plan: Plan, place: str) -> Step | None:
    """The step at a place, visits or not; None if the workflow has no such step."""
    path = place.partition("#")[0]
    outer, bracket, name = path.rpartition("]/")
    inner = plan_at(plan, f"{outer}]" if bracket else "")
    if inner is None:
        return None
    item = _ITEM.fullmatch(name)
    if item is not None:
        worker = _worker(inner, item[1], int(item[2]))
        return worker if isinstance(worker, Step) else None
    found = inner.places.get(name)
    return found.step if isinstance(found, StepPlace | RoutePlace) else None


def _worker(plan: Plan, name: str, idx: int) -> Step | Plan | None:
    place = plan.places.get(name)
    if isinstance(place, FoldPlace):
        return place.step
    return place.worker(idx) if isinstance(place, FanOutPlace) and place.has_worker(idx) else None


def signals_of(plan: Plan) -> Mapping[str, Codec[Any]]:
    """The signals that a workflow receives, workers included, and what each carries."""
    found: dict[str, Codec[Any]] = {}
    for step in _steps(plan):
        for name, codec in _signals_to(step).items():
            found.setdefault(name, codec)
    return found


def _signals_to(step: Step) -> Mapping[str, Codec[Any]]:
    """What a step waits for, and what it reads."""
    receives = step.receives
    if receives is None or receives.kind is not WaitKind.SIGNAL:
        return step.signals
    return {**step.signals, receives.name: receives.codec}


def check_signals(name: str, plan: Plan) -> None:
    """See that a signal carries the same wherever it is received.

    Raises:
        DefinitionError: Two steps expect different types.
    """
    known = signals_of(plan)
    for step in _steps(plan):
        for signal, codec in _signals_to(step).items():
            if codec is not known[signal]:
                raise DefinitionError(
                    f"workflow {name!r}",
                    f"step {step.name!r} expects another type of signal {signal!r} than a step before it: "
                    "give both the same expect=, or one another signal=",
                )


def _steps(plan: Plan) -> Iterator[Step]:
    for place in plan.places.values():
        if isinstance(place, StepPlace):
            yield place.step
        elif isinstance(place, FanOutPlace):
            for worker in place.workers:
                if isinstance(worker, Step):
                    yield worker
                else:
                    yield from _steps(worker)
