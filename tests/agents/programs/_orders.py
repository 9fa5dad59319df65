"""An agent with programs, as the tests of them build it."""

from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import BaseModel

from stagepost.agents import Agent, AgentResult, Budget, ScriptedModel, ScriptEntry, UserMessage, tool
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


ROWS = [{"id": n, "total": n * 10} for n in range(1, 4)]


def reporter(*programs: ScriptEntry, turns: int | None = 5, retries: int = 0, **given: Any) -> Agent[Any]:
    """The agent; its model writes these programs."""
    options: dict[str, Any] = {
        "model": ScriptedModel(programs),
        "tools": [look, send],
        "input": Orders,
        "output": Report,
        "programs": PtcLisp(),
        "budget": Budget(turns=turns, retry_turns=retries),
        **given,
    }
    return Agent("reporter", "Report.", **options)


async def asked(agent: Agent[Any], rows: Sequence[dict[str, Any]] = ROWS) -> AgentResult[Any]:
    """What it returns for these orders."""
    return await agent.run({"rows": list(rows)})


def told(agent: Agent[Any]) -> list[str]:
    """What its model was told after each of its answers, by turn."""
    requests = agent.model.requests  # type: ignore[union-attr]  # a scripted model
    return [_last(request.messages).text for request in requests[1:]]


def _last(messages: Iterable[Any]) -> UserMessage:
    *_, last = messages
    assert isinstance(last, UserMessage)
    return last
