"""A plan as a mermaid flowchart."""

from collections.abc import Iterator, Mapping

from .._steps._step import Step
from ._plan import ArrowPlace, FanOutPlace, FoldPlace, Plan, RoutePlace, StepPlace


def mermaid(plan: Plan) -> str:
    """The flowchart of a plan: boxes for steps, diamonds for choices, a frame round the worker of a fan-out."""
    lines, _ = chart(plan, {})
    return "\n".join(lines)


def chart(plan: Plan, counts: Mapping[str, str]) -> tuple[list[str], Mapping[str, str]]:
    """The lines of a plan's flowchart, and the ids of its places by their paths.

    Args:
        plan: What to draw.
        counts: What stands behind the names of fan-outs and folds, by their paths.

    Returns:
        The lines, and the ids by paths; those of places in a worker begin as ``summaries[0]/``.
    """
    ids: dict[str, str] = {}
    return ["flowchart TD", *_Drawing(plan, ids, counts).lines()], ids


class _Drawing:
    """Draws one plan.

    Args:
        plan: What to draw.
        ids: Ids of all places drawn so far, also those of the plans around this one.
        counts: See `chart`.
        prefix: Path of the fan-out whose worker this is, with a slash.
    """

    def __init__(self, plan: Plan, ids: dict[str, str], counts: Mapping[str, str], prefix: str = "") -> None:
        self._plan = plan
        self._ids = ids
        self._counts = counts
        self._prefix = prefix

    def lines(self) -> Iterator[str]:
        """Nodes and arrows, each place before those behind it: patterns compile themselves from their ends."""
        for path, place in reversed(tuple(self._plan.places.items())):
            match place:
                case StepPlace():
                    yield f"    {self._id(path)}[{_text(place.step.name)}]"
                    yield from self._arrows(path, place.after)
                case RoutePlace():
                    yield f"    {self._id(path)}{{{_text(place.step.name)}}}"
                    for route, target in place.ways.items():
                        yield from self._arrows(path, target, route)
                case FoldPlace():
                    title = f"each of {place.source.name}, in order{self._count(path)}"
                    yield f"    {self._id(path)}[[{_text(title)}]]"
                    yield from self._arrows(path, place.after)
                case FanOutPlace():
                    yield from self._fan_out(path, place)
                    yield from self._arrows(path, place.after)
                case _:
                    pass  # an arrow of a graph: drawn as lines from the places that lead to it

    def _fan_out(self, path: str, place: FanOutPlace) -> Iterator[str]:
        title = place.pattern.name if place.branches else f"each of {place.pattern.name}"
        yield f"    subgraph {self._id(path)}[{_text(title + self._count(path))}]"
        for idx, worker in enumerate(place.workers):
            if isinstance(worker, Step):
                yield f"        {self._id(f'{path}/worker')}[{_text(worker.name)}]"
            else:
                inner = _Drawing(worker, self._ids, self._counts, f"{self._prefix}{path}[{idx}]/")
                yield from (f"    {line}" for line in inner.lines())
        yield "    end"

    def _arrows(self, source: str, target: str | None, label: str | None = None) -> Iterator[str]:
        """The arrow to a place; through an arrow of a graph, those to all places that it may lead to."""
        if target is None:
            return
        place = self._plan.places[target]
        if isinstance(place, ArrowPlace):
            for condition, way in place.ways:
                yield from self._arrows(source, way, condition or label)
            return
        text = f"|{_text(label)}|" if label else ""
        yield f"    {self._id(source)} -->{text} {self._id(target)}"

    def _count(self, path: str) -> str:
        count = self._counts.get(self._prefix + path)
        return "" if count is None else f" ({count})"

    def _id(self, path: str) -> str:
        return self._ids.setdefault(self._prefix + path, f"n{len(self._ids) + 1}")


def _text(text: str) -> str:
    """Text as mermaid wants it: quoted, with nothing in it that ends the quotes."""
    return '"' + text.replace('"', "'") + '"'
