"""What hooks are told of where they stand, and which hooks agents below have."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.agents._ways import Way, both_ways, working
from tests.agents._weather import look

from stagepost.agents import (
    Agent,
    AgentTool,
    InvalidAgent,
    LLMTool,
    ModelContext,
    ModelRequest,
    ModelResponse,
    ScriptedModel,
    Tasks,
    ToolCall,
    ToolContext,
    ToolResult,
    call,
)

LOOK = call("look", city="Oslo")
ASK = call("message_agent", agent_name="below", message="?")


class Placed:
    """Writes down where it stands."""

    def __init__(self, *, name: str = "", inherited: bool = False) -> None:
        self.inherited = inherited
        self.seen: list[tuple[str, tuple[str, ...], int]] = []
        self.runs: list[str] = []
        self.log: list[str] = []
        self.deps: list[object] = []
        self._name = name

    async def model_call(
        self, request: ModelRequest, context: ModelContext, call: Callable[[ModelRequest], Awaitable[ModelResponse]]
    ) -> ModelResponse:
        assert context.agent == context.path[-1]
        self.seen.append(("model", tuple(context.path), context.turn))
        self.runs.append(context.run_id)
        self.deps.append(context.deps)
        self.log.append(self._name)
        return await call(request)

    async def tool_call(
        self, call: ToolCall, context: ToolContext, proceed: Callable[[ToolCall], Awaitable[ToolResult]]
    ) -> ToolResult:
        assert context.agent == context.path[-1]
        self.seen.append((call.name, tuple(context.path), context.turn))
        self.runs.append(context.run_id)
        return await proceed(call)


def team(hook: Placed, *, own: object = None) -> Agent[str]:
    hooks = [] if own is None else [own]
    deep = Agent("deep", "", model=ScriptedModel([LOOK, "fine"]), tools=[look], hooks=hooks)
    judge = LLMTool("judge", "Is {text} good?", model=ScriptedModel(["yes"]))
    below = Agent("below", "", model=ScriptedModel([call("deep", request="?"), "fine"]), tools=[AgentTool(deep)])
    calls = [ASK, call("judge", text="it")]
    return Agent("lead", "", model=ScriptedModel([calls, "done"]), sub_agents=[below], tools=[judge], hooks=[hook])


@both_ways
async def test_hooks_are_told_agent_path_and_turn(way: Way) -> None:
    hook = Placed()
    model = ScriptedModel([[LOOK, LOOK], LOOK, "done"])
    await way(Agent("weather", "", model=model, tools=[look], hooks=[hook]))
    place = ("weather",)
    assert [turn for kind, _, turn in hook.seen if kind == "model"] == [1, 2, 3]
    assert [turn for kind, _, turn in hook.seen if kind == "look"] == [1, 1, 2]
    assert {path for _, path, _ in hook.seen} == {place}
    assert len(set(hook.runs)) == 1


async def test_the_number_of_the_turn_goes_on_with_the_run() -> None:
    hook = Placed()
    agent = Agent("weather", "", model=ScriptedModel(["a", LOOK, "b"]), tools=[look], hooks=[hook])
    await agent.run("?", after=await agent.run("?"), deps="pool")
    assert [(kind, turn) for kind, _, turn in hook.seen] == [("model", 1), ("model", 2), ("look", 2), ("model", 3)]
    assert hook.deps == [None, "pool", "pool"]


async def test_hooks_of_a_durable_run_are_told_its_id() -> None:
    hook = Placed(inherited=True)
    agent = team(hook)
    async with working(agent) as runner:
        await (await Tasks(runner).start(agent, "go", task_id="t")).result()
    runs = {path: run for (_, path, _), run in zip(hook.seen, hook.runs, strict=True)}
    assert runs["lead",] == "t"
    assert runs["lead", "below"] == "t.below-0-0-0"
    assert all(run.startswith("t.") for path, run in runs.items() if len(path) > 1)


@both_ways
async def test_hooks_of_the_root_hear_agents_below_if_they_are_inherited(way: Way) -> None:
    hook = Placed(inherited=True)
    await way(team(hook))
    heard = {(kind, path) for kind, path, _ in hook.seen}
    assert heard == {
        ("model", ("lead",)),
        ("message_agent", ("lead",)),
        ("judge", ("lead",)),
        ("model", ("lead", "judge")),
        ("model", ("lead", "below")),
        ("deep", ("lead", "below")),
        ("model", ("lead", "below", "deep")),
        ("look", ("lead", "below", "deep")),
    }


@both_ways
async def test_other_hooks_hear_their_own_agent_alone(way: Way) -> None:
    hook = Placed()
    await way(team(hook))
    assert {path for _, path, _ in hook.seen} == {("lead",)}


@both_ways
async def test_inherited_hooks_stand_outside_of_own_ones(way: Way) -> None:
    inherited = Placed(name="lead's", inherited=True)
    own = Placed(name="own")
    own.log = inherited.log
    await way(team(inherited, own=own))
    at_deep = [name for name in inherited.log if name == "own"]
    assert inherited.log[inherited.log.index("own") - 1] == "lead's"
    assert len(at_deep) == 2


async def test_a_hook_that_is_inherited_and_own_stands_there_once() -> None:
    hook = Placed(inherited=True)
    await team(hook, own=hook).run("go")
    assert len([kind for kind, path, _ in hook.seen if path == ("lead", "below", "deep") and kind == "look"]) == 1


class Old:
    async def model_call(self, request: ModelRequest, call: object) -> object:
        return request, call


class Few:
    async def tool_call(self, call: ToolCall) -> object:
        return call


class Odd:
    inherited = "yes"

    async def tool_call(self, *given: object) -> object:
        return given


@pytest.mark.parametrize(
    ("hook", "why"),
    [
        (
            Old(),
            r"Old.model_call\(self, request, call\) is to be `async def model_call\(self, request, context, call\)`",
        ),
        (Few(), r"Few.tool_call\(self, call\) is to be `async def tool_call\(self, call, context, proceed\)`"),
        (Odd(), "Odd.inherited is to be True or False"),
    ],
    ids=["model", "tool", "inherited"],
)
def test_a_hook_that_takes_something_else_is_refused_where_the_agent_is_built(hook: object, why: str) -> None:
    with pytest.raises(InvalidAgent, match=f"agent 'w': its hooks do not fit: {why}"):
        Agent("w", "", hooks=[hook])


def test_a_hook_that_does_not_tell_what_it_takes_is_taken() -> None:
    class Silent:
        tool_call: Any = max  # a builtin without a signature

    assert Agent("w", "", hooks=[Silent()]).hooks
