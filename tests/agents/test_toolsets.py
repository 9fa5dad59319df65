"""Toolsets: tools that depend on the run and the turn, are filtered, renamed, combined, and searched."""

from collections.abc import Callable, Iterable, Sequence
from inspect import isawaitable
from typing import Any

import pytest
from anyio import fail_after
from pydantic import BaseModel
from tests.agents._ways import Way, both_ways, durably, result_of, told, working
from tests.agents._weather import look, send

from stagepost.agents import (
    Agent,
    AgentFailed,
    AgentTool,
    Allow,
    Approvals,
    FunctionModel,
    InvalidAgent,
    InvalidTool,
    Memory,
    ModelRequest,
    ModelResponse,
    ModelSettings,
    ScriptedModel,
    ScriptEntry,
    Tasks,
    Tool,
    ToolCall,
    ToolClash,
    ToolContext,
    ToolResult,
    Toolset,
    ToolsetContext,
    ToolsetFailed,
    call,
    external_tool,
    handoff,
    tool,
    toolset,
)
from stagepost.agents._tools._search import ranked
from stagepost.checkpoint import MemoryStore
from stagepost.workflows import RunFailed


def named(name: str, about: str = "", **options: Any) -> Tool[..., object]:
    @tool(name=name, description=about, **options)
    def made(x: int = 0) -> str:
        return f"{name} {x}"

    return made


def offered(model: ScriptedModel) -> list[list[str]]:
    """Names of the tools of each request."""
    return [[each.name for each in request.tools] for request in model.requests]


def agent_with(*tools: Any, script: Sequence[ScriptEntry], **options: Any) -> tuple[Agent[str], ScriptedModel]:
    model = ScriptedModel(script)
    return Agent("agent", prompt="", model=model, tools=tools, **options), model


class Question(BaseModel):
    city: str


@both_ways
async def test_a_function_gives_the_tools_of_each_turn(way: Way) -> None:
    known: list[ToolsetContext[Any]] = []

    @toolset
    def some(context: ToolsetContext[Any]) -> list[Tool[..., object]]:
        known.append(context)
        return [named(f"tool_{context.turn}")]

    agent, model = agent_with(some, script=[call("tool_1", x=1), call("tool_2", x=2), "done"])
    result = await way(agent)
    assert result.output == "done"
    assert offered(model) == [["tool_1"], ["tool_2"], ["tool_3"]]
    assert told(model.requests[-1]) == ["tool_1 1", "tool_2 2"]
    assert [(each.agent, each.path, each.turn, len(each.messages)) for each in known] == [
        ("agent", ("agent",), 1, 1),
        ("agent", ("agent",), 2, 3),
        ("agent", ("agent",), 3, 5),
    ]
    assert len({each.run_id for each in known}) == 1


async def test_a_function_may_be_async_and_knows_deps_and_fields() -> None:
    @toolset
    async def some(context: ToolsetContext[str]) -> Iterable[Callable[..., object]]:
        assert isinstance(context.fields, Question)

        def whisper() -> str:
            return f"{context.deps} in {context.fields.city}"  # type: ignore[union-attr]  # the check does not narrow

        return (whisper,)

    agent, model = agent_with(some, script=[call("whisper"), "done"], input=Question)
    await agent.run({"city": "Oslo"}, deps="hush")
    assert told(model.requests[-1]) == ["hush in Oslo"]


async def test_a_class_may_be_a_toolset() -> None:
    class Mine(Toolset):
        def tools(self, _: ToolsetContext[Any], /) -> list[Tool[..., object]]:
            return [named("mine")]

    agent, model = agent_with(Mine(), look, script=["done"])
    await agent.run("go")
    assert offered(model) == [["look", "mine"]]
    assert agent.describe()["toolsets"] == ["Mine"]


async def test_sets_are_filtered_prefixed_and_combined() -> None:
    tools = [named("get_a"), named("get_b"), named("put_a")]
    even = toolset(tools).filtered(include=["get_*"], when=lambda context, _: context.turn % 2 == 0)
    both = toolset([even, look, toolset(tools).filtered(exclude=["*_a"]).prefixed("x_")])
    agent, model = agent_with(both, script=[call("x_get_b", x=7), "done"])
    await agent.run("go")
    assert offered(model) == [["look", "x_get_b"], ["get_a", "get_b", "look", "x_get_b"]]
    assert told(model.requests[-1]) == ["get_b 7"]


async def test_a_call_of_a_tool_that_is_not_offered_is_an_error_that_the_model_reads() -> None:
    @toolset
    def some(context: ToolsetContext[Any]) -> list[Tool[..., object]]:
        return [named("once")] if context.turn == 1 else []

    agent, model = agent_with(some, look, script=[call("once"), call("once"), "done"])
    await agent.run("go")
    assert told(model.requests[-1]) == ["once 0", "there is no tool 'once'; there are: look"]


@both_ways
@pytest.mark.parametrize(
    ("given", "error", "why"),
    [
        (lambda _: 1 / 0, ToolsetFailed, "toolset 'given' has given no tools: ZeroDivisionError"),
        (lambda _: "look", ToolsetFailed, "it returned str"),
        (lambda _: None, ToolsetFailed, "it returned NoneType"),
        (lambda _: [3], InvalidTool, "toolset 'given' gives it, and it is neither"),
        (lambda _: [toolset([])], InvalidTool, "toolset 'given' gives it, and it is neither"),
        (lambda _: [look], ToolClash, "'look': a tool of the agent's own, and a tool of toolset 'given'"),
        (lambda _: [named("x"), named("x")], ToolClash, "two things are named 'x'"),
        (lambda _: [named("search_tools")], ToolClash, "search_tools"),
        (lambda _: [AgentTool(Agent("other", prompt=""))], InvalidTool, "it brings an agent"),
        (lambda _: [handoff(Agent("other", prompt=""))], InvalidTool, "it brings an agent"),
        (lambda _: [Memory(label="x")], InvalidTool, "memories, MCP servers and tools of the provider"),
    ],
    ids=["raises", "text", "nothing", "no tool", "toolset", "clash", "twice", "reserved", "agent", "handoff", "memory"],
)
async def test_a_set_that_gives_something_else_fails_the_run(
    way: Way, given: Any, error: type[Exception], why: str
) -> None:
    agent, model = agent_with(toolset(given, name="given"), look, script=["done"])
    with pytest.raises((AgentFailed, RunFailed, error)) as raised:
        await way(agent)
    assert why in str(raised.value)
    assert not model.requests


def test_wrong_sets_are_refused_where_they_are_built() -> None:
    with pytest.raises(InvalidTool, match="neither a tool nor a function"):
        toolset([3])  # type: ignore[list-item]  # what is wrong
    with pytest.raises(TypeError, match="one text"):
        toolset([look]).filtered(include="get_*")
    with pytest.raises(InvalidAgent, match="native"):
        Agent("a", prompt="", tools=[toolset([look])], output=Question, output_mode="native")
    with pytest.raises(InvalidAgent, match="reserved"):
        Agent("a", prompt="", tools=[toolset([look]), named("search_tools")])


async def test_a_filter_that_raises_fails_the_run() -> None:
    agent, _ = agent_with(
        toolset([look], name="given").filtered(when=lambda _, each: bool(each.name[99])), script=["x"]
    )
    with pytest.raises(ToolsetFailed, match="toolset 'given' has given no tools: when= has raised IndexError"):
        await agent.run("go")


def test_a_toolset_without_the_method_tools_is_refused_when_it_is_made() -> None:
    class Nothing(Toolset):
        pass

    with pytest.raises(TypeError, match=r"abstract class Nothing with.* abstract method '?tools"):
        Nothing()  # type: ignore[abstract]  # what is tested


async def test_the_tools_of_a_composed_set_are_those_that_it_shows() -> None:
    agent, _ = agent_with(Shown(toolset([look, named("other")]).filtered(exclude=["other"])), script=["x"])
    assert (await agent.run("go")).output == "x"


class Shown(Toolset):
    """Gives what another set gives by its method `tools`."""

    def __init__(self, inner: Toolset) -> None:
        self.inner = inner

    async def tools(self, context: ToolsetContext[Any], /) -> Sequence[Tool[..., object]]:
        found = self.inner.tools(context)
        assert isawaitable(found)
        tools = [each for each in await found if isinstance(each, Tool)]
        assert [each.name for each in tools] == ["look"]
        return tools


async def test_a_prefix_that_makes_a_name_too_long_fails_the_run() -> None:
    agent, _ = agent_with(toolset([named("n" * 60)]).prefixed("prefix_"), script=["done"])
    with pytest.raises(InvalidTool, match="more than 64 characters"):
        await agent.run("go")


async def test_approvals_hooks_and_effects_count_for_tools_of_sets() -> None:
    seen: list[str] = []

    class Watch:
        async def tool_call(self, call: ToolCall, context: ToolContext, proceed: Any) -> ToolResult:  # noqa: ARG002  # the protocol's
            seen.append(call.name)
            result: ToolResult = await proceed(call)
            return result

    agent, model = agent_with(
        toolset([named("get_a"), named("put_a", needs_approval=True), send]),
        script=[[call("get_a"), call("put_a"), call("send", to="ann")], "done"],
        approvals=Approvals(["get_*"]),
        hooks=[Watch()],
    )
    async with working(agent) as runner:
        tasks = Tasks(runner)
        run = await tasks.start(agent, "go")
        await run.settled()
        wanted = {each.tool: each for each in await tasks.approvals()}
        assert {name: each.rule for name, each in wanted.items()} == {"get_a": "get_*", "put_a": "needs_approval"}
        assert seen == ["send"]
        for each in wanted.values():
            await tasks.decide(each.id, Allow())
        await run.result()
    assert told(model.requests[-1]) == ["get_a 0", "put_a 0", "sent to ann"]
    assert sorted(seen) == ["get_a", "put_a", "send"]


@pytest.mark.parametrize("several", [False, True], ids=["one call", "several calls"])
async def test_a_set_is_asked_again_with_the_same_context_after_a_wait(several: bool) -> None:  # noqa: FBT001  # a parameter of the table
    known: list[tuple[int, Sequence[object], object]] = []

    @toolset
    def some(context: ToolsetContext[Any]) -> list[Tool[..., object]]:
        known.append((context.turn, tuple(context.messages), context.fields))
        return [named("act", needs_approval=True), named("also")]

    calls = [call("act"), call("also")] if several else call("act")
    agent, model = agent_with(some, script=[call("also"), calls, "done"])
    async with MemoryStore() as store:
        async with working(agent, store=store) as runner:
            await (await Tasks(runner).start(agent, "go", task_id="t")).settled()
        async with working(agent, store=store) as runner:
            await runner.recover()
            (wanted,) = await Tasks(runner).approvals()
            before = len(known)
            await Tasks(runner).decide(wanted.id, Allow())
            await (await runner.get("t")).result()
    assert known[before] == known[before - 1 if not several else 1]
    assert known[before][0] == 2
    assert told(model.requests[-1])[1] == "act 0"


async def test_a_tool_that_has_gone_during_a_wait_is_an_error_that_the_model_reads() -> None:
    there = [named("act", needs_approval=True)]
    agent, model = agent_with(toolset(lambda _: there), script=[call("act"), "done"])
    async with MemoryStore() as store:
        async with working(agent, store=store) as runner:
            await (await Tasks(runner).start(agent, "go", task_id="t")).settled()
        there.clear()
        async with working(agent, store=store) as runner:
            (wanted,) = await Tasks(runner).approvals()
            await Tasks(runner).decide(wanted.id, Allow())
            await (await runner.resume("t")).result()
    assert told(model.requests[-1]) == ["there is no tool 'act'; there are: none"]


async def test_a_set_that_fails_while_calls_are_made_is_told_to_the_model() -> None:
    broken: list[bool] = []

    def some(_: ToolsetContext[Any]) -> list[Tool[..., object]]:
        if broken:
            broken.clear()
            raise ConnectionError("no crm")
        return [named("act", needs_approval=True)]

    agent, model = agent_with(toolset(some), script=[call("act"), "done"])
    async with MemoryStore() as store:
        async with working(agent, store=store) as runner:
            await (await Tasks(runner).start(agent, "go", task_id="t")).settled()
        broken.append(True)
        async with working(agent, store=store) as runner:
            (wanted,) = await Tasks(runner).approvals()
            await Tasks(runner).decide(wanted.id, Allow())
            await (await runner.resume("t")).result()
    assert told(model.requests[-1]) == [
        "nothing was called: toolset 'some' has given no tools: ConnectionError: no crm"
    ]


async def test_an_external_tool_of_a_set_checks_values_and_asks_again() -> None:
    class Even(BaseModel):
        n: int

        def model_post_init(self, _: object) -> None:
            if self.n % 2:
                raise ValueError("odd")

    agent, model = agent_with(toolset([external_tool("ask", "Asks.", returns=Even)]), script=[call("ask"), "done"])
    async with working(agent) as runner:
        tasks = Tasks(runner)
        run = await tasks.start(agent, "go")
        await run.settled()
        (asked,) = await tasks.questions()
        await tasks.answer(asked.id, {"n": 3})  # the schema is all that is known of it before it is read
        while not (again := await tasks.questions()) or again[0].id == asked.id:
            await run.settled()
        assert again[0].refused == "Value error, odd"
        await tasks.answer(again[0].id, {"n": 4})
        await run.result()
    assert told(model.requests[-1]) == ['{"n":4}']


HUNDREDS = [named(f"count_{number}", f"Counts number {number}.") for number in range(200)]
INVOICE = named("create_invoice", "Makes a bill for a customer.")


async def test_a_large_set_is_searched_and_what_is_found_is_offered_from_then_on() -> None:
    agent, model = agent_with(
        toolset([*HUNDREDS, INVOICE]).searched(shown=["count_1"]),
        look,
        script=[call("search_tools", query="invoices"), call("create_invoice", x=3), call("count_5"), "done"],
    )
    result = await agent.run("go")
    before, after = ["look", "count_1", "search_tools"], ["look", "count_1", "search_tools", "create_invoice"]
    assert offered(model) == [before, after, after, after]
    search, found, unseen = told(model.requests[-1])
    assert search == "From your next turn on you can call:\n- create_invoice: Makes a bill for a customer."
    assert (found, unseen.partition(";")[0]) == ("create_invoice 3", "there is no tool 'count_5'")
    assert result.state["found"] == ["create_invoice"]


@pytest.mark.parametrize("several", [False, True], ids=["one call", "several calls"])
async def test_searches_add_up_and_hold_for_runs_that_continue(several: bool) -> None:  # noqa: FBT001  # a parameter of the table
    searches = [call("search_tools", query="invoice"), call("search_tools", query="7")]
    script: list[ScriptEntry] = [searches, "one", "two"] if several else [*searches, "one", "two"]
    agent, model = agent_with(toolset([*HUNDREDS, INVOICE]).searched(), script=script)
    async with working(agent) as runner:
        tasks = Tasks(runner)
        run = await tasks.start(agent, "go", task_id="t")
        first = await result_of(run, agent)
        await (await tasks.follow_up("t", "and?")).result()
    assert offered(model)[-2:] == [["search_tools", "count_7", "create_invoice"]] * 2
    assert first.state["found"] == ["create_invoice", "count_7"]


async def test_a_search_without_a_hit_says_so() -> None:
    agent, model = agent_with(toolset(HUNDREDS).searched(), script=[call("search_tools", query="xylophone"), "done"])
    result = await agent.run("go")
    assert told(model.requests[-1]) == ["No tool fits. There are 200 to search in: use other words."]
    assert "found" not in result.state


async def test_a_small_set_is_not_searched_and_several_large_ones_share_a_search() -> None:
    small = toolset(HUNDREDS[:3]).searched(above=3)
    agent, model = agent_with(small, script=["done"])
    await agent.run("go")
    assert offered(model) == [["count_0", "count_1", "count_2"]]
    large = [toolset(HUNDREDS[:100]).searched().prefixed("a_"), toolset(HUNDREDS[100:]).prefixed("b_").searched()]
    agent, model = agent_with(*large, script=[call("search_tools", query="number 42"), call("a_count_42"), "done"])
    await agent.run("go")
    assert offered(model)[0] == ["search_tools"]
    assert told(model.requests[-1])[1] == "count_42 0"


async def test_tools_that_appear_late_need_approval_as_others() -> None:
    agent, model = agent_with(
        toolset([*HUNDREDS, INVOICE]).searched(),
        script=[call("search_tools", query="invoice"), call("create_invoice"), "done"],
        approvals=["create_*"],
    )
    async with MemoryStore() as store:
        async with working(agent, store=store) as runner:
            await (await Tasks(runner).start(agent, "go", task_id="t")).settled()
        async with working(agent, store=store) as runner:
            (wanted,) = await Tasks(runner).approvals()
            await Tasks(runner).decide(wanted.id, Allow())
            await (await runner.resume("t")).result()
    assert told(model.requests[-1])[1] == "create_invoice 0"


async def test_a_tool_choice_may_name_what_a_set_gives() -> None:
    agent, model = agent_with(toolset([look]), script=["done"], settings=ModelSettings(tool_choice="look"))
    await agent.run("go")
    assert model.requests[0].settings.tool_choice == "look"


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("mail", ["send_mail", "read_inbox"]),
        ("sendMail", ["send_mail", "send_fax"]),
        ("inbox mails", ["read_inbox", "send_mail"]),
        ("FAX", ["send_fax"]),
        ("nothing of it", []),
        ("", []),
        ("größe", ["measure"]),
    ],
    ids=["word", "camel case", "several words", "capitals", "none", "empty", "not ascii"],
)
def test_a_search_ranks_by_words_in_name_and_description(query: str, names: list[str]) -> None:
    tools = [
        named("send_fax", "Sends paper."),
        named("read_inbox", "Reads mail that has come."),
        named("send_mail", "Writes to somebody."),
        named("measure", "Sagt die Größe."),
    ]
    assert [each.name for each in ranked(query, tools)] == names


def test_a_search_finds_the_best_eight() -> None:
    assert [each.name for each in ranked("count", HUNDREDS)] == [f"count_{number}" for number in range(8)]


async def test_a_run_with_a_fixed_set_of_tools_asks_no_set() -> None:
    async def answer(request: ModelRequest) -> ModelResponse:
        return ModelResponse("done")

    with fail_after(5):
        assert (await durably(Agent("agent", prompt="", model=FunctionModel(answer), tools=[look]))).output == "done"
