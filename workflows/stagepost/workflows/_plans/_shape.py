"""What a workflow is made of, as JSON: stored with its runs, so that one whose place is gone can be told what is."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic_core import from_json, to_json

from stagepost.checkpoint import PLAIN, Shape

from .._steps._step import Step
from .._values._expected import summary_of
from ._places import items_in
from ._plan import ArrowPlace, FanOutPlace, FoldPlace, Place, Plan, RoutePlace, StepPlace

_KINDS: Mapping[type[Place], str] = {
    StepPlace: "step",
    RoutePlace: "conditional",
    FanOutPlace: "parallel",
    FoldPlace: "fold",
    ArrowPlace: "edge",
}


def shape_of(plan: Plan) -> Shape:
    """Kinds, names and ways of a plan, and in its id also what its steps wait for; the same plan has the same shape."""
    skeleton = to_json(_outline(plan))
    waits = to_json([_awaited(step) for step in _steps(plan)])
    return Shape(hashlib.sha256(skeleton + waits).hexdigest()[:32], skeleton)


def is_plain(plan: Plan) -> bool:
    """Whether all values of its runs are plain JSON, so that no stored one can misfit a type that has changed."""
    if plan.schema.model is not None or plan.schema.lists or getattr(plan.schema, "types", None):
        return False
    if any(step.receives is not None and not step.receives.is_plain for step in _steps(plan)):
        return False
    return all(_has_plain_items(place) for place in plan.places.values())


def places_in(skeleton: bytes) -> Mapping[str, str]:
    """The kind of each place in a stored shape, by its path; those inside of items as ``name[]/path``."""
    return dict(_places(from_json(skeleton), ""))


def branches_in(skeleton: bytes, path: str) -> Sequence[str]:
    """Names of the branches that a fan-out had in a stored shape; none, if it had one worker or was not there."""
    outline = from_json(skeleton)
    outer, bracket, name = path.rpartition("]/")
    for fan, idx in items_in(f"{outer}]" if bracket else ""):
        workers = outline.get(fan, {}).get("workers", [None])
        outline = workers[min(idx, len(workers) - 1)] or {}
    branches: Sequence[str] = outline.get(name, {}).get("branches", ())
    return branches


def expected_at(skeleton: bytes, place: str) -> tuple[str, str] | None:
    """The type of what a step waited for in a stored shape, by its name and a digest; None for plain JSON.

    Raises:
        LookupError: There was no such step.
    """
    outline, path = from_json(skeleton), place.partition("#")[0]
    outer, bracket, name = path.rpartition("]/")
    for fan, idx in items_in(f"{outer}]" if bracket else ""):
        outline = _at(outline[fan]["workers"], idx)
    items = items_in(name)
    found = _at(outline[items[0][0]]["expects"], items[0][1]) if items else outline[name].get("expects")
    return None if found is None else (found[0], found[1])


def _at(workers: Sequence[Any], idx: int) -> Any:
    """What belongs to an item: each branch has a worker of its own, or all items have one."""
    return workers[min(idx, len(workers) - 1)]


def _outline(plan: Plan) -> dict[str, Any]:
    return {path: _place(place) for path, place in plan.places.items()}


def _place(place: Place) -> dict[str, Any]:
    outline: dict[str, Any] = {"kind": _KINDS[type(place)]}
    match place:
        case RoutePlace():
            outline["ways"] = dict(place.ways)
        case ArrowPlace():
            outline["ways"] = [[condition, way] for condition, way in place.ways]
        case FanOutPlace():
            outline |= {"after": place.after, "branches": list(place.branches)}
            outline["workers"] = [None if isinstance(worker, Step) else _outline(worker) for worker in place.workers]
            outline["expects"] = [_expects(worker) if isinstance(worker, Step) else None for worker in place.workers]
        case StepPlace() if _expects(place.step) is not None:
            outline |= {"after": place.after, "expects": _expects(place.step)}
        case _:
            outline["after"] = place.after
    return outline


def _places(outline: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    for path, place in outline.items():
        if place["kind"] == "edge":
            continue
        yield prefix + path, place["kind"]
        for worker in place.get("workers", ()):
            if worker is not None:
                yield from _places(worker, f"{prefix}{path}[]/")


def _steps(plan: Plan) -> Iterator[Step]:
    """All steps of a plan, those of workers too, in their order."""
    for place in plan.places.values():
        match place:
            case StepPlace() | RoutePlace() | FoldPlace():
                yield place.step
            case FanOutPlace():
                for worker in place.workers:
                    yield from [worker] if isinstance(worker, Step) else _steps(worker)


def _awaited(step: Step) -> object:
    receives = step.receives
    return None if receives is None else (receives.kind.value, receives.name, receives.only)


def _expects(step: Step) -> tuple[str, str] | None:
    """The type of what a step waits for, unless its questions decide."""
    receives = step.receives
    return None if receives is None or receives.type_of is not None else summary_of(receives.codec)


def _has_plain_items(place: Place) -> bool:
    match place:
        case FoldPlace():
            return place.source.item_codec is PLAIN
        case FanOutPlace():
            workers = [worker for worker in place.workers if not isinstance(worker, Step)]
            codecs = (place.pattern.item_codec, place.pattern.value_codec)
            return all(codec is PLAIN for codec in codecs) and all(map(is_plain, workers))
    return True
