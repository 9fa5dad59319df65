"""A conversation whose process is killed; see `_mortal`."""

from pathlib import Path

import anyio
from tests.agents._mortal import Notes
from tests.agents._weather import results

from stagepost.agents import (
    Agent,
    AssistantMessage,
    ModelRequest,
    ModelResponse,
    ToolCall,
    UserMessage,
    converse,
    tool,
)
from stagepost.checkpoint import SqliteStore
from stagepost.workflows import Runner

TALK = "talk"  # id of the conversation


def talker(notes: Notes) -> Agent[str]:
    """Answers with what was said to it and what its tool has told; asked to send something, it calls the tool."""

    class Noted:
        async def answer(self, request: ModelRequest) -> ModelResponse:
            await notes.note(f"ask {sum(isinstance(message, AssistantMessage) for message in request.messages)}")
            last = request.messages[-1]
            if isinstance(last, UserMessage) and last.text.startswith("send"):
                return ModelResponse(calls=(ToolCall(id="s", name="send", arguments="{}"),))
            said = [message.text for message in request.messages if isinstance(message, UserMessage)]
            return ModelResponse(text=" / ".join([*said, *(result.text for result in results(list(request.messages)))]))

    @tool
    async def send() -> str:
        await notes.note("send")
        return "sent"

    return Agent("talker", prompt="", model=Noted(), tools=[send])


async def speak(folder: str, held: str, *texts: str) -> None:
    """Say something, each once, and wait to be killed."""
    notes = Notes(Path(folder), frozenset([held]))
    async with SqliteStore(Path(folder) / "runs.db") as store, Runner(store, workflows=[talker(notes)]) as runner:
        async with converse(runner, "talker", id=TALK) as talk:
            for text in texts:
                if text == "end":
                    await talk.end()
                else:
                    await talk.send(text, key=text)
                await notes.note(f"said {text}")
        await anyio.sleep_forever()
