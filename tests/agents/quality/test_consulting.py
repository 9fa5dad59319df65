import pytest
from anyio import Event, fail_after, sleep_forever

from stagepost.agents import Agent, FunctionModel, ModelRequest, ModelResponse, Usage
from stagepost.agents.quality import TookTooLong, consult
from stagepost.checkpoint import MemoryStore, RunStatus
from stagepost.hub import AgentNotFound, Hub
from stagepost.workflows import Chain, ChildFailed, Runner, State, StepContext


async def wait(_: ModelRequest) -> str:
    await sleep_forever()
    return ""


async def test_an_agent_whose_time_is_up_is_cancelled() -> None:
    asked = Event()

    async def wait_and_say(request: ModelRequest) -> str:
        asked.set()
        return await wait(request)

    agent = Agent("slow", "Slow.", model=FunctionModel(wait_and_say))

    async def ask(state: State, context: StepContext) -> dict[str, str]:
        key, seconds = "", 0.01
        while not asked.is_set():  # on a busy machine the time may be up before the agent has begun
            key, seconds = f"{key}a", seconds * 2
            with pytest.raises(TookTooLong, match="agent 'slow' has not answered within"):
                await consult(agent, "?", context, key=key, seconds=seconds)
        with pytest.raises(ChildFailed):  # the same question stays given up
            await consult(agent, "?", context, key=key)
        with pytest.raises(TookTooLong) as raised:
            await consult(agent, "?", context, key="other", seconds=0)
        return {"agent": raised.value.agent}

    work = Chain("work", [ask], companions=[agent])
    async with MemoryStore() as store, Runner(store, workflows=[work]) as runner:
        with fail_after(60):
            state = await (await runner.start(work, {}, run_id="work")).result()
        below = (await runner.runs.list(below="work")).items
    assert {child.status for child in below} == {RunStatus.CANCELLED}
    assert state["agent"] == "slow"


async def test_an_agent_on_the_hub_whose_time_is_up_is_not_waited_for() -> None:
    async def ask(state: State, context: StepContext) -> None:
        with pytest.raises(TookTooLong, match="'slow'"):
            await consult("slow", "?", context, seconds=0.01)
        with pytest.raises(AgentNotFound):
            await consult("nobody", "?", context, seconds=10)

    work, slow = Chain("work", [ask]), Agent("slow", "Slow.", model=FunctionModel(wait))
    async with MemoryStore() as store, Hub() as hub, Runner(store, hub=hub, workflows=[work], grace=0) as runner:
        await runner.serve(slow)
        with fail_after(30):
            await (await runner.start(work, {})).result()


async def test_turns_and_tokens_of_an_agent_are_told() -> None:
    used = ModelResponse("fine", usage=Usage(input_tokens=3, output_tokens=1))
    agent = Agent("fine", "Fine.", model=FunctionModel(lambda request: used if request.messages else ""))

    async def ask(state: State, context: StepContext) -> dict[str, object]:
        done = await consult(agent, "?", context)
        return {"said": [done.output, done.turns, done.usage.tokens]}

    assert list((await Chain("work", [ask], companions=[agent]).run())["said"]) == ["fine", 1, 4]
