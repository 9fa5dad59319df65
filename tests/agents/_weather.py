"""A small world for agents: its types, its tools."""

from pydantic import BaseModel

from stagepost.agents import AgentResult, ChatMessage, ToolMessage, tool


class Query(BaseModel):
    city: str
    days: int = 1


class Report(BaseModel):
    city: str
    degrees: int


REPORT = '{"city": "Oslo", "degrees": 3}'


@tool(idempotent=True)
async def look(city: str) -> Report:
    "Weather of a city now."
    return Report(city=city, degrees=3)


@tool
def send(to: str, body: str = "") -> str:
    "Send a mail."
    return f"sent to {to}"


def results(messages: AgentResult[object] | list[ChatMessage] | tuple[ChatMessage, ...]) -> list[ToolMessage]:
    """The results of all tool calls, in order."""
    said = messages.messages if isinstance(messages, AgentResult) else messages
    return [message for message in said if isinstance(message, ToolMessage)]
