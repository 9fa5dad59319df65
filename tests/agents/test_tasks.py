"""What a service does with the runs of agents: start, look, decide, tell, follow up, cancel."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from pydantic_core import to_json
from tests.agents._weather import look, results
from tests.workflows._words import running

from stagepost.agents import (
    Agent,
    Allow,
    AssistantMessage,
    CallNotInDoubt,
    Deny,
    FunctionModel,
    InvalidRequest,
    ModelRequest,
    ModelResponse,
    NotAnAgent,
    ScriptedModel,
    ScriptEntry,
    TaskFinished,
    TaskNotFinished,
    Tasks,
    TaskStatus,
    ToolCall,
    ToolContext,
    Usage,
    UserMessage,
    call,
    tool,
)
from stagepost.checkpoint import (
    AlreadyAnswered,
    MemoryStore,
    RunNotFound,
    RunStatus,
    Snapshot,
    SqliteStore,
    WaitNotFound,
)
from stagepost.workflows import (
    Chain,
    DefinitionError,
    Receive,
    RunCancelled,
    RunConflict,
    RunFailed,
    Runner,
    Wait,
    WorkflowNotFound,
)


class Door:
    """Holds whoever comes by until it is opened."""

    def __init__(self) -> None:
        self.entered = anyio.Event()
        self.open = anyio.Event()

    async def pass_through(self) -> None:
        self.entered.set()
        await self.open.wait()


class Held:
    """A scripted model that waits at a door before each of some of its answers."""

    def __init__(self, script: list[ScriptEntry], doors: dict[int, Door]) -> None:
        self.scripted = ScriptedModel(script)
        self._doors = doors

    async def answer(self, request: ModelRequest) -> ModelResponse:
        number = len(self.scripted.requests)
        if number in self._doors:
            await self._doors[number].pass_through()
        return await self.scripted.answer(request)


def said(request: ModelRequest) -> list[str]:
    return [message.text for message in request.messages if isinstance(message, UserMessage)]


@asynccontextmanager
async def tasks_of(
    *agents: Agent[Any], store: MemoryStore | None = None, **options: Any
) -> AsyncIterator[tuple[Tasks, Runner]]:
    async with running(store or MemoryStore(), *agents, **options) as runner:
        yield Tasks(runner), runner


async def until(condition: Callable[[], Awaitable[object]]) -> None:
    while not await condition():
        await checkpoint()


@tool(needs_approval=True)
async def mail(to: str) -> str:
    "Send a mail."
    return f"sent to {to}"


async def test_a_task_belongs_to_the_trace_of_whoever_has_started_it() -> None:
    store, agent = MemoryStore(), Agent("echo", prompt="", model=ScriptedModel(["yes", "no"]))
    traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    async with running(store, agent) as runner:
        tasks = Tasks(runner)
        run = await tasks.start(agent, "Well?", trace=traceparent)
        assert (await store.info(run.id)).trace == traceparent
        async with tasks.start_stream(agent, "Well?", trace="nightly") as stream:
            assert (await store.info(stream.task_id)).trace == "nightly"


async def test_a_task_is_started_and_looked_at_when_it_has_ended() -> None:
    usage = Usage(input_tokens=3, output_tokens=2)
    model = FunctionModel(lambda _: ModelResponse(text="hi", usage=usage))
    async with tasks_of(Agent("echo", prompt="", model=model)) as (tasks, _):
        run = await tasks.start("echo", "hello", task_id="t")
        await run.result()
        task = await tasks.get("t")
    assert (task.id, task.agent, task.status, task.output, task.error) == ("t", "echo", "completed", "hi", None)
    assert task.messages == (UserMessage(text="hello"), AssistantMessage(text="hi"))
    assert (task.turns, task.usage, task.conversations, task.approvals) == (1, usage, (), ())
    assert task.finished_at is not None
    assert task.created_at <= task.finished_at


async def test_a_task_is_started_once_by_its_key_and_by_its_id() -> None:
    model = ScriptedModel(["hi"])
    async with tasks_of(agent := Agent("echo", prompt="", model=model)) as (tasks, _):
        first, second = [await tasks.start(agent, "hello", key="k") for _ in range(2)]
        assert first.id == second.id
        with pytest.raises(RunConflict):
            await tasks.start("echo", "bye", key="k")
        await first.result()
    assert len(model.requests) == 1


async def test_what_is_no_agent_is_refused() -> None:
    agent, stranger = (Agent("echo", prompt="", model=ScriptedModel([])) for _ in range(2))
    chain = Chain("chain", [Receive("message")])
    async with tasks_of(agent) as (tasks, _):
        with pytest.raises(WorkflowNotFound, match="nobody"):
            await tasks.start("nobody", "hello")
        with pytest.raises(DefinitionError):
            await tasks.start(stranger, "hello")
        with pytest.raises(InvalidRequest):
            await tasks.start(agent, 3)
        with pytest.raises(RunNotFound):
            await tasks.get("t")
    async with running(MemoryStore(), chain) as runner:
        tasks = Tasks(runner)
        await runner.start(chain, run_id="c")
        with pytest.raises(NotAnAgent, match="workflow 'chain' does not belong to an agent"):
            await tasks.start("chain", "hello")
        for refused in (tasks.get("c"), tasks.tell("c", "hello"), tasks.follow_up("c", "hello"), tasks.cancel("c")):
            with pytest.raises(NotAnAgent, match="run 'c' of workflow 'chain'"):
                await refused
        assert (await runner.get("c")).status.is_open


async def test_status_in_each_phase_of_a_task() -> None:
    doors, held = {0: Door(), 1: Door()}, Door()

    @tool
    async def walk() -> str:
        await held.pass_through()
        return "walked"

    model = Held([[call("walk"), call("mail", to="eve")], "done"], doors)
    agent = Agent("worker", prompt="", model=model, tools=[walk, mail])
    async with tasks_of(agent, max_running=1) as (tasks, _):
        run = await tasks.start(agent, "go", task_id="t")
        late = await tasks.start(agent, "go", task_id="late")
        await doors[0].entered.wait()
        assert [(await tasks.get(name)).status for name in ("t", "late")] == ["thinking", "pending"]
        await tasks.cancel(late.id)
        doors[0].open.set()
        await held.entered.wait()
        await until(tasks.approvals)
        assert (await tasks.get("t")).status == TaskStatus.AWAITING_APPROVAL
        (wanted,) = await tasks.approvals()
        await tasks.decide(wanted.id, Deny(reason="no"), by="ann")
        assert (await tasks.get("t")).status == TaskStatus.AWAITING_TOOL
        held.open.set()
        await doors[1].entered.wait()
        assert (await tasks.get("t")).status == TaskStatus.THINKING
        doors[1].open.set()
        await run.result()
        assert [(await tasks.get(name)).status for name in ("t", "late")] == ["completed", "cancelled"]


async def test_an_approval_is_shown_and_decided_also_after_a_restart() -> None:
    store = MemoryStore()

    def agent() -> Agent[str]:
        return Agent("mailer", prompt="", model=ScriptedModel([call("mail", to="eve"), "done"]), tools=[mail])

    async with tasks_of(agent(), store=store) as (tasks, _):
        await (await tasks.start("mailer", "go", task_id="t")).settled()
        (before,) = await tasks.approvals()
    async with tasks_of(agent(), store=store) as (tasks, runner):
        await runner.recover()
        task = await tasks.get("t")
        assert (task.status, task.approvals) == ("awaiting_approval", (before,))
        assert (before.task_id, before.agent, before.tool, before.rule) == ("t", "mailer", "mail", "needs_approval")
        assert dict(before.arguments) == {"to": "eve"}
        assert before.due_at is not None
        await tasks.decide(before.id, Allow(arguments={"to": "bob"}), by="ann")
        with pytest.raises(AlreadyAnswered):
            await tasks.decide(before.id, Deny())
        await (await runner.get("t")).result()
        task = await tasks.get("t")
    assert (task.status, task.approvals) == ("completed", ())
    assert [result.text for result in results(task.messages)] == ["sent to bob"]  # type: ignore[arg-type]  # a tuple it is


async def test_the_approval_of_a_sub_agent_stands_at_the_task_while_that_goes_on() -> None:
    held = Door()

    @tool
    async def walk() -> str:
        await held.pass_through()
        return "walked"

    post = Agent(
        "post", prompt="", model=ScriptedModel([[call("mail", to="eve"), call("walk")], "ok"]), tools=[mail, walk]
    )
    lead = Agent(
        "lead",
        prompt="",
        model=ScriptedModel([call("message_agent", agent_name="post", message="go"), "done"]),
        sub_agents=[post],
    )
    async with tasks_of(lead) as (tasks, _):
        run = await tasks.start(lead, "go", task_id="t")
        await held.entered.wait()
        await until(tasks.approvals)
        task = await tasks.get("t")
        assert (task.status, [each.task_id for each in task.approvals]) == ("awaiting_approval", ["t"])
        (wanted,) = await tasks.approvals()
        assert (wanted.task_id, wanted.agent) == ("t", "post")
        assert task.approvals == (wanted,)
        held.open.set()
        await tasks.decide(wanted.id, Allow())
        await run.result()
        task = await tasks.get("t")
        (below,) = task.conversations
    assert (task.status, below.agent, below.exchanges[0].response) == ("completed", "post", "ok")


async def test_waits_of_other_workflows_are_no_approvals() -> None:
    agent = Agent("mailer", prompt="", model=ScriptedModel([call("mail", to="eve"), "done"]), tools=[mail])
    chain = Chain("chain", [Wait("ask")])
    store = MemoryStore()
    async with running(store, agent, chain) as runner:
        await (await runner.start(chain)).settled()
        await (await Tasks(runner).start(agent, "go", task_id="t")).settled()
        assert [wanted.task_id for wanted in await Tasks(runner).approvals()] == ["t"]
    async with running(store, agent) as runner:  # which does not even know the other one
        assert [wanted.task_id for wanted in await Tasks(runner).approvals()] == ["t"]


async def test_an_agent_below_another_workflow_is_a_task_of_its_own() -> None:
    agent = Agent("mailer", prompt="", model=ScriptedModel([call("mail", to="eve"), "done"]), tools=[mail])
    loop: Any = agent.as_workflow()

    async def ask(_state: object, context: Any) -> None:
        await context.child(loop, "kid", loop.accept("go"))

    async with running(MemoryStore(), Chain("chain", [ask], companions=[agent]), agent) as runner:
        run = await runner.start(runner.workflow("chain"), run_id="c")
        await run.settled()
        (wanted,) = await Tasks(runner).approvals()
        assert wanted.task_id == "c.kid"
        assert (await Tasks(runner).get("c.kid")).approvals == (wanted,)


class Bank:
    """A tool that the first process does not see the end of."""

    def __init__(self, store: MemoryStore | None = None) -> None:
        self.store = store or MemoryStore()
        self.door = Door()
        self.paid: list[int] = []

        @tool(on_unknown="park")
        async def pay(sum: int) -> str:  # noqa: A002  # what the model reads
            self.paid.append(sum)
            await self.door.pass_through()
            return "paid"

        self.tool = pay

    @asynccontextmanager
    async def in_doubt(self, agent: Agent[Any], **options: Any) -> AsyncIterator[tuple[Tasks, Runner]]:
        """Task ``t``, whose process has ended in the middle of the call, in the next one."""
        async with tasks_of(agent, store=self.store, grace=0, **options) as (tasks, _):
            await tasks.start(agent, "go", task_id="t")
            await self.door.entered.wait()
        self.door.open.set()
        async with tasks_of(agent, store=self.store, **options) as (tasks, runner):
            await runner.recover()
            assert await (await runner.get("t")).settled() is RunStatus.WAITING
            yield tasks, runner


async def test_a_call_in_doubt_is_shown_at_its_task_until_somebody_says_what_came_of_it() -> None:
    bank = Bank()
    model = ScriptedModel([[call("pay", sum=5), call("look", city="Oslo")], "done"])
    agent = Agent("payer", prompt="", model=model, tools=[bank.tool, look])
    async with bank.in_doubt(agent) as (tasks, runner):
        task = await tasks.get("t")
        assert (task.status, task.approvals) == (TaskStatus.IN_DOUBT, ())
        (doubt,) = task.doubts
        assert (doubt.task_id, doubt.agent, doubt.tool, dict(doubt.arguments)) == ("t", "payer", "pay", {"sum": 5})
        assert await tasks.doubts() == task.doubts
        await tasks.settle(doubt.id, "paid by hand")
        with pytest.raises(CallNotInDoubt, match="somebody has settled it"):
            await tasks.settle(doubt.id, retry=True)
        await (await runner.get("t")).result()
        task = await tasks.get("t")
    assert (task.status, task.doubts, bank.paid) == ("completed", (), [5])
    assert results(task.messages)[0].text == "paid by hand"  # type: ignore[arg-type]  # a tuple it is


async def test_a_call_in_doubt_that_was_not_made_is_made_when_somebody_says_so() -> None:
    bank = Bank()
    model = ScriptedModel([call("pay", sum=5), "done"])
    agent = Agent("payer", prompt="", model=model, tools=[bank.tool])
    async with bank.in_doubt(agent) as (tasks, runner):
        (doubt,) = await tasks.doubts()
        await tasks.settle(doubt.id, retry=True)
        state = await (await runner.get("t")).result()
    assert ([result.text for result in results(state["messages"])], bank.paid) == (["paid"], [5, 5])


async def test_of_two_who_say_at_once_what_came_of_a_call_one_counts() -> None:
    bank, refused = Bank(), list[str]()
    agent = Agent("payer", prompt="", model=ScriptedModel([call("pay", sum=5), "done"]), tools=[bank.tool])

    async def settle(result: str) -> None:
        try:
            await tasks.settle(doubt.id, result)
        except CallNotInDoubt:
            refused.append(result)

    async with bank.in_doubt(agent) as (tasks, runner):
        (doubt,) = await tasks.doubts()
        async with anyio.create_task_group() as group:
            group.start_soon(settle, "by Ann")
            group.start_soon(settle, "by Bob")
        state = await (await runner.get("t")).result()
    assert sorted([results(state["messages"])[0].text, *refused]) == ["by Ann", "by Bob"]


async def test_the_call_in_doubt_of_a_sub_agent_stands_at_the_task_beside_its_approvals() -> None:
    bank = Bank()
    below = ScriptedModel([[call("pay", sum=5), call("mail", to="eve")], "ok"])
    post = Agent("post", prompt="", model=below, tools=[bank.tool, mail])
    script: list[ScriptEntry] = [call("message_agent", agent_name="post", message="go"), "done"]
    lead = Agent("lead", prompt="", model=ScriptedModel(script), sub_agents=[post])
    async with bank.in_doubt(lead) as (tasks, runner):
        task = await tasks.get("t")
        (wanted,), (doubt,) = task.approvals, task.doubts
        assert (task.status, doubt.task_id, doubt.agent) == ("in_doubt", "t", "post")
        with pytest.raises(CallNotInDoubt):
            await tasks.settle(wanted.id, "no")
        with pytest.raises(WaitNotFound):
            await tasks.decide(doubt.id, Allow())
        await tasks.settle(doubt.id, "paid by hand")
        assert (await tasks.get("t")).status == "awaiting_approval"
        await tasks.decide(wanted.id, Allow())
        await (await runner.get("t")).result()
    assert bank.paid == [5]


async def test_the_call_in_doubt_of_a_task_that_has_ended_cannot_be_settled() -> None:
    bank = Bank()
    agent = Agent("payer", prompt="", model=ScriptedModel([call("pay", sum=5), "done"]), tools=[bank.tool])
    async with bank.in_doubt(agent) as (tasks, _):
        (doubt,) = await tasks.doubts()
        await tasks.cancel("t")
        with pytest.raises(CallNotInDoubt, match="its task has ended"):
            await tasks.settle(doubt.id, "paid")
        with pytest.raises(RunNotFound):
            await tasks.settle("nobody/tool", "paid")
        with pytest.raises(ValueError, match="either the result"):
            await tasks.settle(doubt.id)  # type: ignore[call-overload]  # the mistake under test
        with pytest.raises(ValueError, match="either the result"):
            await tasks.settle(doubt.id, "paid", retry=True)  # type: ignore[call-overload]  # likewise
        assert (await tasks.doubts(), (await tasks.get("t")).doubts) == ((), ())


async def test_p11_secrets_that_a_hook_puts_into_a_call_are_not_shown_when_it_is_in_doubt(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Signs:
        async def tool_call(self, made: ToolCall, context: ToolContext, proceed: Any) -> Any:
            signed = {"sum": 5, "by": [context.secrets["pin"]], "note": context.secrets["name"]}
            return await proceed(made.model_copy(update={"arguments": to_json(signed).decode()}))

    bank, door = Bank(), Door()

    @tool(on_unknown="park")
    async def sign(sum: int, by: list[int], note: str) -> str:  # noqa: A002  # what the model reads
        await door.pass_through()
        return "signed"

    secrets = {"pin": "47110815", "name": "open-sesame"}
    bank.door = door
    agent = Agent("payer", prompt="", model=ScriptedModel([call("sign"), "done"]), tools=[sign], hooks=[Signs()])
    async with bank.in_doubt(agent, secrets=secrets) as (tasks, _):
        (doubt,) = await tasks.doubts()
        assert dict(doubt.arguments) == {"sum": 5, "by": ["***"], "note": "***"}
    assert "tool_hook_failed" not in caplog.text  # the hook has not failed: it was told of the doubt


@pytest.mark.parametrize("moment", ["before", "while", "at the end"])
async def test_what_a_task_is_told_reaches_its_model_before_its_next_answer(moment: str) -> None:
    doors = {0: Door(), 1: Door()}
    model = Held([call("look", city="Oslo"), "done", "done, by train"], doors)
    agent = Agent("planner", prompt="", model=model, tools=[look])
    async with tasks_of(agent) as (tasks, _):
        run = await tasks.start(agent, "go", task_id="t")
        if moment == "before":
            assert await tasks.tell("t", "by train")
        await doors[0].entered.wait()
        if moment == "while":
            assert await tasks.tell("t", "by train", dedup="once")
            assert not await tasks.tell("t", "by train", dedup="once")
        doors[0].open.set()
        await doors[1].entered.wait()
        if moment == "at the end":
            assert await tasks.tell("t", "by train")
        doors[1].open.set()
        state = await run.result()
        with pytest.raises(TaskFinished, match=r"ended \(completed\).*follow_up"):
            await tasks.tell("t", "or by bus")
        with pytest.raises(TaskFinished):
            await tasks.cancel("t")
    asked = [said(request) for request in model.scripted.requests]
    if moment == "at the end":
        assert asked == [["go"], ["go"], ["go", "by train"]]
        assert state["output"] == "done, by train"
    else:
        assert asked[1] == ["go", "by train"]
        assert state["output"] == "done"
    assert [message.text for message in state["messages"] if isinstance(message, UserMessage)] == ["go", "by train"]


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_what_a_task_is_told_at_any_moment_is_heard_or_refused(
    kind: str, tmp_path: Path, anyio_backend_name: str
) -> None:
    if (kind, anyio_backend_name) == ("sqlite", "trio"):
        pytest.skip("the store needs asyncio")
    agent = Agent(
        "looker", prompt="", model=ScriptedModel([*[call("look", city="Oslo")] * 3, "hi", "hi"]), tools=[look]
    )
    store = MemoryStore() if kind == "memory" else SqliteStore(tmp_path / "runs.db")
    heard: list[bool] = []
    async with running(store, agent) as runner:
        tasks = Tasks(runner)
        for moment in range(40):
            run = await tasks.start(agent, "go")
            for _ in range(moment * 2):
                await checkpoint()
            try:
                heard.append(await tasks.tell(run.id, "stop"))
            except TaskFinished:
                heard.append(False)
            messages = (await run.result())["messages"]
            assert (UserMessage(text="stop") in messages) is heard[-1]
    assert any(heard)


class Counting(MemoryStore):
    """Notes which runs are read as a whole."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []

    async def load(self, run_id: str, *, at: int | None = None) -> Snapshot:
        self.loaded.append(run_id)
        return await super().load(run_id, at=at)


async def looked(store: Counting) -> bool:
    """Whether the run itself has looked what it was told."""
    return bool(store.loaded)


async def test_to_see_that_a_task_is_an_agents_its_transcript_is_not_read() -> None:
    store, door = Counting(), Door()
    model = Held(["hi"], {0: door})
    async with tasks_of(Agent("echo", prompt="", model=model), store=store) as (tasks, _):
        run = await tasks.start("echo", "hello", task_id="t")
        await door.entered.wait()
        await tasks.tell("t", "quickly")
        assert store.loaded == []
        await anyio.wait_all_tasks_blocked()
        assert store.loaded == []  # whoever hears of it reads only what is new
        await tasks.cancel("t")
        assert store.loaded == []
        assert run.status is RunStatus.CANCELLED


async def test_a_task_that_waits_for_a_person_is_told_something_and_waits_on() -> None:
    model = ScriptedModel([call("mail", to="eve"), "done"])
    async with tasks_of(Agent("mailer", prompt="", model=model, tools=[mail])) as (tasks, _):
        run = await tasks.start("mailer", "go", task_id="t")
        await run.settled()
        await tasks.tell("t", "quickly")
        await run.settled()
        (wanted,) = (await tasks.get("t")).approvals
        await tasks.decide(wanted.id, Allow())
        await run.result()
    assert said(model.requests[1]) == ["go", "quickly"]


async def test_a_task_that_has_completed_is_followed_up() -> None:
    model = ScriptedModel(["hi", "bye"])
    async with tasks_of(Agent("echo", prompt="", model=model)) as (tasks, _):
        await (await tasks.start("echo", "hello", task_id="t")).result()
        runs = [await tasks.follow_up("t", "leave", new_id="u", key="k") for _ in range(2)]
        assert {run.id for run in runs} == {"u"}
        await runs[0].result()
        assert [(await tasks.get(name)).output for name in ("t", "u")] == ["hi", "bye"]
        assert (await tasks.get("u")).turns == 1
        with pytest.raises(RunConflict):
            await tasks.follow_up("t", "stay", new_id="u")
    assert said(model.requests[1]) == ["hello", "leave"]


async def test_a_task_that_has_failed_is_followed_up() -> None:
    model = ScriptedModel([call("look", city="Oslo"), OSError("down"), "fine"])
    async with tasks_of(Agent("w", prompt="", model=model, tools=[look])) as (tasks, _):
        with pytest.raises(RunFailed):
            await (await tasks.start("w", "hello", task_id="t")).result()
        task = await tasks.get("t")
        assert task.status == TaskStatus.FAILED
        assert "OSError: down" in str(task.error)
        state = await (await tasks.follow_up("t", "again")).result()
    assert state["output"] == "fine"
    assert said(model.requests[-1]) == ["hello", "again"]
    assert len(results(state["messages"])) == 1


async def test_a_task_that_was_cancelled_is_followed_up_with_calls_that_have_results() -> None:
    model = ScriptedModel([[call("mail", to="eve"), call("look", city="Oslo")], "fine"])
    async with tasks_of(Agent("m", prompt="", model=model, tools=[mail, look])) as (tasks, _):
        run = await tasks.start("m", "hello", task_id="t")
        await run.settled()
        with pytest.raises(TaskNotFinished, match="tell"):
            await tasks.follow_up("t", "again")
        assert (await tasks.cancel("t")).status is RunStatus.CANCELLED
        with pytest.raises(RunCancelled):
            await run.result()
        assert await tasks.approvals() == ()
        with pytest.raises(TaskFinished, match="cancelled"):
            await tasks.tell("t", "again")
        state = await (await tasks.follow_up("t", "again")).result()
    assert [result.text for result in results(state["messages"])] == ["not called: the run ended before"] * 2


async def test_a_task_is_cancelled_with_its_sub_agent_that_waits_for_a_person() -> None:
    post = Agent("post", prompt="", model=ScriptedModel([call("mail", to="eve"), "ok"]), tools=[mail])
    script: list[ScriptEntry] = [call("message_agent", agent_name="post", message="go"), "done"]
    lead = Agent("lead", prompt="", model=ScriptedModel(script), sub_agents=[post])
    async with tasks_of(lead) as (tasks, runner):
        run = await tasks.start(lead, "go", task_id="t")
        await run.settled()
        (wanted,) = await tasks.approvals()
        below = wanted.id.partition("/")[0]
        assert (await tasks.get(below)).agent == "post"
        await tasks.cancel("t")
        assert [(await tasks.get(name)).status for name in ("t", below)] == ["cancelled"] * 2
        assert (await tasks.approvals(), await runner.waits()) == ((), ())
