"""Random teams: their calls end out of order, people answer out of order, runs fail and go on in other processes."""

from collections.abc import Awaitable, Callable, Sequence
from random import Random
from typing import Any, Final

from anyio import Event, wait_all_tasks_blocked
from anyio.lowlevel import checkpoint
from hypothesis import strategies as st
from tests.agents._weather import look

from stagepost.agents import (
    Agent,
    AgentTool,
    Allow,
    Budget,
    ContextPolicy,
    Deny,
    KeepLast,
    ModelRequest,
    ModelResponse,
    ScriptedModel,
    ScriptEntry,
    Tasks,
    call,
    external_tool,
    handoff,
    tool,
)
from stagepost.checkpoint import MemoryStore, RunStatus, WaitKind
from stagepost.workflows import Runner

MENU: Final = ("look", "late", "buy", "price", "ask", "message", "again", "other", "nothing", "wrong")
TURNS = st.lists(st.lists(st.sampled_from(MENU), min_size=0, max_size=4), max_size=4)


async def _nowhere(_: Runner) -> None:
    """Nobody looks."""


class World:
    """A team with scripts, and whoever it waits for."""

    def __init__(self, lead: Sequence[Sequence[str]], below: Sequence[Sequence[str]], seed: int) -> None:
        self.random = Random(seed)  # noqa: S311  # what happens when
        self.gates: list[Event] = []
        self.left = 2  # how often something may break
        world = self

        @tool(idempotent=True)
        async def late() -> str:
            world.gates.append(gate := Event())
            await gate.wait()
            return "late"

        @tool(needs_approval=True, idempotent=True)
        async def buy(what: str) -> str:
            return f"bought {what}"

        price = external_tool("price", "Find the price of a thing.", returns=int)
        policy = ContextPolicy(compact=[KeepLast(turns=2)], messages=8)
        tools: list[Any] = [look, late, buy, price]
        worker = Agent("worker", "Work.", model=self.model(below[:2]), tools=tools)
        scout = Agent(
            "scout", "Look.", model=self.model([*below, *below]), tools=[*tools, AgentTool(worker, name="ask")]
        )
        aid = Agent(
            "aid", "Aid.", model=self.model(lead), tools=[*tools, AgentTool(worker, name="ask")], sub_agents=[scout]
        )
        self.agent: Agent[str] = Agent(
            "lead",
            "Lead.",
            model=self.model(lead),
            tools=[*tools, AgentTool(worker, name="ask"), handoff(aid, name="other")],
            sub_agents=[scout],
            budget=Budget(turns=None, tool_calls=None),
            context=policy,
        )

    def model(self, turns: Sequence[Sequence[str]]) -> Any:
        """A model with a script; it breaks now and then."""
        script = ScriptedModel([*(self.entry(turn) for turn in turns), *["done"] * 20])
        world = self

        class Breaking:
            async def answer(self, request: ModelRequest) -> ModelResponse:
                await checkpoint()
                if world.left and world.random.random() < 0.1:
                    world.left -= 1
                    raise RuntimeError("broken")
                return await script.answer(request)

        return Breaking()

    def entry(self, names: Sequence[str]) -> ScriptEntry:
        made = [self.call(name) for name in names]
        return made or "said"

    def call(self, name: str) -> Any:
        arguments: dict[str, Any] = {
            "look": {"city": "Rome"},
            "buy": {"what": str(self.random.randint(0, 9))},
            "ask": {"request": "go"},
            "message": {"agent_name": "scout", "message": "go"},
            "again": {"conversation_id": "scout-0-0", "message": "again"},
            "wrong": {"conversation_id": "scout-0-0", "agent_name": "scout", "message": "again"},
        }.get(name, {})
        return call("message_agent" if "message" in arguments else name, **arguments)

    async def live(self, store: MemoryStore, look: Callable[[Runner], Awaitable[None]] = _nowhere) -> bool:
        """A life of a process; returns whether the run has ended for good.

        Args:
            store: Where the run is, as task ``t``.
            look: Called whenever nothing happens any more by itself.
        """
        async with Runner(store, workflows=[self.agent], grace=0) as runner:
            await runner.recover()
            tasks = Tasks(runner)
            run = await tasks.start(self.agent, "hi", task_id="t")
            while True:
                await wait_all_tasks_blocked()
                await look(runner)
                status = (await runner.runs.info("t")).status
                if status is RunStatus.FAILED and self.random.random() < 0.9:
                    run = await runner.resume("t")
                elif not status.is_open:
                    await run.settled()
                    return True
                elif self.random.random() < 0.1:
                    return False
                elif status is RunStatus.WAITING and self.random.random() < 0.03:
                    await tasks.cancel("t")
                else:
                    await self.do_something(runner, tasks)

    async def do_something(self, runner: Runner, tasks: Tasks) -> None:
        """What somebody outside does next."""
        waits = [wait for wait in await runner.waits() if wait.kind is WaitKind.ANSWER]
        chosen = self.random.randint(0, len(waits) + len(self.gates))
        if chosen == 0:
            await tasks.tell("t", "hurry")
        elif chosen <= len(waits):
            wait = waits[chosen - 1]
            if wait.name.startswith("ask-"):
                await tasks.answer(wait.id, 5)
            else:
                await tasks.decide(wait.id, Allow() if self.random.random() < 0.5 else Deny("no"))
        else:
            self.gates.pop(chosen - len(waits) - 1).set()
