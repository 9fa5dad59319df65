"""A lead with agents below it, whose processes are killed; the model is a server that outlives them."""

import os
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import anyio
from tests.agents._mortal import Notes

from stagepost.agents import Agent, LiteLLM, ModelContext, ModelRequest, ModelResponse, SystemMessage, call, tool
from stagepost.agents.testing import Hang, LocalServer, ServerEntry, ServerRequest
from stagepost.checkpoint import RunStatus, SqliteStore, WaitKind
from stagepost.workflows import Runner

WRITE = call("message_agent", agent_name="writer", message="Write to Ann.")
SCOUT = call("message_agent", agent_name="scout", message="How is Oslo?")
AGAIN = call("message_agent", conversation_id="scout-0-1", message="And Rome?")
WORK = call("message_agent", agent_name="worker", message="Work.")

ANSWERS: dict[str, Sequence[ServerEntry]] = {
    "lead": ([WRITE, SCOUT], AGAIN, "all done"),
    "writer": ([call("look", city="Ann's"), call("mail", to="ann")], "written"),
    "scout": (call("walk", city="Oslo"), "Oslo is fine", call("walk", city="Rome"), "Rome, too"),
}
IN_FLIGHT: dict[str, Sequence[ServerEntry]] = {
    "lead": ([WORK, SCOUT], "all done"),
    "worker": ([call("look", city="Bonn"), call("walk", city="Bonn"), call("pay", sum=5)], "worked"),
    "scout": ("Oslo is fine",),
}


def asked(request: ServerRequest) -> str:
    """Which answer of which agent a request is for."""
    return f"{request.body['messages'][0]['content']} {request.turn}"


def times_asked(server: LocalServer) -> Counter[str]:
    """How often each answer was asked for."""
    return Counter(map(asked, server.requests))


def told(server: LocalServer, answer: str) -> list[str]:
    """The results of tools that stand in the last request for an answer."""
    messages = next(each for each in reversed(server.requests) if asked(each) == answer).body["messages"]
    return [message["content"] for message in messages if message["role"] == "tool"]


def answering(answers: dict[str, Sequence[ServerEntry]], hanging: str = "") -> Callable[[ServerRequest], ServerEntry]:
    """A script for a server: what each agent says, by its turns; one is not given when it is first asked for."""
    due = {hanging}

    def answer(request: ServerRequest) -> ServerEntry:
        wanted = asked(request)
        if wanted in due:
            due.discard(wanted)
            return Hang()
        return answers[wanted.split()[0]][request.turn]

    return answer


class Gate:
    """Notes each question before it is asked, and waits there if it is held."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    async def model_call(
        self, request: ModelRequest, _: ModelContext, call: Callable[[ModelRequest], Awaitable[ModelResponse]]
    ) -> ModelResponse:
        system, *said = request.messages
        assert isinstance(system, SystemMessage)
        await self._notes.note(f"{system.text} asks {sum(message.role == 'assistant' for message in said)}")
        return await call(request)


def expedition(url: str, notes: Notes) -> Agent[str]:
    """The agents as each process builds them."""

    @tool(idempotent=True)
    async def look(city: str) -> str:
        await notes.note(f"look {city}")
        return f"{city} is there"

    @tool
    async def walk(city: str) -> str:
        await notes.note(f"walk {city}")
        return f"walked to {city}"

    @tool(on_unknown="park")
    async def pay(sum: int) -> str:  # noqa: A002  # what the model reads
        await notes.note(f"pay {sum}")
        return f"paid {sum}"

    @tool(needs_approval=True)
    async def mail(to: str) -> str:
        await notes.note(f"mail {to}")
        return f"sent to {to}"

    hooks = [Gate(notes)]
    model = LiteLLM("openai/local", api_base=url, api_key="none")
    writer = Agent("writer", prompt="writer", tools=[look, mail], hooks=hooks)
    scout = Agent("scout", prompt="scout", tools=[walk], hooks=hooks)
    worker = Agent("worker", prompt="worker", tools=[look, walk, pay], hooks=hooks)
    return Agent("lead", prompt="lead", model=model, sub_agents=[writer, scout, worker], hooks=hooks)


async def life(folder: str, url: str, *held: str) -> None:
    """Start the run, or go on with it, and wait to be killed."""
    agent = expedition(url, Notes(Path(folder), frozenset(held)))
    workflow = agent.as_workflow()
    async with SqliteStore(Path(folder) / "runs.db") as store, Runner(store, workflows=[agent]) as runner:
        await runner.recover()
        run = await runner.start(workflow, workflow.accept("go"), run_id="root")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_tell_of_approval, runner)
            if await run.settled() is RunStatus.WAITING:
                _say("nothing goes on")
            await run.result()


async def _tell_of_approval(runner: Runner) -> None:
    while not await runner.waits("root", kind=WaitKind.ANSWER):  # noqa: ASYNC110  # the store has no events
        await anyio.sleep(0.01)
    _say("approval")


def _say(what: str) -> None:
    os.write(1, f"{what}\n".encode())
