"""The tree of a run: its names, its places, how its spans end."""

from collections.abc import Sequence
from typing import Any

import anyio
import pytest
from anyio import fail_after
from tests.agents.tracing._noting import Noting, tree

from stagepost.agents import (
    Agent,
    AgentFailed,
    AgentTool,
    Allow,
    ContextPolicy,
    Deny,
    FunctionModel,
    ModelRequest,
    ModelResponse,
    ScriptedModel,
    Summarize,
    Tasks,
    TraceContext,
    Usage,
    call,
    current_trace_context,
    handoff,
    tool,
)
from stagepost.agents._tracing._ids import iteration_id, root_id, trace_id_of
from stagepost.checkpoint import MemoryStore
from stagepost.hub import Hub
from stagepost.workflows import Chain, Parallel, RunCancelled, RunFailed, Runner, StepContext, step

PARENT = TraceContext("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331")


@tool(idempotent=True)
async def look(city: str) -> str:
    "Look at a city."
    if city == "Atlantis":
        raise ValueError("no such city")
    return f"{city} is fine"


@tool
async def send(to: str) -> str:
    "Send a mail."
    return f"sent to {to}"


def lead(script: Sequence[Any], **more: Any) -> Agent[str]:
    return Agent("lead", "Lead.", model=ScriptedModel(script), **more)


def helper() -> Agent[str]:
    model = ScriptedModel([[call("look", city="Voss")], "Voss it is", "again"])
    return Agent("helper", "Help.", model=model, tools=[look], description="Helps.")


async def test_a_run_in_memory_has_the_tree_of_the_specification() -> None:
    noting = Noting()
    agent = lead(
        [[call("look", city="Oslo"), call("look", city="Atlantis"), call("helper", request="where?")], "done"],
        tools=[look, AgentTool(helper())],
    )
    await agent.run("go", tracing=noting)
    root, *below = tree(noting.told)
    assert root.startswith("task-lead-memory-")
    assert root.endswith(" ok")
    expected = [
        "workflow-lifecycle ok",
        "  iteration-0 ok",
        "    inference-lead ok",
        "    tool-look ok",
        "    tool-look error",
        "    sub-agent-helper ok",
        "      iteration-0 ok",
        "        inference-helper ok",
        "        tool-look ok",
        "      iteration-1 ok",
        "        inference-helper ok",
        "  iteration-1 ok",
        "    inference-lead ok",
    ]
    assert sorted(line[2:] for line in below) == sorted(expected)  # calls at once begin in any order
    kinds = {each.name: each.more[0] for each in noting.told if each.what == "begin" and each.parent}
    assert {name: kinds[name] for name in ("workflow-lifecycle", "iteration-0", "inference-lead", "tool-look")} == {
        "workflow-lifecycle": "span",
        "iteration-0": "span",
        "inference-lead": "generation",
        "tool-look": "tool",
    }
    assert kinds["sub-agent-helper"] == "agent"
    assert noting.flushed == 1


async def test_a_generation_says_who_asks_which_model_and_what_it_used() -> None:
    noting = Noting()
    await lead([ModelResponse("hello", usage=_usage(7, 5))]).run("go", tracing=noting)
    (began,) = [each for each in noting.told if each.name == "inference-lead"]
    (ended,) = [each for each in noting.told if each.what == "end" and each.span == began.span]
    about = began.more[1]
    assert (about["agent"], about["path"], about["turn"], about["model"]) == ("lead", ["lead"], 0, "ScriptedModel")
    assert ended.more == [{}, {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}]


async def test_a_failed_run_says_where_and_why() -> None:
    class Down:
        async def answer(self, _request: ModelRequest) -> ModelResponse:
            raise ConnectionError("the line is dead")

    noting = Noting()
    with pytest.raises(AgentFailed):
        await Agent("lead", "Lead.", model=Down()).run("go", tracing=noting)
    assert [line.split()[-1] for line in tree(noting.told)] == ["error"] * 4
    errors = [each.more for each in noting.told if each.what == "error"]
    assert set(errors) == {"ConnectionError"}  # the text is content


async def test_a_cancelled_run_in_memory_ends_all_its_spans() -> None:
    noting = Noting()

    @tool
    async def wait() -> str:
        "Wait."
        scope.cancel()
        await anyio.sleep_forever()
        return ""

    with anyio.CancelScope() as scope:
        await lead([call("wait")], tools=[wait]).run("go", tracing=noting)
    assert [line.split()[-1] for line in tree(noting.told)] == ["cancelled"] * 3 + ["ok", "cancelled"]


async def test_a_handoff_is_a_call_and_then_another_agent_asks() -> None:
    noting = Noting()
    refunds = Agent("refunds", "Refund.", model=ScriptedModel(["not asked", "refunded"]), description="Refunds.")
    await lead([call("transfer_to_refunds")], tools=[handoff(refunds)]).run("go", tracing=noting)
    assert [line.split()[0] for line in tree(noting.told)][2:] == [
        "iteration-0",
        "inference-lead",
        "tool-transfer_to_refunds",
        "iteration-1",
        "inference-refunds",
    ]


async def test_messages_of_a_conversation_are_runs_below_their_turns() -> None:
    noting = Noting()
    script = [
        call("message_agent", agent_name="helper", message="one"),
        call("message_agent", conversation_id="helper-0-0", message="two"),
        "done",
    ]
    await lead(script, sub_agents=[helper()]).run("go", tracing=noting)
    assert [line.split()[0] for line in tree(noting.told)][2:] == [
        "iteration-0",
        "inference-lead",
        "sub-agent-helper",
        "iteration-0",
        "inference-helper",
        "tool-look",
        "iteration-1",
        "inference-helper",
        "iteration-1",
        "inference-lead",
        "sub-agent-helper",
        "iteration-2",
        "inference-helper",
        "iteration-2",
        "inference-lead",
    ]


async def test_agents_asked_at_once_are_kept_apart() -> None:
    noting = Noting()
    models = [ScriptedModel([[call("look", city=name)], name]) for name in "abc"]
    below = [
        AgentTool(Agent(f"h{index}", "Help.", model=model, tools=[look], description="Helps."))
        for index, model in enumerate(models)
    ]
    await lead([[call(f"h{index}", request="?") for index in range(3)], "done"], tools=below).run("go", tracing=noting)
    begun = {each.span: each for each in noting.told if each.what == "begin"}
    for index in range(3):
        (agent,) = [each for each in begun.values() if each.name == f"sub-agent-h{index}"]
        turns = [each for each in begun.values() if each.parent == agent.span]
        assert [each.name for each in turns] == ["iteration-0", "iteration-1"]
        assert agent.parent is not None
        assert begun[agent.parent].name == "iteration-0"
    assert len(tree(noting.told)) == 2 + 2 + 2 + 3 * 6


async def test_a_chain_in_memory_is_one_trace() -> None:
    noting = Noting()
    chain = lead(["draft"]).then(Agent("editor", "Edit.", model=ScriptedModel(["final"])))
    await chain.run("go", tracing=noting)
    roots = [each for each in noting.told if each.name.startswith("task-")]
    assert [each.name.split("-")[1] for each in roots] == ["lead", "editor"]
    assert len({each.trace for each in noting.told if each.what == "begin"}) == 1


async def test_the_steps_of_a_plain_workflow_are_spans_and_its_children_stand_below() -> None:
    noting = Noting()
    inner = Chain("inner", [step("deep", lambda _state: {"deep": 1})])

    async def outer(state: dict[str, object], context: StepContext) -> dict[str, object]:
        await context.child(inner, "below", {})
        return {}

    both = Parallel("both", step("each", lambda item: item), over=lambda _state: [1, 2], into="made")
    flow = Chain("flow", [step("outer", outer), both], companions=[inner])
    await flow.run({}, tracing=noting)
    root, *lines = tree(noting.told)
    assert root.startswith("run-flow-memory-")
    assert [line.strip() for line in lines] == [
        "workflow-lifecycle ok",
        "step-outer ok",
        "sub-workflow-inner ok",
        "step-deep ok",
        "step-each ok",
        "step-each ok",
    ]
    assert lines[2].startswith("      sub")  # below the step


async def test_a_call_that_needs_approval_waits_visibly() -> None:
    noting = Noting()
    agent = lead([[call("send", to="ann"), call("look", city="Oslo")], "done"], tools=[send, look], approvals=["send"])
    with fail_after(30):
        async with MemoryStore() as store, Runner(store, workflows=[agent], tracing=noting) as runner:
            tasks = Tasks(runner)
            run = await tasks.start(agent, "go", task_id="t", labels={"user": "ann"})
            await run.settled()
            (wanted,) = await tasks.approvals()
            await tasks.decide(wanted.id, Allow())
            await run.result()
    lines = tree(noting.told)
    assert sorted(lines) == sorted(
        [
            "task-lead-t ok",
            "  workflow-lifecycle ok",
            "    iteration-0 ok",
            "      inference-lead ok",
            "      tool-send waiting",
            "      tool-look ok",
            "      tool-send ok",
            "    iteration-1 ok",
            "      inference-lead ok",
        ]
    )
    assert lines.index("      tool-send waiting") < lines.index("      tool-send ok")
    suspended = [each.span for each in noting.told if each.status == "suspended"]
    assert (suspended[0], suspended[-1], len(suspended)) == (iteration_id("t", 0), root_id("t"), 3)
    assert [each.name for each in noting.told if each.what == "event"] == ["resumed"] * 3
    (first, *_) = noting.told
    assert (first.span, first.trace, first.more[1]) == (root_id("t"), trace_id_of("t"), "ann")


async def test_an_agent_below_that_waits_suspends_all_above_it() -> None:
    noting = Noting()
    below = Agent(
        "clerk", "Mail.", model=ScriptedModel([call("send", to="ann"), "sent"]), tools=[send], approvals=["send"]
    )
    agent = lead([call("clerk", request="mail ann"), "done"], tools=[AgentTool(below)])
    with fail_after(30):
        async with MemoryStore() as store, Runner(store, workflows=[agent], tracing=noting) as runner:
            tasks = Tasks(runner)
            run = await tasks.start(agent, "go", task_id="t")
            await run.settled()
            (wanted,) = await tasks.approvals()
            await tasks.decide(wanted.id, Deny("no"))
            await run.result()
    assert [line.strip() for line in tree(noting.told)] == [
        "task-lead-t ok",
        "workflow-lifecycle ok",
        "iteration-0 ok",
        "inference-lead ok",
        "sub-agent-clerk ok",
        "iteration-0 ok",
        "inference-clerk ok",
        "tool-send waiting",
        "tool-send error",
        "iteration-1 ok",
        "inference-clerk ok",
        "iteration-1 ok",
        "inference-lead ok",
    ]


async def test_a_task_that_is_cancelled_in_the_middle_ends_as_cancelled() -> None:
    noting, begun = Noting(), anyio.Event()

    @tool
    async def wait() -> str:
        "Wait."
        begun.set()
        await anyio.sleep_forever()
        return ""

    agent = lead([call("wait")], tools=[wait])
    with fail_after(30):
        async with MemoryStore() as store, Runner(store, workflows=[agent], tracing=noting) as runner:
            run = await Tasks(runner).start(agent, "go", task_id="t")
            await begun.wait()
            await runner.cancel("t")
            with pytest.raises(RunCancelled):
                await run.result()
    assert [line.split()[-1] for line in tree(noting.told)] == ["cancelled"] * 3 + ["ok", "cancelled"]


async def test_a_task_that_is_cancelled_while_it_waits_ends_as_cancelled() -> None:
    noting = Noting()
    agent = lead([call("send", to="ann"), "done"], tools=[send], approvals=["send"])
    with fail_after(30):
        async with MemoryStore() as store, Runner(store, workflows=[agent], tracing=noting) as runner:
            run = await Tasks(runner).start(agent, "go", task_id="t")
            await run.settled()
            await runner.cancel("t")
    lines = tree(noting.told)
    assert lines[:2] == ["task-lead-t cancelled", "  workflow-lifecycle cancelled"]


async def test_a_runner_that_is_left_interrupts_calls_and_another_one_goes_on() -> None:
    noting, begun = Noting(), anyio.Event()
    is_first = True

    @tool(idempotent=True)
    async def wait() -> str:
        "Wait."
        begun.set()
        if is_first:
            await anyio.sleep_forever()
        return "waited"

    agent = lead([call("wait"), "done"], tools=[wait])
    with fail_after(30):
        async with MemoryStore() as store:
            async with Runner(store, workflows=[agent], tracing=noting, grace=0) as runner:
                await Tasks(runner).start(agent, "go", task_id="t")
                await begun.wait()
            is_first = False
            async with Runner(store, workflows=[agent], tracing=noting) as runner:
                await runner.recover()
                await (await runner.get("t")).result()
    assert [line.strip() for line in tree(noting.told)] == [
        "task-lead-t ok",
        "workflow-lifecycle ok",
        "iteration-0 ok",
        "inference-lead ok",
        "tool-wait interrupted",
        "tool-wait ok",
        "iteration-1 ok",
        "inference-lead ok",
    ]


async def test_a_failed_task_that_is_resumed_goes_on_in_its_trace() -> None:
    noting = Noting()
    fails = [True]

    class Once:
        async def answer(self, _request: ModelRequest) -> ModelResponse:
            if fails:
                fails.clear()
                raise ConnectionError
            return ModelResponse("done")

    agent = Agent("lead", "Lead.", model=Once())
    with fail_after(30):
        async with MemoryStore() as store, Runner(store, workflows=[agent], tracing=noting) as runner:
            run = await Tasks(runner).start(agent, "go", task_id="t")
            with pytest.raises(RunFailed):
                await run.result()
            await (await runner.resume("t")).result()
    ends = [(each.span, each.status) for each in noting.told if each.what == "end" and each.span == root_id("t")]
    assert ends == [(root_id("t"), "error"), (root_id("t"), "ok")]
    asked = [each.span for each in noting.told if each.name == "inference-lead"]
    assert len(set(asked)) == 2


async def test_a_served_agent_belongs_below_who_asks_it() -> None:
    noting = Noting()
    agent = lead(["hello"])
    with fail_after(30):
        async with MemoryStore() as store, Hub() as hub, Runner(store, hub=hub, tracing=noting) as runner:
            await runner.serve(agent)
            await hub.request("lead", "go", headers={"traceparent": PARENT.traceparent})
    first = noting.told[0]
    assert (first.trace, first.parent) == (PARENT.trace_id, PARENT.span_id)


async def test_a_run_belongs_to_the_trace_that_its_caller_gives() -> None:
    noting = Noting()
    await lead(["hello"]).run("go", tracing=noting, trace=PARENT.traceparent)
    assert (noting.told[0].trace, noting.told[0].parent) == (PARENT.trace_id, PARENT.span_id)


async def test_a_tool_knows_the_context_of_its_call() -> None:
    noting, seen = Noting(), list[TraceContext | None]()

    @tool
    async def ask() -> str:
        "Ask."
        seen.append(current_trace_context())
        return "asked"

    @tool
    def ask_in_thread() -> str:
        "Ask."
        seen.append(current_trace_context())
        return "asked"

    await lead([call("ask"), call("ask_in_thread"), "done"], tools=[ask, ask_in_thread]).run("go", tracing=noting)
    await lead([call("ask"), "done"], tools=[ask]).run("go")
    calls = {each.name: each.span for each in noting.told if each.what == "begin"}
    assert [context and context.span_id for context in seen] == [calls["tool-ask"], calls["tool-ask_in_thread"], None]
    assert current_trace_context() is None


async def test_a_summary_is_a_question_of_its_own() -> None:
    noting = Noting()
    policy = ContextPolicy(messages=3, compact=[Summarize(keep_turns=1)])
    model = FunctionModel(_looking)
    await Agent("lead", "Lead.", model=model, tools=[look], context=policy).run("go", tracing=noting)
    asked = [each.name for each in noting.told if each.what == "begin" and each.more[0] == "generation"]
    assert "summary-lead" in asked
    assert len({each.span for each in noting.told if each.what == "begin" and each.more[0] == "generation"}) == len(
        asked
    )
    tree(noting.told)


def _looking(request: ModelRequest) -> ModelResponse:
    """Looks three times, and writes summaries where no tools are offered."""
    if not request.tools:
        return ModelResponse("in short")
    return ModelResponse("done") if request.answers >= 3 else ModelResponse(calls=[call("look", city="Oslo")])


def _usage(read: int, written: int) -> Usage:
    return Usage(input_tokens=read, output_tokens=written)
