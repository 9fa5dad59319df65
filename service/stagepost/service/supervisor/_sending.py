"""A turn as server-sent events."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from pydantic_core import to_json

from stagepost.checkpoint import CheckpointError
from stagepost.hub import get_logger
from stagepost.workflows import RunnerStopped, RunNotHeld, WorkflowError

from ._errors import SupervisorError
from ._phrases import FAILED
from ._turns import ChatTurn


async def sent(turn: ChatTurn) -> AsyncGenerator[bytes, None]:
    """The events of a turn, as they are sent.

    What goes wrong with the turn is told as its last event. If the service ends, the stream just ends, and the client
    comes back to the next process.
    """
    async with aclosing(turn.events()) as events:
        try:
            async for event in events:
                yield event.to_sse()
        except (RunnerStopped, RunNotHeld):
            return
        except (CheckpointError, SupervisorError, WorkflowError) as error:
            get_logger("supervisor").warning("turn_not_told", session_id=turn.session_id, error=type(error).__name__)
            data = {"message": FAILED, "seq": None, "call_id": None, "session_id": turn.session_id, "timestamp": None}
            yield b"event: error\ndata: " + to_json(data) + b"\n\n"
