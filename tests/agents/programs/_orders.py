"""An agent with programs, as the tests of them build it."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from stagepost.agents import (
    Agent,
    AgentResult,
    Budget,
    ModelRequest,
    ScriptedModel,
    ScriptEntry,
    ToolUnavailable,
    UserMessage,
    tool,
)
from stagepost.programs import PtcLisp


class Orders(BaseModel):
    """What it is asked with."""

    rows: list[dict[str, Any]]


class Report(BaseModel):
    """What it returns."""

    total: int
    names: list[str] = []


@tool(idempotent=True)
async def look(id: int) -> dict[str, Any]:  # noqa: A002 - what it is
    """Look an order up."""
    return {"id": id, "name": f"n{id}"}


@tool
async def send(to: str) -> str:
    """Send a mail."""
    return f"sent to {to}"


@tool
async def broken() -> str:
    """Fail."""
    raise ToolUnavailable("the printer is out of paper")


ROWS = [{"id": n, "total": n * 10} for n in range(1, 4)]


class Asked:
    """An agent whose model writes these programs.

    Attributes:
        agent: The agent.
        model: Its model.
    """

    def __init__(self, *programs: ScriptEntry, turns: int | None = 5, retries: int = 0, **given: Any) -> None:
        self.model = ScriptedModel(programs)
        options: dict[str, Any] = {
            "prompt": "Report.",
            "model": self.model,
            "tools": [look, send, broken],
            "input": Orders,
            "output": Report,
            "programs": PtcLisp(),
            "budget": Budget(turns=turns, retry_turns=retries),
            **given,
        }
        self.agent: Agent[Any] = Agent("reporter", **options)

    async def run(self, rows: Sequence[dict[str, Any]] = ROWS) -> AgentResult[Any]:
        """What it returns for these orders."""
        return await self.agent.run({"rows": list(rows)})

    @property
    def told(self) -> list[str]:
        """What its model was told after each of its answers."""
        return [last(request) for request in self.model.requests[1:]]

    @property
    def prompts(self) -> list[str]:
        """The system prompts of its turns."""
        return [request.messages[0].text for request in self.model.requests]


def last(request: ModelRequest) -> str:
    """The last message of a request."""
    message = request.messages[-1]
    assert isinstance(message, UserMessage)
    return message.text
