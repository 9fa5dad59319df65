"""Streams as server-sent events."""

from collections.abc import AsyncGenerator
from typing import Any, Final

import anyio
from pydantic_core import to_json

from stagepost.hub import Duration, seconds
from stagepost.workflows import RunPart, RunStream

from ._part import StreamPart
from ._stream import TaskStream

_COMMENT: Final = b":\n"  # says only that the connection is alive; after an empty line some clients tell an event


async def sse(stream: TaskStream[Any] | RunStream, *, every: Duration = 15.0) -> AsyncGenerator[bytes, None]:
    """The parts of a stream as server-sent events, for the body of a response of type ``text/event-stream``.

    Each part is an event: ``event`` is its type, ``data`` its form for JSON. Parts that have a cursor have it as
    ``id``, which a client sends as ``Last-Event-ID`` when it comes back: make the stream with ``after=`` that. If
    `Tasks.heard_all` (of a plain workflow `Runner.heard_all`) says that it has got everything, answer with status 204,
    so that it stops asking.

    A server drops this when its client has gone, which is fine for streams of `Tasks`. A run in memory (`Agent.stream`)
    is a task of the block, which has to be left in the task that has entered it: read this to its end, or within
    ``async with contextlib.aclosing(…)``.

    Args:
        stream: A stream that was not entered, of a task or of any other run; its block is entered and left by this.
        every: After how many seconds without a part a comment is sent, by which servers notice that a client has gone.

    Raises:
        RunNotFound: There is no such task.
    """
    patience = seconds(every, "every")
    async with stream:
        yield _COMMENT
        while True:
            event = _COMMENT
            with anyio.move_on_after(patience):
                part: StreamPart | RunPart | None = await anext(stream, None)
                if part is None:
                    return
                event = sse_event(part)
            yield event


def sse_event(part: StreamPart | RunPart) -> bytes:
    """One part as a server-sent event."""
    identity = b"" if part.cursor is None else b"id: " + part.cursor.encode() + b"\n"
    data = to_json(part.to_dict(), inf_nan_mode="null")  # JSON has no NaN
    return b"event: " + part.type.encode() + b"\n" + identity + b"data: " + data + b"\n\n"
