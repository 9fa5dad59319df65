"""One workflow of each shape that waits, acts on the world outside or keeps lists that grow, and who answers it.

What they end with depends on nothing but what they are told; each answer and signal says who gave it.
"""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Annotated, Any

import anyio
from tests.workflows._specimens import Note, Specimen

from stagepost.checkpoint import AlreadyAnswered, EffectNotFound, RunNotFound, RunNotOpen, WaitKind
from stagepost.hub import Event
from stagepost.workflows import (
    Append,
    Chain,
    Conditional,
    Graph,
    Parallel,
    PendingWait,
    Receive,
    Runner,
    Sleep,
    State,
    Step,
    StepContext,
    Wait,
    WaitOpened,
    step,
)

WAITING = ("waits", "asked", "rounds", "effects", "both", "grows", "family")
SIGNALS = {"waits": 2, "rounds": 3, "both": 1}
ACTING = ("effects", "both")

Act = Callable[[str], None]


def waiting_specimens(note: Note, act: Act) -> Mapping[str, Specimen]:
    """All of them.

    Args:
        note: Called by each step with its path and visit.
        act: Called by each effect with the same: it must not come twice.
    """
    made = _Maker(note, act)
    items = {"items": [0, 1, 2]}
    found = [
        Specimen(made.waits(), {}),
        Specimen(made.asked(), items, at_once=4),
        Specimen(made.rounds(), {}),
        Specimen(made.effects(), items, at_once=6),
        Specimen(made.both(), {}, at_once=4),
        Specimen(made.grows(), items, at_once=3),
        Specimen(made.family(), items, at_once=4),
    ]
    return {specimen.workflow.name: specimen for specimen in found}


def done(place: str) -> str:
    """What the effect of a place returns."""
    return f"did {place}"


def label(run_id: str, place: str) -> str:
    """What stands for a place in a run, or in a run below it."""
    below = run_id.partition(".")[2]
    return f"{below}:{place}" if below else place


class _Maker:
    def __init__(self, note: Note, act: Act) -> None:
        self._note = note
        self._act = act

    def waits(self) -> Chain:
        """Each kind of wait, one after the other."""
        signs = Chain("signs", [Receive("sign"), self.adds("c"), Receive("again", signal="sign"), self.adds("d")])
        asks = Chain("asks", [self.adds("a"), Wait("ask"), self.adds("b"), Sleep("nap", 0.001)])
        return Chain("waits", [asks, signs])

    def asked(self) -> Chain:
        """Waits in items: of a pattern, and as the worker itself."""
        item = Chain("item", [self.adds("before"), Wait("ask", show=lambda state: state["item"]), self.adds("after")])
        plain = Parallel("plain", Wait("plain"), over="items", workers=1)
        return Chain("asked", [Parallel("fan", item, over="items", workers=2), plain, self.adds("end")])

    def rounds(self) -> Graph:
        """A wait and a signal in each visit of a cycle."""
        body = Chain("body", [Wait("ask"), self.adds("x"), Receive("sign")])
        return self._loop("rounds", body)

    def effects(self) -> Chain:
        """Effects in steps, items, folds, cycles and routes."""
        fan = Parallel("fan", self._charges(), over="items", workers=2)
        inner = Parallel("inner", Chain("item", [self.acts("pay"), self.adds("after")]), over="items", workers=2)
        route = Conditional("way", self._routes, {"there": self.acts("there")})
        fold = Chain.fold("fold", self._folds, over="items")
        return Chain("effects", [self.acts("first"), fan, inner, fold, self._loop("loop", self.acts("turn")), route])

    def both(self) -> Chain:
        """Branches of which one waits while the other acts."""
        left = Chain("left", [self.adds("l1"), Wait("ask"), self.adds("l2")])
        right = Chain("right", [self.acts("act"), Receive("sign")])
        return Chain("both", [Parallel("at-once", {"left": left, "right": right}), Wait("last"), self.adds("end")])

    def grows(self) -> Chain:
        """A list that grows in steps, items and cycles, beside a large value that changes."""
        types: Mapping[str, Any] = {"log": Annotated[list[Any], Append]}
        item = Chain("item", [self.says("one"), self.says("two")])
        fan = Parallel("fan", item, over="items", workers=2)
        body = Chain("body", [self.says("in-body"), step("large", self._large, inline=True)])
        return Chain("grows", [self.says("a"), fan, self._loop("loop", body), Wait("ask"), self.says("z")], types=types)

    def family(self) -> Chain:
        """Steps that start runs of other workflows: one after the other, in items, and below those; one waits."""
        plain = Chain("plain", [self.adds("p1"), self.adds("p2")])
        leaf = Chain("leaf", [self.adds("l1"), Wait("ask"), self.adds("l2")])
        middle = Chain("middle", [self.adds("m1"), self._starts("sub", leaf=leaf), self.adds("m2")], companions=[leaf])

        async def each(item: int, context: StepContext) -> list[object]:
            return [item, (await context.child(plain, f"item-{item}", {"path": [str(item)]}))["path"]]

        fan = Parallel("fan", step("each", each), over="items", workers=2)
        kids = self._starts("kids", plain=plain, middle=middle)
        return Chain("family", [self.adds("a"), kids, fan, self.adds("end")], companions=[plain, middle])

    def _starts(self, name: str, **children: Chain) -> Step:
        async def start(_state: State, context: StepContext) -> Mapping[str, object]:
            return {key: dict(await context.child(child, key, dict)) for key, child in children.items()}

        return step(name, start)

    def adds(self, name: str) -> Step:
        def add(state: State, context: StepContext) -> Mapping[str, object]:
            self._say(context)
            return {"path": [*state.get("path", []), name]}

        return step(name, add, inline=True)

    def says(self, name: str) -> Step:
        def say(state: State, context: StepContext) -> Mapping[str, object]:
            self._say(context)
            return {"log": [f"{name} {len(state.get('log', []))}"]}

        return step(name, say, inline=True)

    def acts(self, name: str) -> Step:
        async def act(state: State, context: StepContext) -> Mapping[str, object]:
            return {name: await self._effect(context)}

        return step(name, act)

    def _charges(self) -> Step:
        async def charge(item: int, context: StepContext) -> list[object]:
            return [item, await self._effect(context)]

        return step("charge", charge)

    async def _folds(self, state: State, item: int, context: StepContext) -> Mapping[str, object]:
        return {"fold": [*state.get("fold", []), item, await self._effect(context)]}

    async def _routes(self, _state: State, context: StepContext) -> str:
        await self._effect(context)
        return "there"

    async def _effect(self, context: StepContext) -> object:
        self._say(context)
        return await context.once("act", partial(self._once, self._place(context)))

    def _once(self, place: str) -> str:
        self._act(place)
        return done(place)

    def _large(self, state: State, context: StepContext) -> Mapping[str, object]:
        self._say(context)
        return {"text": str(len(state["log"])) * 5_000}

    def _loop(self, name: str, body: Step | Chain) -> Graph:
        def turn(state: State, context: StepContext) -> Mapping[str, object]:
            self._say(context)
            return {"rounds": state.get("rounds", 0) + 1}

        graph = Graph(name)
        graph.add("body", body)
        graph.add("count", step("count", turn, inline=True))
        graph.add("end", self.adds("end"))
        graph.edge("body", "count")
        graph.edge("count", "body", when=lambda state: state["rounds"] < 3)
        graph.edge("count", "end")
        graph.start("body")
        graph.finish("end")
        return graph

    def _say(self, context: StepContext) -> None:
        self._note(self._place(context))

    def _place(self, context: StepContext) -> str:
        return label(context.run_id, context.idempotency_key.partition("/")[2])


class Outside:
    """Whoever answers, signals and settles, as soon as a run waits.

    Args:
        who: Stands in all that they say.
        told: Called with the id of each wait when its answer has been acknowledged.
    """

    def __init__(self, who: str, told: Callable[[str], None] = lambda _: None) -> None:
        self._who = who
        self._told = told
        self._news = anyio.Event()

    def on_event(self, event: Event, /) -> None:
        if isinstance(event, WaitOpened):
            self._news.set()

    async def serve(self, runner: Runner, run_ids: Collection[str]) -> None:
        """Do so until cancelled; a run's name is its workflow's, or begins with that and a dash."""
        for run_id in run_ids:
            await self._send(runner, run_id)
        while True:
            self._news = anyio.Event()
            for wait in await runner.waits():
                if wait.run_id.partition(".")[0] in run_ids:
                    await self._end(runner, wait)
            await self._news.wait()

    async def _send(self, runner: Runner, run_id: str) -> None:
        for number in range(SIGNALS.get(run_id.partition("-")[0], 0)):
            try:
                await runner.signal(run_id, "sign", {"number": number, "by": self._who}, dedup=str(number))
            except (RunNotOpen, RunNotFound):
                return

    async def _end(self, runner: Runner, wait: PendingWait) -> None:
        place = wait.id.partition("/")[2]
        try:
            if wait.kind is WaitKind.ANSWER:
                await runner.answer(wait.id, {"to": place, "by": self._who})
                self._told(wait.id)
            elif wait.kind is WaitKind.EFFECT:
                await runner.settle(wait.run_id, wait.name, value=done(place), place=place)
        except (AlreadyAnswered, EffectNotFound, RunNotOpen):
            return


def nameless(value: object, *keys: str) -> object:
    """A result without who said what, and without other keys."""
    if isinstance(value, Mapping):
        return {key: nameless(part, *keys) for key, part in value.items() if key not in ("by", *keys)}
    return [nameless(part, *keys) for part in value] if isinstance(value, list) else value
