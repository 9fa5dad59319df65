"""A call that has effects is begun together with the answer that wants it, where nothing stands between the two."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import Event, fail_after
from tests.agents._weather import results

from stagepost.agents import (
    Agent,
    AgentTool,
    Budget,
    FunctionModel,
    ModelRequest,
    ModelResponse,
    ScriptedModel,
    ToolCall,
    ToolContext,
    ToolResult,
    call,
    tool,
)
from stagepost.checkpoint import Commit, MemoryStore, RunStatus, StoreFailed
from stagepost.workflows import RunFailed, Runner, RunnerStopped


class WatchedStore(MemoryStore):
    """Counts commits; what stands behind one happens before anybody knows that it is saved."""

    def __init__(self, behind: dict[int, Callable[[], Awaitable[None]]] | None = None) -> None:
        super().__init__()
        self.commits = 0
        self.behind = behind or {}

    async def commit(self, commit: Commit) -> None:
        await super().commit(commit)
        self.commits += 1
        if self.commits in self.behind:
            await self.behind.pop(self.commits)()


@dataclass
class Post:
    """Sends mails, and counts them."""

    sent: list[str] = field(default_factory=list)

    def agent(self, **options: Any) -> Agent[str]:
        """Who sends one mail."""

        @tool
        async def send(to: str) -> str:
            self.sent.append(to)
            return f"sent to {to}"

        given = {"model": ScriptedModel([call("send", to="ann"), "done"]), "tools": [send], **options}
        return Agent("mailer", prompt="", **given)


class Asks:
    """A hook that lets everything pass."""

    async def tool_call(
        self, call: ToolCall, context: ToolContext, proceed: Callable[[ToolCall], Awaitable[ToolResult]]
    ) -> ToolResult:
        assert context.call_id == call.id
        return await proceed(call)


async def until_left(store: MemoryStore, agent: Agent[str], left: Event) -> None:
    """A process that starts the run and is told to stop at some moment, while the run is under way."""
    loop = agent.as_workflow()
    async with Runner(store, workflows=[loop]) as runner:
        run = await runner.start(loop, loop.accept("go"), run_id="r")
        await left.wait()
    with pytest.raises(RunnerStopped):
        await run.result()


async def next_life(store: MemoryStore, agent: Agent[str]) -> Sequence[str]:
    """Another process takes the run to its end: the results of its calls."""
    async with Runner(store, workflows=[agent.as_workflow()]) as runner:
        (run,) = (await runner.recover()).resumed
        return [message.text for message in results((await run.result())["messages"])]


async def commits_of(agent: Agent[str]) -> int:
    """How often a run is saved."""
    loop = agent.as_workflow()
    async with WatchedStore() as store, Runner(store, workflows=[loop]) as runner:
        await (await runner.start(loop, loop.accept("go"))).result()
        return store.commits


@pytest.mark.parametrize(
    ("options", "commits"),
    [({}, 3), ({"hooks": [Asks()]}, 4)],
    ids=["the answer with its call, the result, the end", "a hook may refuse, so the call is begun behind it"],
)
async def test_p8_a_call_is_begun_by_the_commit_of_its_answer_if_nothing_stands_between(
    options: dict[str, Any], commits: int
) -> None:
    post = Post()
    with fail_after(5):
        assert await commits_of(post.agent(**options)) == commits
    assert post.sent == ["ann"]


async def test_p8_a_tool_that_asks_a_person_what_came_of_it_keeps_its_own_mark() -> None:
    @tool(on_unknown="park")
    async def send(to: str) -> str:
        return f"sent to {to}"

    with fail_after(5):
        assert await commits_of(Post().agent(tools=[send])) == 5


async def test_p8_a_process_told_to_stop_while_the_model_answers_leaves_the_call_to_the_next() -> None:
    asked, left, post = Event(), Event(), Post()

    async def answer(_: ModelRequest) -> ModelResponse:
        asked.set()
        await left.wait()
        return ModelResponse(calls=(ToolCall(id="c", name="send", arguments='{"to": "ann"}'),))

    async def leaving(runner_left: Event) -> None:
        await asked.wait()
        runner_left.set()
        await anyio.wait_all_tasks_blocked()
        left.set()

    with fail_after(5):
        async with WatchedStore() as store, anyio.create_task_group() as group:
            runner_left = Event()
            group.start_soon(leaving, runner_left)
            await until_left(store, post.agent(model=FunctionModel(answer)), runner_left)
            assert post.sent == []
            assert await next_life(store, post.agent()) == ["sent to ann"]
    assert post.sent == ["ann"]


async def test_p8_a_process_told_to_stop_while_the_answer_is_saved_still_makes_the_call() -> None:
    left, post = Event(), Post()

    async def leaving() -> None:
        left.set()
        await anyio.wait_all_tasks_blocked()

    with fail_after(5):
        async with WatchedStore({1: leaving}) as store:
            await until_left(store, post.agent(), left)
            assert post.sent == ["ann"]
            assert await next_life(store, post.agent()) == ["sent to ann"]
    assert post.sent == ["ann"]


async def test_p8_a_call_that_the_budget_forbids_has_not_begun() -> None:
    post = Post()
    loop = post.agent(budget=Budget(tool_calls=0)).as_workflow()
    with fail_after(5):
        async with WatchedStore() as store:
            async with Runner(store, workflows=[loop]) as runner:
                with pytest.raises(RunFailed, match="tool_calls"):
                    await (await runner.start(loop, loop.accept("go"), run_id="r")).result()
            async with Runner(store, workflows=[post.agent().as_workflow()]) as runner:
                state = await (await runner.resume("r")).result()
    assert [message.text for message in results(state["messages"])] == ["sent to ann"]
    assert post.sent == ["ann"]


async def test_p8_a_call_in_doubt_is_put_to_a_person_if_the_tool_wants_that_by_now() -> None:
    post = Post()

    @tool(on_unknown="park")
    async def send(to: str) -> str:
        post.sent.append(to)
        return f"sent to {to}"

    async def dies() -> None:
        raise StoreFailed(Path("memory"), "dead")

    with fail_after(5):
        async with WatchedStore({1: dies}) as store:
            loop = post.agent().as_workflow()
            async with Runner(store, workflows=[loop]) as runner:
                run = await runner.start(loop, loop.accept("go"), run_id="r")
                with pytest.raises(StoreFailed):
                    await run.result()
            async with Runner(store, workflows=[post.agent(tools=[send]).as_workflow()]) as runner:
                (run,) = (await runner.recover()).resumed
                assert await run.settled() is RunStatus.WAITING
                (wait,) = await runner.waits("r")
                await runner.settle("r", wait.name, value="sent by hand")
                state = await run.result()
    assert [message.text for message in results(state["messages"])] == ["sent by hand"]
    assert post.sent == []


async def test_p8_a_call_that_has_begun_is_made_though_others_have_used_up_the_budget_since() -> None:
    post, over = Post(), Event()

    class Ordered(MemoryStore):
        """Where the first agent's answer is saved, and nobody knows yet, until the second one has ended."""

        async def commit(self, commit: Commit) -> None:
            await super().commit(commit)
            if commit.lease.run_id.startswith("r.first") and not over.is_set():
                begun.set()
                await over.wait()

    async def second_answer(request: ModelRequest) -> str | ToolCall:
        await begun.wait()
        return ToolCall(id="c", name="send", arguments='{"to": "bob"}')

    def asked(agent: str) -> ToolCall:
        return ToolCall(id=agent, name=agent, arguments='{"request": "go"}')

    begun = Event()
    first = AgentTool(replace(post.agent(), name="first"))
    second = AgentTool(replace(post.agent(model=FunctionModel(second_answer)), name="second"))
    both = ModelResponse(calls=[asked("first"), asked("second")])
    lead = Agent(
        "lead", prompt="", model=ScriptedModel([both, "done"]), tools=[first, second], budget=Budget(tool_calls=3)
    )
    loop = lead.as_workflow()

    async def end_of_second() -> None:
        while not [
            info for info in (await store.find(status=RunStatus.FAILED)).items if info.run_id.startswith("r.second")
        ]:
            await anyio.lowlevel.checkpoint()
        over.set()

    with fail_after(5):
        async with Ordered() as store, Runner(store, workflows=[loop]) as runner, anyio.create_task_group() as group:
            group.start_soon(end_of_second)
            run = await runner.start(loop, loop.accept("go"), run_id="r")
            with suppress(RunFailed):
                await run.result()
    assert post.sent == ["ann"]
