"""Runs that one process leaves, and what another code makes of them: patterns, changes, and where the run stands.

Each pattern has a few parts, of which one is ``here``: there the run stands. A change makes other parts of them.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise
from typing import Any, TypeAlias

import anyio
from anyio.lowlevel import checkpoint
from pydantic import BaseModel
from tests.workflows._doors import Clock

from stagepost.checkpoint import RunStatus, WaitKind
from stagepost.hub import Hub, Message
from stagepost.workflows import (
    Ask,
    Chain,
    Conditional,
    Graph,
    Parallel,
    Pattern,
    PendingWait,
    Receive,
    Run,
    Runner,
    Sleep,
    State,
    StepContext,
    Wait,
    step,
)
from stagepost.workflows._patterns._pattern import NodeLike

OLD = ("a", "here", "b")
RUNNING, PARKED, FAILED = "running", "parked", "failed"


class Before(BaseModel):
    x: int


class Wider(BaseModel):
    x: int
    y: int = 0


class Other(BaseModel):
    z: int


@dataclass
class World:
    """What steps find outside, over all processes.

    Attributes:
        phase: How the run is to be left at ``here``.
        going: Whether ``here`` no longer holds anybody up.
    """

    phase: str
    going: bool = False
    clock: Clock = field(default_factory=Clock)
    entered: anyio.Event = field(default_factory=anyio.Event)

    async def pass_by(self, name: str) -> None:
        """Hold up, or fail, whoever comes to ``here``."""
        if name == "here" and not self.going:
            self.entered.set()
            if self.phase == FAILED:
                raise ValueError("not yet")
            await anyio.sleep_forever()


Make: TypeAlias = Callable[[World, Sequence[str], "Style"], Pattern]
Part: TypeAlias = Callable[[World, str], NodeLike]


@dataclass(frozen=True)
class Style:
    """What else may change.

    Attributes:
        here: Makes ``here``, instead of what the pattern makes; by another name it is what it was.
        model: Type of the key ``typed``.
        version: Of the workflow.
    """

    here: Part | None = None
    model: type[BaseModel] = Before
    version: int = 1

    @property
    def options(self) -> dict[str, Any]:
        return {"types": {"typed": self.model}, "version": self.version}


def works(world: World, name: str) -> NodeLike:
    """A step that says that it was done; where the run is to be parked, ``here`` is a wait."""
    if world.phase == PARKED and name in ("here", "there"):
        return Wait(name, into=f"did_{name}")

    async def work(_state: object) -> Mapping[str, object]:
        await world.pass_by(name)
        return {f"did_{name}": True}

    return step(name, work)


def plainly(_world: World, name: str) -> NodeLike:
    """A step that does not wait."""
    return step(name, lambda _: {f"did_{name}": True}, inline=True)


def waits(_world: World, name: str) -> NodeLike:
    return Wait(name, into=f"did_{name}")


def receives(_world: World, name: str) -> NodeLike:
    return Receive(name, into=f"did_{name}")


def sleeps(_world: World, name: str) -> NodeLike:
    return Sleep(name, timedelta(days=1))


def asks(_world: World, name: str) -> NodeLike:
    return Ask("oracle", lambda _: {"name": name}, name=name, into=f"did_{name}")


KID = Chain("kid", [Wait("ask")])


def starts(_world: World, name: str) -> NodeLike:
    """A step that waits for a run that it has started."""

    async def start(_state: State, context: StepContext) -> Mapping[str, object]:
        return {f"did_{name}": (await context.child(KID, "kid", {}))["ask"]}

    return step(name, start)


def as_chain(world: World, name: str) -> NodeLike:
    return Chain(name, [plainly(world, "inner"), plainly(world, name)])


def maps(world: World, name: str) -> NodeLike:
    """A fan-out with a plain worker."""
    if world.phase == PARKED:
        return Parallel(name, Wait("worker"), over="items", workers=1, into=f"did_{name}")

    async def work(item: int) -> int:
        await world.pass_by(name)
        return item

    return Parallel(name, step("worker", work), over="items", workers=1, into=f"did_{name}")


def folds(world: World, name: str) -> NodeLike:
    async def add(_state: State, item: int, context: StepContext) -> Mapping[str, object]:
        if item == 2 and world.phase == PARKED:
            await context.child(KID, "kid", {})
        elif item == 2:
            await world.pass_by(name)
        return {f"did_{name}": True}

    return Chain.fold(name, add, over="items")


def parts(world: World, names: Sequence[str], style: Style, here: Part = works) -> list[NodeLike]:
    """The parts of a sequence."""
    made = {"here": style.here or here, "there": here}
    return [made.get(name, plainly)(world, name) for name in names]


def in_chain(here: Part) -> Make:
    def make(world: World, names: Sequence[str], style: Style) -> Pattern:
        return Chain("work", parts(world, names, style, here), companions=[KID], **style.options)

    return make


def in_route(world: World, names: Sequence[str], style: Style) -> Pattern:
    routes = dict(zip(names, parts(world, names, style), strict=True))
    taken = "there" if "there" in routes else "here"
    return Chain("work", [Conditional("way", lambda _: taken, routes), plainly(world, "end")], **style.options)


def in_graph(world: World, names: Sequence[str], style: Style) -> Pattern:
    graph = Graph("work", **style.options)
    for name, node in zip(names, parts(world, names, style), strict=True):
        graph.add(name, node)
    for first, second in pairwise(names):
        graph.edge(first, second)
    graph.start(names[0])
    graph.finish(names[-1])
    return graph


def in_branch(world: World, names: Sequence[str], style: Style) -> Pattern:
    branches = dict(zip(names, parts(world, names, style), strict=True))
    return Chain("work", [Parallel("both", branches), plainly(world, "end")], **style.options)


def in_item(world: World, names: Sequence[str], style: Style) -> Pattern:
    fan = Parallel("fan", Chain("item", parts(world, names, style)), over="items", workers=1)
    return Chain("work", [fan, plainly(world, "end")], **style.options)


def in_nest(world: World, names: Sequence[str], style: Style) -> Pattern:
    """A sequence in a route in an item in a node that is visited twice."""
    inner = Conditional("way", lambda _: "in", {"in": Chain("in", parts(world, names, style))})
    graph = Graph("work", **style.options)
    graph.add("fan", Parallel("fan", Chain("item", [inner]), over="items", workers=1))
    graph.add("count", step("count", lambda state: {"rounds": state.get("rounds", 0) + 1}, inline=True))
    graph.add("end", plainly(world, "end"))
    graph.edge("fan", "count")
    graph.edge("count", "fan", when=lambda state: state["rounds"] < 2)
    graph.edge("count", "end")
    graph.start("fan")
    graph.finish("end")
    return graph


def upgrade(run: dict[str, Any]) -> dict[str, Any]:
    """What was ``here`` is ``there`` now."""
    found: dict[str, Any] = json.loads(json.dumps(run).replace("here", "there"))
    return found


async def begin(runner: Runner, world: World, workflow: Pattern) -> None:
    """Bring run ``r1`` to where it is to be left."""
    run = await runner.start(workflow, {"items": [1, 2, 3], "typed": {"x": 1}}, run_id="r1")
    if world.phase == RUNNING:
        await world.entered.wait()
    else:
        assert await run.settled() is (RunStatus.WAITING if world.phase == PARKED else RunStatus.FAILED)


async def finish(runner: Runner, world: World, run: Run) -> State:
    """Send a run whatever it waits for, until it ends."""
    while await run.settled() is RunStatus.WAITING:
        for wait in await runner.waits("r1"):
            await _end(runner, world, wait)
        await checkpoint()
        run = await runner.get("r1")
    state: State = await run.result()
    return state


async def _end(runner: Runner, world: World, wait: PendingWait) -> None:
    if wait.kind is WaitKind.ANSWER:
        await runner.answer(wait.id, "yes")
    elif wait.kind is WaitKind.SIGNAL:
        await runner.signal(wait.run_id, wait.name, "yes")
    else:
        world.clock.pass_(timedelta(days=2))
        await runner.recover()


def done_in(value: object) -> frozenset[str]:
    """The parts that a final state says were done, wherever in it."""
    if isinstance(value, Mapping):
        own = {key.removeprefix("did_") for key in value if key.startswith("did_")}
        return frozenset(own).union(*map(done_in, value.values()))
    return frozenset().union(*map(done_in, value)) if isinstance(value, list) else frozenset()


def hub_for(world: World) -> Hub:
    """A hub with the agent that is asked."""

    async def oracle(message: Message[dict[str, str]]) -> str:
        await world.pass_by(message.data["name"])
        return "yes"

    hub = Hub()
    hub.register("oracle", oracle)
    return hub
