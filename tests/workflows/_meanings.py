"""Random workflows of steps, effects, waits and growing lists, each with its meaning as a plain function."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Annotated, Any, TypeAlias

from hypothesis import strategies as st

from stagepost.workflows import (
    Append,
    Chain,
    Conditional,
    Graph,
    Parallel,
    Pattern,
    Receive,
    State,
    Step,
    StepContext,
    Wait,
    step,
)

Values: TypeAlias = Mapping[str, Any]
Fold: TypeAlias = Callable[[Values], dict[str, Any]]  # a state to what is written to it


@dataclass(frozen=True)
class Meant:
    """A step or pattern, and what it writes, as a pure function of the state."""

    node: Step | Pattern
    fold: Fold


Maker: TypeAlias = Callable[[Iterator[int]], Meant]


def _hash(*parts: object) -> int:
    return sum((index + 1) * hash(part) for index, part in enumerate(parts)) % 997


def _step(salt: int) -> Maker:
    def make(numbers: Iterator[int]) -> Meant:
        name = f"s{next(numbers)}"

        def fold(state: Values) -> dict[str, Any]:
            return {"x": _hash(state["x"], salt), "trace": [*state["trace"][-5:], f"{name} {state['x']}"]}

        return Meant(step(name, fold, inline=True), fold)

    return make


def _effect(salt: int) -> Maker:
    """Notes in the list that the process gives that it has happened; whoever is asked knows what it has returned."""

    def make(numbers: Iterator[int]) -> Meant:
        name = f"e{next(numbers)}"

        def fold(state: Values) -> dict[str, Any]:
            return {"x": _hash(state["x"], salt)}

        async def act(state: State, context: StepContext) -> dict[str, Any]:
            def effect() -> int:
                context.deps.append(context.place)
                return look()

            def look() -> int:
                return int(fold(state)["x"])

            return {"x": await context.once("act", effect, on_unknown=look)}

        return Meant(step(name, act), fold)

    return make


def _log(length: int) -> Maker:
    """Adds to a list that only grows."""

    def make(numbers: Iterator[int]) -> Meant:
        name = f"l{next(numbers)}"

        def added(state: Values) -> list[str]:
            return [f"{name} {len(state['log'])} {index}" for index in range(length)]

        def fold(state: Values) -> dict[str, Any]:
            return {"log": [*state["log"], *added(state)]}

        return Meant(step(name, lambda state: {"log": added(state)}, inline=True), fold)

    return make


def answer_to(shown: object) -> int:
    """What somebody answers to what a wait shows."""
    return _hash(shown, 7)


def _wait(numbers: Iterator[int]) -> Meant:
    name = f"w{next(numbers)}"
    return Meant(Wait(name, show=lambda state: state["x"]), lambda state: {name: answer_to(state["x"])})


def word_of(name: str) -> int:
    """What somebody sends as a signal of a name, in any process."""
    return sum(map(ord, name)) % 997


def _receive(numbers: Iterator[int]) -> Meant:
    name = f"v{next(numbers)}"
    return Meant(Receive(name, expect=int), lambda _: {name: word_of(name)})


def _doubt(salt: int) -> Maker:
    """Nobody knows whether it has happened; it shows what it would have returned to whoever says that it has."""

    def make(numbers: Iterator[int]) -> Meant:
        name = f"d{next(numbers)}"

        def fold(state: Values) -> dict[str, Any]:
            return {"x": _hash(state["x"], salt)}

        async def act(state: State, context: StepContext) -> dict[str, Any]:
            def effect() -> int:
                context.deps.append(context.place)
                raise ConnectionError("cut")

            return {"x": await context.once("act", effect, expect=int, show=fold(state)["x"])}

        return Meant(step(name, act), fold)

    return make


def _chain(makers: list[Maker], types: Mapping[str, Any] | None = None) -> Maker:
    def make(numbers: Iterator[int]) -> Meant:
        parts = [maker(numbers) for maker in makers]

        def fold(state: Values) -> dict[str, Any]:
            written: dict[str, Any] = {}
            for part in parts:
                written |= part.fold({**state, **written})
            return written

        return Meant(Chain(f"c{next(numbers)}", [part.node for part in parts], types=types), fold)

    return make


def _conditional(routes: list[Maker], *, default: bool) -> Maker:
    def make(numbers: Iterator[int]) -> Meant:
        parts = [maker(numbers) for maker in routes]

        def choose(state: Values) -> int:
            return int(state["x"]) % len(parts)

        def fold(state: Values) -> dict[str, Any]:
            return parts[choose(state)].fold(state)

        def route(state: State) -> str:
            return f"r{choose(state)}"

        *first, last = parts
        ways = {f"r{index}": part.node for index, part in enumerate(first if default else parts)}
        name = f"k{next(numbers)}"
        return Meant(Conditional(name, route, ways, default=last.node if default else None), fold)

    return make


def _graph(body: Maker, rounds: int) -> Maker:
    """Goes round a few times; counts in a key that is 0 again when it is left."""

    def make(numbers: Iterator[int]) -> Meant:
        inner = body(numbers)
        name = f"g{next(numbers)}"

        def turn(state: Values) -> dict[str, Any]:
            return {name: (state.get(name, 0) + 1) % rounds}

        def fold(state: Values) -> dict[str, Any]:
            written: dict[str, Any] = {}
            for _ in range(rounds):
                written |= inner.fold({**state, **written})
                written |= turn({**state, **written})
            return written

        graph = Graph(name)
        graph.add("body", inner.node)
        graph.add("turn", step("turn", turn, inline=True))
        graph.add("end", step("end", lambda _: None, inline=True))
        graph.edge("body", "turn")
        graph.edge("turn", "body", when=lambda state: state[name] != 0)
        graph.edge("turn", "end")
        graph.start("body")
        graph.finish("end")
        return Meant(graph, fold)

    return make


def _parallel(worker: Maker | None, items: int, workers: int, salt: int) -> Maker:
    def make(numbers: Iterator[int]) -> Meant:
        name = f"p{next(numbers)}"
        inner = None if worker is None else worker(numbers)

        def taken(state: Values) -> list[int]:
            return [_hash(state["x"], index) for index in range(items)]

        def plain(item: int) -> int:
            if item % 7 == 0:
                raise ValueError(f"{item} is a multiple of seven")
            return _hash(item, salt)

        def fold(state: Values) -> dict[str, Any]:
            found = taken(state)
            if inner is not None:
                values = [_own(state, inner.fold({**state, "item": item})) for item in found]
                return {name: values, f"{name}-bad": []}
            bad = [
                {"index": index, "item": item, "error": f"ValueError: {item} is a multiple of seven"}
                for index, item in enumerate(found)
                if item % 7 == 0
            ]
            return {name: [plain(item) for item in found if item % 7], f"{name}-bad": bad}

        node = step("plain", plain, inline=True) if inner is None else inner.node
        if isinstance(node, Step) and inner is not None:
            node = Chain("only", [node])  # as a worker it would get the item alone
        fan = Parallel(name, node, over=taken, failures=f"{name}-bad", may_all_fail=True, workers=workers)
        return Meant(fan, fold)

    return make


def _own(state: Values, written: dict[str, Any]) -> dict[str, Any]:
    """What an item has written: of a list that grows, what it has added."""
    return {**written, "log": written["log"][len(state["log"]) :]} if "log" in written else written


def _fold(items: int, salt: int) -> Maker:
    """Takes its items from what it changes itself."""

    def make(numbers: Iterator[int]) -> Meant:
        name = f"f{next(numbers)}"

        def apply(state: Values, item: int) -> dict[str, Any]:
            return {"x": _hash(state["x"], item, salt), name: [*state.get(name, [])[-5:], item]}

        def taken(state: Values) -> list[int]:
            return [_hash(state["x"], index) for index in range(items)]

        def fold(state: Values) -> dict[str, Any]:
            written: dict[str, Any] = {}
            for item in taken(state):
                written |= apply({**state, **written}, item)
            return written

        return Meant(Chain.fold(name, apply, over=taken, inline=True), fold)

    return make


def _extended(makers: st.SearchStrategy[Maker]) -> st.SearchStrategy[Maker]:
    return st.one_of(
        st.lists(makers, min_size=1, max_size=3).map(_chain),
        st.builds(_conditional, st.lists(makers, min_size=1, max_size=3), default=st.booleans()),
        st.builds(_graph, makers, st.integers(1, 3)),
        st.builds(_parallel, st.none() | makers, st.integers(0, 3), st.integers(1, 3), st.integers(0, 99)),
    )


def _workflow(maker: Maker) -> Meant:
    return _numbered(maker, count())


def _numbered(maker: Maker, numbers: Iterator[int]) -> Meant:
    return _chain([maker, _step(1)], types={"log": Annotated[list[str], Append]})(numbers)


def _workflows(makers: list[Maker]) -> list[Meant]:
    numbers = count()  # so that no two have one name
    return [_numbered(maker, numbers) for maker in makers]


_LEAVES = (
    st.integers(0, 99).map(_step)
    | st.builds(_fold, st.integers(0, 3), st.integers(0, 99))
    | st.integers(0, 99).map(_effect)
    | st.integers(0, 2).map(_log)
)
WORKFLOWS = st.recursive(_LEAVES, _extended, max_leaves=8).map(_workflow)
WAITING_WORKFLOWS = st.recursive(_LEAVES | st.just(_wait), _extended, max_leaves=8).map(_workflow)
_OUTSIDE = st.just(_wait) | st.just(_receive) | st.integers(0, 99).map(_doubt)
OUTSIDE_WORKFLOWS = st.lists(st.recursive(_LEAVES | _OUTSIDE, _extended, max_leaves=6), min_size=1, max_size=8).map(
    _workflows
)
START: Values = {"x": 5, "trace": [], "log": []}
