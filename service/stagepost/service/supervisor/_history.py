"""What was said in a session, turn by turn, for a page that shows it again."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Literal

from pydantic import BaseModel

from stagepost.agents import MessageSaid, Tasks, TaskStatus
from stagepost.checkpoint import RunNotFound

from ._config import WorkerConfig
from ._progress import TurnProgress
from ._responses import Answering, SupervisorResponse
from ._telling import Telling

_WAITING = (TaskStatus.AWAITING_APPROVAL, TaskStatus.AWAITING_ANSWER, TaskStatus.IN_DOUBT)


class PastTurn(SupervisorResponse):
    """A turn of a session.

    Attributes:
        turn: Its number, from 0.
        message: What was asked.
        status: Where it stands. Of an open one the answer is empty; its events tell it.
    """

    turn: int
    message: str
    status: Literal["running", "waiting", "completed", "failed", "cancelled"]


class SessionHistory(BaseModel):
    """A session as it is stored.

    Attributes:
        session_id: The session.
        turns: Its turns, the first one first.
    """

    session_id: str
    turns: list[PastTurn]


async def history_of(
    tasks: Tasks, session_id: str, turns: Sequence[str], workers: Sequence[WorkerConfig]
) -> SessionHistory:
    """A session as it is stored.

    Args:
        tasks: Where the turns are.
        session_id: The session.
        turns: Ids of the turns.
        workers: The workers.
    """
    told: list[PastTurn] = []
    for turn_id in turns:
        with suppress(RunNotFound):  # retention has deleted it since
            told.append(await _turn(tasks, session_id, turn_id, workers))
    return SessionHistory(session_id=session_id, turns=told)


async def _turn(tasks: Tasks, session_id: str, turn_id: str, workers: Sequence[WorkerConfig]) -> PastTurn:
    """A turn; of an open one only what was asked."""
    status = (await tasks.get(turn_id)).status
    number = int(turn_id.rpartition("-")[2])
    telling, answering, message = Telling(session_id, TurnProgress(number)), Answering(workers), ""
    async with tasks.stream(turn_id, whole_results=True) as stream:
        async for part in stream:
            if isinstance(part, MessageSaid) and part.role == "user" and len(part.path) == 1 and not message:
                message = part.text
                if status.is_open:
                    break
            for event in telling.tell(part):
                answering.add(event)
    return PastTurn(turn=number, message=message, status=_shown(status), **dict(answering.response))


def _shown(status: TaskStatus) -> Literal["running", "waiting", "completed", "failed", "cancelled"]:
    """A status as clients get it."""
    match status:
        case TaskStatus.COMPLETED:
            return "completed"
        case TaskStatus.FAILED:
            return "failed"
        case TaskStatus.CANCELLED:
            return "cancelled"
    return "waiting" if status in _WAITING else "running"
