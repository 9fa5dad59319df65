"""The workflows and agents of the golden stores, as they were: later versions have to finish their runs with these.

Never change what is here for a store that is released; add to it, and give what is new another name.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, Any

import anyio
from pydantic import BaseModel

from stagepost.agents import Agent, Approvals, ScriptedModel, call, external_tool, tool
from stagepost.workflows import (
    Append,
    Chain,
    Conditional,
    Graph,
    Parallel,
    Pattern,
    Receive,
    Sleep,
    State,
    StepContext,
    Wait,
    step,
)

LARGE = "tides " * 2_000


@dataclass
class World:
    """What steps find outside.

    Attributes:
        hangs: Whether ``gate`` holds up whoever comes to it, and what fails fails.
        reached: What came to a gate.
    """

    hangs: bool
    reached: list[str] = field(default_factory=list)

    async def gate(self, name: str) -> None:
        if self.hangs:
            self.reached.append(name)
            await anyio.sleep_forever()


class Verdict(BaseModel):
    ok: bool
    at: datetime | None = None


class Talk(BaseModel):
    topic: str
    said: Annotated[list[str], Append] = []


def writes(name: str, **values: object) -> Any:
    return step(name, lambda _: values, inline=True)


def workflows(world: World) -> Sequence[Pattern]:
    """All of them, by the name of the place where their runs are left."""
    return [*_steps(world), *_fan_outs(world), _graph(world), *_waits(), *_others(world)]


def _asking() -> Pattern:
    return Chain("asking", [writes("before", before=1), Wait("ask")])


def _steps(world: World) -> Sequence[Pattern]:
    async def work(_: State) -> Mapping[str, object]:
        await world.gate("step")
        return {"worked": True}

    async def fail(_: State) -> Mapping[str, object]:
        if world.hangs:
            raise ValueError("not yet")
        return {"mended": True}

    return [
        Chain("step", [writes("large", large=LARGE), step("work", work), writes("after", after=1)]),
        Chain("failing", [writes("before", before=1), fail]),
    ]


def _fan_outs(world: World) -> Sequence[Pattern]:
    async def triple(item: int) -> int:
        if item == 2:
            await world.gate("item")
        return item * 3

    async def add(state: State, item: int) -> Mapping[str, object]:
        if item == 2:
            await world.gate("fold")
        return {"sum": state.get("sum", 0) + item}

    async def left(_: State) -> Mapping[str, object]:
        await world.gate("branch")
        return {"left": True}

    return [
        Chain("item", [Parallel("fan", step("triple", triple), over="items", workers=1)]),
        Chain("items", [Parallel("fan", _asking(), over="items", into="answers")]),
        Chain("fold", [Chain.fold("sums", add, over="items")]),
        Chain("branch", [Parallel("both", {"left": left, "right": _asking()}), writes("after", after=1)]),
    ]


def _graph(world: World) -> Pattern:
    async def round_(state: State) -> Mapping[str, object]:
        if state.get("rounds", 0) == 1:
            await world.gate("node")
        return {"rounds": state.get("rounds", 0) + 1}

    graph = Graph("node")
    graph.add("round", step("round", round_))
    graph.add("end", writes("end", ended=True))
    graph.edge("round", "round", when=lambda state: state["rounds"] < 3)
    graph.edge("round", "end")
    graph.start("round")
    graph.finish("end")
    return graph


def _waits() -> Sequence[Pattern]:
    async def greet(talk: Talk) -> Mapping[str, object]:
        return {"said": [f"about {talk.topic}"]}

    return [
        Chain("route", [Conditional("way", lambda _: "slow", {"slow": _asking(), "fast": writes("fast", fast=1)})]),
        Chain("answer", [Wait("ask", expect=Verdict, show=lambda state: {"draft": state["draft"]})]),
        Chain("given", [Wait("ask", expect=Verdict)]),
        Chain("signal", [Receive("news", expect=int)]),
        Chain("timer", [Sleep("sleep", timedelta(days=1)), writes("after", after=1)]),
        Chain("late", [Wait("ask", within=timedelta(days=1), otherwise="nobody")]),
        Chain("talk", [greet, Wait("reply", into="topic", expect=str), step("again", greet)], state=Talk),
    ]


def _others(world: World) -> Sequence[Pattern]:
    kid = Chain("kid", [Wait("ask")])

    async def pay(_: State, context: StepContext) -> Mapping[str, object]:
        async def transfer() -> str:
            await world.gate("effect")
            return "never"

        return {"receipt": await context.once("transfer", transfer)}

    async def start(_: State, context: StepContext) -> Mapping[str, object]:
        return {"kid": (await context.child(kid, "kid", {"n": 1}))["ask"]}

    async def attach(_: State, context: StepContext) -> Mapping[str, object]:
        return {"page": context.attach(b"%PDF-1.7")}

    async def measure(state: State, context: StepContext) -> Mapping[str, object]:
        return {"size": len(await context.blob(state["page"]))}

    return [
        Chain("effect", [pay]),
        Chain("parent", [start], companions=[kid]),
        Chain("blob", [attach, Wait("ask"), measure]),
    ]


def agents(world: World) -> Sequence[Agent[str]]:
    """Those whose runs are left in the middle of a call."""

    @tool(idempotent=True)
    async def look(city: str) -> str:
        """Weather of a city."""
        await world.gate("look")
        return f"rain in {city}"

    @tool
    async def send(to: str) -> str:
        """Send a mail."""
        await world.gate("send")
        return f"sent to {to}"

    quote = external_tool("quote", "Asks the supplier.", returns=float)
    looks = ScriptedModel([call("look", city="Oslo"), "It rains."])
    sends = ScriptedModel([call("send", to="Ada"), "Sent."])
    asks = ScriptedModel([call("quote"), "Bought."])
    return [
        Agent("looker", "Look.", model=looks, tools=[look]),
        Agent("sender", "Send.", model=sends, tools=[send]),
        Agent("asker", "Send.", model=sends, tools=[send], approvals=Approvals(["send"])),
        Agent("buyer", "Buy.", model=asks, tools=[quote]),
        Agent("speaker", "Speak.", model=ScriptedModel(["Hello."])),
    ]
