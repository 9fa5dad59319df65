from typing import Any

import pytest
from anyio import Event, create_task_group, fail_after
from tests.service.assistant._desk import GOOD, Desk, Outbox, Rules, desk, made, request, says

from stagepost.checkpoint import MemoryStore
from stagepost.service.assistant import Assistant, AssistantAgents, AssistantResult, AssistantWorkflow, InvalidAssistant
from stagepost.service.channels import Load, LoadLimits, LoadRefused, Rollout
from stagepost.workflows import RunConflict, Runner


async def test_whoever_asks_too_much_is_refused_before_anything_is_stored() -> None:
    load = Load(LoadLimits(user_requests="2/day"))
    async with desk() as it:
        assistant = Assistant(it.workflow, it.runner, load=load)
        for number in range(2):
            await assistant.ask(request("hello", number))
        with pytest.raises(LoadRefused, match="requests of the user"):
            await assistant.ask(request("hello", 3))
        assert (await it.runner.runs.count(workflow="assistant")).total == 2
        assert load.open == 0


async def test_tokens_count_and_a_tenant_that_has_spent_them_waits_for_tomorrow() -> None:
    from stagepost.agents import Agent, FunctionModel, ModelRequest, ModelResponse, ToolCall, Usage
    from stagepost.agents.quality import Judge
    from stagepost.service.assistant import Composed, Extracted, Plan

    rules = Rules()

    def counted(name: str) -> FunctionModel:
        inner = rules.model(name)

        async def answer(asked: ModelRequest) -> ModelResponse:
            response = await inner.answer(asked)
            calls = [ToolCall(id="1", name=call.name, arguments=call.arguments) for call in response.calls]
            return ModelResponse(calls=calls, usage=Usage(input_tokens=90, output_tokens=10, cost=0.5))

        return FunctionModel(answer)

    agents = AssistantAgents(
        Agent("planner", "Plan.", model=counted("planner"), output=Plan),
        Agent("data", "Look up.", model=counted("data"), output=Extracted),
        Agent("composer", "Write.", model=counted("composer"), output=Composed),
    )
    workflow = AssistantWorkflow(agents, Judge(), senders={"sms": Outbox()})
    load = Load(LoadLimits(tenant_tokens=250))
    async with (
        MemoryStore() as store,
        Runner(store, workflows=[workflow]) as runner,
        Assistant(workflow, runner, load=load) as assistant,
    ):
        result = await assistant.ask(request())
        assert (result.metadata.tokens, result.metadata.cost) == (300, 1.5)
        assert result.metadata.needs_review  # without a judge nobody could decide
        with pytest.raises(LoadRefused, match="tokens"):
            await assistant.ask(request(number=2))


async def test_the_way_of_a_conversation_is_decided_at_its_first_message_and_stays() -> None:
    rules = [Rollout(share=0)]
    async with desk() as it:
        assistant = Assistant(it.workflow, it.runner, rollout=lambda: rules[-1])
        first = await assistant.ask(request("hello"))
        rules.append(Rollout(share=1))
        again = await assistant.ask(request("hello", 2))
        other = await assistant.ask(request("hello", 3, conversation_id="c2"))
        rules.append(Rollout(enabled=False))
        off = await assistant.ask(request("hello", 4, conversation_id="c2"))
        resent = await assistant.ask(request("hello", 3, conversation_id="c2"))
    ways = [result.metadata.path for result in (first, again, other, off)]
    assert ways == ["single", "single", "pipeline", "single"]
    assert resent == other
    assert len(it.outbox.sent) == 4


async def test_another_message_under_the_same_id_is_refused_with_a_rollout_too() -> None:
    async with desk() as it:
        assistant = Assistant(it.workflow, it.runner, rollout=Rollout)
        await assistant.ask(request("hello"))
        with pytest.raises(RunConflict):
            await assistant.ask(request("goodbye"))


async def test_in_the_shadow_the_pipeline_answers_too_and_nothing_of_it_is_sent() -> None:
    async with desk() as it:
        assistant = Assistant(it.workflow, it.runner, rollout=lambda: Rollout(share=0, shadow=True))
        result = await assistant.ask(request())
        page = await it.runner.runs.list(workflow="assistant", labels={"shadow": "default/c1"})
        (shadow,) = page.items
        state = await (await it.runner.get(shadow.run_id)).result()
        assert it.outbox.texts("+47") == ["Hi,\n\nalone: 32 hours"]
        assert len(await it.store.query("SELECT * FROM app_assistant_lines")) == 2
    assert result.metadata.path == "single"
    assert state.result.formatted_response.text.endswith(GOOD)
    assert state.result.validation_passed
    assert not state.result.metadata.delivered
    assert it.metrics.statistics().requests == 1


async def test_a_conversation_can_be_read_and_forgotten() -> None:
    async with desk() as it:
        assistant = Assistant(it.workflow, it.runner, rollout=lambda: Rollout(share=0, shadow=True))
        for number in range(3):
            await assistant.ask(request(f"hello {number}", number))
        await assistant.ask(request("hello", 9, conversation_id="c2"))
        said = await assistant.lines("c1", most=4)
        assert [line.text for line in said if line.role == "user"] == ["hello 1", "hello 2"]
        await assistant.forget("c1")
        assert await assistant.lines("c1") == ()
        assert (await it.store.query("SELECT conversation FROM app_assistant_ways")) == [("c2",)]
        left = await it.runner.runs.list(workflow="assistant")
        assert {run.labels.get("conversation", run.labels.get("shadow")) for run in left.items} == {"default/c2"}
        again = await assistant.ask(request("hello 0", 0))
        assert again.metadata.delivered
        assert len(it.outbox.sent) == 5
        assert len(await assistant.lines("c1")) == 2


async def test_a_rollout_needs_an_agent_that_answers_alone() -> None:
    workflow, *_ = made(Rules(), Outbox())
    agents = AssistantAgents("planner", "data", "composer")
    from stagepost.agents.quality import Judge

    lonely = AssistantWorkflow(agents, Judge(), senders={"sms": Outbox()})
    async with MemoryStore() as store, Runner(store, workflows=[workflow]) as runner:
        with pytest.raises(InvalidAssistant, match="answers alone"):
            Assistant(lonely, runner, rollout=Rollout)
        with pytest.raises(InvalidAssistant, match="answers alone"):
            Assistant(lonely, runner).check(request(path="single"))


async def test_whoever_stops_waiting_does_not_stop_the_answer_and_the_next_message_waits_for_it() -> None:
    planned, go_on = Event(), Event()

    class Slow(Rules):
        pass

    rules = Slow()
    inner = rules.model("planner")

    async def plan(asked: Any) -> Any:
        planned.set()
        await go_on.wait()
        return await inner.answer(asked)

    from stagepost.agents import FunctionModel

    original = rules.model

    def model(name: str) -> FunctionModel:
        return FunctionModel(plan) if name == "planner" else original(name)

    rules.model = model  # type: ignore[method-assign]  # the planner alone is held up
    async with desk(rules) as it:
        with fail_after(30):
            async with create_task_group() as group:
                group.start_soon(it.assistant.ask, request("hello first"))
                await planned.wait()
                group.cancel_scope.cancel()
            async with create_task_group() as group:
                group.start_soon(it.assistant.ask, request("hello second", 2))
                go_on.set()
        histories = [question["history"] for name, question in rules.asked if name == "planner"]
        assert len(it.outbox.sent) == 2
    assert [line["text"] for line in histories[1]] == ["hello first", GOOD]


async def test_after_a_restart_the_next_message_waits_for_the_answer_that_was_left_open() -> None:
    store, started = MemoryStore(), Event()

    def hold(question: Any) -> Any:
        started.set()
        return {"success": True, "data": {}}

    async with store:
        workflow, *_ = made(Rules(data=hold, slow={"composer": 3600}), Outbox())
        async with (
            Runner(store, workflows=[workflow], grace=0) as runner,
            Assistant(workflow, runner) as assistant,
            create_task_group() as group,
        ):
            group.start_soon(assistant.ask, request("check first"))
            await started.wait()
            group.cancel_scope.cancel()
        rules, outbox = Rules(), Outbox()
        workflow, *_ = made(rules, outbox)
        async with Runner(store, workflows=[workflow]) as runner, Assistant(workflow, runner) as assistant:
            await runner.recover()
            await assistant.ask(request("hello second", 2))
            lines = await store.query("SELECT text FROM app_assistant_lines WHERE role = 'user' ORDER BY number")
    assert lines == [("check first",), ("hello second",)]


async def test_agents_may_be_names_on_the_hub() -> None:
    from stagepost.agents import Agent
    from stagepost.agents.quality import Judge, judge_agent, refiner_agent
    from stagepost.hub import Hub
    from stagepost.service.assistant import Composed, Extracted, Plan

    rules = Rules(composer=says({"response": "**32** of 40 hours this week."}))
    served: list[Agent[Any]] = [
        Agent("planner", "Plan.", model=rules.model("planner"), output=Plan),
        Agent("data", "Look up.", model=rules.model("data"), output=Extracted),
        Agent("composer", "Write.", model=rules.model("composer"), output=Composed),
        judge_agent(rules.model("judge")),
        refiner_agent(rules.model("refiner")),
    ]
    outbox = Outbox()
    agents = AssistantAgents("planner", "data", "composer")
    workflow = AssistantWorkflow(agents, Judge("quality"), "refiner", senders={"sms": outbox})
    async with MemoryStore() as store, Hub() as hub, Runner(store, hub=hub, workflows=[workflow]) as runner:
        for agent in served:
            await runner.serve(agent)
        async with Assistant(workflow, runner) as assistant:
            result = await assistant.ask(request())
    assert result.validation_passed
    assert result.refinement_attempted
    assert result.metadata.llm_calls == 6
    assert outbox.texts("+47") == [f"Hi,\n\n{GOOD}"]


@pytest.mark.parametrize("message", ["Check my timesheet", "Something else"], ids=["the same", "another"])
async def test_two_at_once_with_one_id_are_answered_once(message: str) -> None:
    results: list[AssistantResult] = []
    refused: list[RunConflict] = []

    async def ask(it: Desk, text: str) -> None:
        try:
            results.append(await it.assistant.ask(request(text)))
        except RunConflict as error:
            refused.append(error)

    async with desk() as it:
        async with create_task_group() as group:
            group.start_soon(ask, it, "Check my timesheet")
            group.start_soon(ask, it, message)
        assert len(it.outbox.sent) == 1
    assert all(result == results[0] for result in results)
    assert (len(results), len(refused)) == ((2, 0) if message == "Check my timesheet" else (1, 1))
