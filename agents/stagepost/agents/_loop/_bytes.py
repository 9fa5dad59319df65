"""The bytes of parts, for requests to a model: messages only have their digests."""

from collections.abc import Sequence

from stagepost.checkpoint import BlobNotFound
from stagepost.workflows import StepContext

from .._models._messages import ChatMessage, ToolMessage, UserMessage
from .._models._parts import Part
from ..errors import PartMissing


async def with_bytes(messages: Sequence[ChatMessage], context: StepContext) -> Sequence[ChatMessage]:
    """Messages whose parts have their bytes.

    Raises:
        PartMissing: The bytes of one are no longer stored.
    """
    return [await _whole(message, context) for message in messages]


async def _whole(message: ChatMessage, context: StepContext) -> ChatMessage:
    parts = _parts(message)
    if not parts:
        return message
    return message.model_copy(update={"parts": tuple([await _loaded(part, context) for part in parts])})


async def _loaded(part: Part, context: StepContext) -> Part:
    if part.digest is None or part.data is not None:
        return part
    try:
        return part.with_data(await context.blob(part.digest))
    except BlobNotFound as error:
        raise PartMissing(type(part).__name__, part.digest, context.run_id) from error


def _parts(message: ChatMessage) -> tuple[Part, ...]:
    return message.parts if isinstance(message, UserMessage | ToolMessage) else ()
