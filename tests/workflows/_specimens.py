"""One workflow of each shape; their steps are deterministic and say when they run. For this process and others."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from own_patterns.patterns import Race, Repeat, Switch

from stagepost.workflows import (
    Chain,
    Conditional,
    Fold,
    Graph,
    Parallel,
    Pattern,
    Sleep,
    State,
    Step,
    StepContext,
    step,
)

Note = Callable[[str], None]


@dataclass(frozen=True)
class Specimen:
    """A workflow, what it starts with, and how many of its steps run at once."""

    workflow: Pattern
    state: Mapping[str, object]
    at_once: int = 1


def specimens(note: Note) -> Mapping[str, Specimen]:
    """All of them; each step calls `note` with its path and visit, which no other step of the run has."""
    made = _Maker(note)
    rows = {"rows": [[1, 2, 3], [], [4, 5], [6]]}
    found = [
        Specimen(Chain("chain", [made.adds(name) for name in "abcd"]), {}),
        Specimen(made.items("parallel", workers=3), {"item": list(range(-1, 8))}, at_once=3),
        Specimen(Chain("conditional", [made.adds("a"), made.choice("b"), made.choice("c")]), {}),
        Specimen(made.loop("graph", Chain("body", [made.adds("a"), made.adds("b")])), {}),
        Specimen(made.nested(), rows, at_once=4),
        Specimen(made.loop("cycle", Parallel("fan", made.worker(), over="rows", workers=2)), rows, at_once=4),
        Specimen(made.branches("branches"), {"item": [1, 0, 2]}, at_once=4),
        Specimen(made.folds("folds"), {"item": [3, 1, 2], "rows": [[1, 2], [], [3]]}, at_once=2),
        Specimen(made.others("others"), {}, at_once=2),
    ]
    return {specimen.workflow.name: specimen for specimen in found}


NAMES = ("chain", "parallel", "conditional", "graph", "nested", "cycle", "branches", "folds", "others")


class _Maker:
    def __init__(self, note: Note) -> None:
        self._note = note

    def adds(self, name: str) -> Step:
        def add(state: State, context: StepContext) -> Mapping[str, object]:
            self._say(context)
            return {"path": [*state.get("path", []), name]}

        return step(name, add, inline=True)

    def items(self, name: str, workers: int = 2) -> Parallel:
        """Positive items go well, the others fail and are collected."""

        def invert(item: int, context: StepContext) -> float:
            self._say(context)
            return 1 / max(item, 0)

        return Parallel(
            name, step("invert", invert, inline=True), over="item", into="inverse", failures="bad", workers=workers
        )

    def writes(self, key: str) -> Step:
        def write(state: State, context: StepContext) -> Mapping[str, object]:
            self._say(context)
            return {key: sorted(state)}

        return step(f"write-{key}", write, inline=True)

    def branches(self, name: str) -> Chain:
        """Different steps and patterns at once, and what they wrote beside each other."""
        left = Chain("left", [self.writes("a"), self.writes("b")])
        at_once = Parallel("at-once", {"left": left, "right": self.writes("c"), "fan": self.items("inner")})
        keyed = Parallel("keyed", step("same", self._same, inline=True), over="item", key=str)
        return Chain(name, [at_once, keyed, self.adds("end")])

    def fold(self, name: str) -> Fold:
        def add(state: State, item: int, context: StepContext) -> Mapping[str, object]:
            self._say(context)
            return {name: [*state.get(name, []), item, len(state["item"])], "item": list(state["item"])[1:]}

        return Chain.fold(name, add, over="item", inline=True)

    def folds(self, name: str) -> Chain:
        """Folds that change what their items come from: alone, in a cycle and in the items of a fan-out."""
        fan = Parallel("fan", Chain("in-fan", [self.fold("inner"), self.adds("x")]), over="rows", workers=2)
        return Chain(name, [self.loop("cycle", self.fold("sum")), fan, self.adds("end")])

    def _same(self, item: int, context: StepContext) -> int:
        self._say(context)
        return item

    def choice(self, name: str) -> Conditional:
        def route(state: State) -> str:
            return "even" if len(state["path"]) % 2 == 0 else "odd"

        return Conditional(name, route, {"odd": self.adds("odd"), "even": Chain("even", [self.adds("x")])})

    def loop(self, name: str, body: Pattern) -> Graph:
        def rounds(state: State, context: StepContext) -> Mapping[str, object]:
            self._say(context)
            return {"rounds": state.get("rounds", 0) + 1}

        graph = Graph(name)
        graph.add("body", body)
        graph.add("count", step("count", rounds, inline=True))
        graph.add("end", self.adds("end"))
        graph.edge("body", "count")
        graph.edge("count", "body", when=lambda state: state["rounds"] < 3)
        graph.edge("count", "end")
        graph.start("body")
        graph.finish("end")
        return graph

    def others(self, name: str) -> Chain:
        """Patterns that are made with the kit: a loop of branches of which one wins, and a choice."""
        race = Race("race", {"slow": Sleep("slow", 3600), "quick": Chain("quick", [self.adds("a"), self.adds("b")])})
        again = Repeat("again", Chain("body", [self.adds("in-body"), race]), until=lambda state: len(state["path"]) > 5)
        cases = {"even": (lambda state: len(state["path"]) % 2 == 0, self.adds("even"))}
        return Chain(name, [again, Switch("way", cases, self.adds("odd")), self.adds("end")])

    def worker(self) -> Chain:
        return Chain("worker", [self.adds("first"), self.items("inner"), self.choice("way"), self.adds("last")])

    def nested(self) -> Chain:
        fan = Parallel("fan", Chain("worker", [self.worker(), self.loop("loop", self._body())]), over="rows", workers=2)
        return Chain("nested", [self.adds("before"), fan, self.adds("after")])

    def _body(self) -> Chain:
        return Chain("body", [self.adds("in-body")])

    def _say(self, context: StepContext) -> None:
        self._note(context.idempotency_key.partition("/")[2])
