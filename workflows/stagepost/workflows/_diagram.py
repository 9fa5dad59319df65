"""A program as a mermaid flowchart."""

from collections.abc import Iterator

from ._program import ArrowPlace, FanOutPlace, Program, RoutePlace, StepPlace


def mermaid(program: Program) -> str:
    """The flowchart of a program: boxes for steps, diamonds for choices, a frame round the worker of a fan-out."""
    return "\n".join(["flowchart TD", *_Drawing(program, "", "    ").lines()])


class _Drawing:
    """Draws one program; the paths of a worker's places begin with that of its fan-out."""

    def __init__(self, program: Program, prefix: str, indent: str) -> None:
        self._program = program
        self._prefix = prefix
        self._indent = indent

    def lines(self) -> Iterator[str]:
        for path, place in self._program.places.items():
            match place:
                case StepPlace():
                    yield self._line(f"{self._id(path)}[{_text(place.step.name)}]")
                    yield from self._arrow(path, place.after)
                case RoutePlace():
                    yield self._line(f"{self._id(path)}{{{_text(place.step.name)}}}")
                    for route, target in place.ways.items():
                        yield from self._arrow(path, target, route)
                case FanOutPlace():
                    yield from self._fan_out(path, place)
                    yield from self._arrow(path, place.after)
                case ArrowPlace():
                    pass  # drawn as lines from the places that lead to it

    def _fan_out(self, path: str, place: FanOutPlace) -> Iterator[str]:
        yield self._line(f"subgraph {self._id(path)}[{_text(f'each of {place.pattern.name}')}]")
        inner = (
            _Drawing(place.worker, f"{self._prefix}{path}/", f"{self._indent}    ")
            if isinstance(place.worker, Program)
            else None
        )
        if inner is not None:
            yield from inner.lines()
        else:
            yield self._line(f"    {self._id(f'{path}/worker')}[{_text(place.worker.name)}]")  # type: ignore[union-attr]  # a step
        yield self._line("end")

    def _arrow(self, source: str, target: str | None, label: str | None = None) -> Iterator[str]:
        if target is None:
            return
        place = self._program.places[target]
        if isinstance(place, ArrowPlace):
            for condition, way in place.ways:
                yield from self._arrow(source, way, condition or label)
            return
        text = f"|{_text(label)}|" if label else ""
        yield self._line(f"{self._id(source)} -->{text} {self._id(target)}")

    def _id(self, path: str) -> str:
        return "n_" + "".join(c if c.isalnum() else f"_{ord(c):x}_" for c in f"{self._prefix}{path}")

    def _line(self, text: str) -> str:
        return f"{self._indent}{text}"


def _text(text: str) -> str:
    """Text as mermaid wants it: quoted, with nothing in it that ends the quotes."""
    return '"' + text.replace('"', "'") + '"'
