"""Agents asked by code that is not async."""

import asyncio
import gc
import threading

import pytest
import trio
from anyio import to_thread
from tests.agents._weather import REPORT, Report, look

from stagepost.agents import (
    Agent,
    AgentGaveUp,
    Allow,
    EventLoopRunning,
    Fallback,
    LiteLLM,
    ModelSettings,
    RateLimited,
    ScriptedModel,
    ToolCall,
    ToolContext,
    call,
    tool,
)
from stagepost.agents.testing import LocalServer


def test_an_agent_may_be_asked_without_an_event_loop() -> None:
    agent = Agent("weather", "You tell of the weather.", model=ScriptedModel([call("look", city="Oslo"), REPORT, "so"]))
    typed = Agent("weather", "", model=ScriptedModel([REPORT]), tools=[look], output=Report)
    assert typed.run_sync("Oslo?").output == Report(city="Oslo", degrees=3)
    result = agent.run_sync("Oslo?")
    assert agent.run_sync("And?", after=result).messages[:2] == result.messages[:2]


class Listing:
    def __init__(self, events: list[object]) -> None:
        self._events = events

    def on_event(self, event: object) -> None:
        self._events.append(event)


def test_it_takes_what_run_takes() -> None:
    @tool(needs_approval=True)
    def send(to: str, context: ToolContext[list[str]]) -> str:
        context.deps.append(f"{to} {context.secrets['key']}")
        return "sent"

    async def approve(_: ToolCall) -> Allow:
        return Allow()

    sent: list[str] = []
    events: list[object] = []
    model = ScriptedModel([call("send", to="ann"), "done"])
    agent = Agent("mailer", "", tools=[send])
    settings = ModelSettings(seed=7)
    result = agent.run_sync(
        "go",
        model=model,
        settings=settings,
        approve=approve,
        deps=sent,
        secrets={"key": "k-12345678"},
        observer=Listing(events),
    )
    assert (result.output, sent, model.requests[0].settings) == ("done", ["ann k-12345678"], settings)
    assert events
    assert agent.run_sync("go", override_model=ScriptedModel(["other"])).output == "other"


def test_what_run_raises_it_raises() -> None:
    with pytest.raises(AgentGaveUp):
        Agent("w", "", model=ScriptedModel([call("fail", reason="no")]), output=Report).run_sync("?")


async def test_within_a_running_loop_it_is_refused_with_what_to_do() -> None:
    with pytest.raises(EventLoopRunning, match=r"agent 'w' .* write `await agent\.run\(…\)`") as caught:
        Agent("w", "", model=ScriptedModel([])).run_sync("?")
    assert isinstance(caught.value, RuntimeError)
    gc.collect()  # a coroutine that nobody awaited would warn here


def test_a_callback_of_a_loop_is_within_it() -> None:
    found: list[BaseException] = []

    def ask() -> None:
        try:
            Agent("w", "", model=ScriptedModel(["fine"])).run_sync("?")
        except RuntimeError as error:
            found.append(error)

    async def main() -> None:
        asyncio.get_running_loop().call_soon(ask)
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    asyncio.run(main())
    (error,) = found
    assert isinstance(error, EventLoopRunning)
    gc.collect()


async def test_a_thread_beside_a_loop_may_ask() -> None:
    agent = Agent("w", "", model=ScriptedModel(["fine"]))
    said: list[str] = []
    thread = threading.Thread(target=lambda: said.append(agent.run_sync("?").output))
    thread.start()
    thread.join(10)
    assert said == ["fine"]


def test_a_thread_of_trio_may_ask() -> None:
    agent = Agent("w", "", model=ScriptedModel(["fine"]))

    async def main() -> str:
        return await trio.to_thread.run_sync(lambda: agent.run_sync("?").output)

    assert trio.run(main) == "fine"


def test_a_model_of_a_provider_may_be_asked_in_one_loop_after_the_other_and_leaves_nothing_open() -> None:
    async def main() -> list[str]:
        async with LocalServer(["one"]) as server:
            model = Fallback([LiteLLM("openai/local", api_base=server.url, api_key="none")])
            agent = Agent("w", "", model=RateLimited(model, at_once=1))
            chain = agent.then(agent)
            said = [await to_thread.run_sync(lambda: agent.run_sync("?").output) for _ in range(3)]
            return [*said, await to_thread.run_sync(lambda: chain.run_sync("?").output)]

    assert asyncio.run(main()) == ["one"] * 4
    gc.collect()  # what was left open would warn here
