"""What was said in conversations, in a table of the store."""

from datetime import UTC, datetime
from typing import Final

from stagepost.checkpoint import CheckpointStore, Statement
from stagepost.workflows import StepContext

from ._request import AssistantRequest, HistoryLine

CREATE: Final = (
    Statement(
        "CREATE TABLE IF NOT EXISTS app_assistant_lines (tenant TEXT NOT NULL, conversation TEXT NOT NULL, "
        "number INTEGER NOT NULL, request TEXT NOT NULL, role TEXT NOT NULL, text TEXT NOT NULL, "
        "channel TEXT NOT NULL, at REAL NOT NULL, PRIMARY KEY (tenant, conversation, number))"
    ),
    Statement(
        "CREATE UNIQUE INDEX IF NOT EXISTS app_assistant_said ON app_assistant_lines (tenant, request, role)",
    ),
    Statement(
        "CREATE TABLE IF NOT EXISTS app_assistant_ways (tenant TEXT NOT NULL, conversation TEXT NOT NULL, "
        "way TEXT NOT NULL, PRIMARY KEY (tenant, conversation))"
    ),
)
_LAST: Final = (
    "SELECT role, text, channel, at FROM app_assistant_lines WHERE tenant = ? AND conversation = ? "
    "ORDER BY number DESC LIMIT ?"
)
_INSERT: Final = (
    "INSERT INTO app_assistant_lines SELECT ?1, ?2, coalesce(max(number), -1) + 1, ?3, ?4, ?5, ?6, ?7 "
    "FROM app_assistant_lines WHERE tenant = ?1 AND conversation = ?2"
)


_FORGET: Final = (
    "DELETE FROM app_assistant_lines WHERE tenant = ? AND conversation = ?",
    "DELETE FROM app_assistant_ways WHERE tenant = ? AND conversation = ?",
)


async def lines_of(
    reader: StepContext | CheckpointStore, tenant: str, conversation: str, most: int
) -> tuple[HistoryLine, ...]:
    """The last lines of a conversation, oldest first.

    Args:
        reader: The store, or the context of a step.
        tenant: Whose conversation.
        conversation: Which.
        most: How many lines.
    """
    rows = await reader.query(_LAST, tenant, conversation, most)
    return tuple(
        HistoryLine.model_validate(
            {"role": role, "text": text, "channel": channel, "at": datetime.fromtimestamp(float(str(at)), UTC)}
        )
        for role, text, channel, at in reversed(rows)
    )


async def forget(store: CheckpointStore, tenant: str, conversation: str) -> None:
    """Delete all lines of a conversation, and which way it is answered."""
    await store.execute(*(Statement(text, (tenant, conversation)) for text in _FORGET))


def keep(request: AssistantRequest, answer: str, context: StepContext) -> None:
    """Write a message and its answer to the conversation, in the commit of the step.

    Args:
        request: The message.
        answer: What was answered.
        context: Of the step.
    """
    where = (request.tenant, request.conversation_id, request.request_id)
    for role, text in (("user", request.message), ("assistant", answer)):
        context.write(_INSERT, *where, role, text, request.channel, context.clock())
