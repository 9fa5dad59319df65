"""What clients send."""

import re
from typing import Annotated, Final
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from stagepost._dataclasses import dataclass

LONGEST_MESSAGE = 32_000  # characters
_UUID: Final = re.compile(r"(?i)(?:urn:uuid:)?(\{)?[0-9a-f]{8}(-?)(?:[0-9a-f]{4}\2){3}[0-9a-f]{12}(?(1)\})")


def _uuid(text: str) -> str:
    """A UUID in its usual form.

    Raises:
        ValueError: It is none.
    """
    if not _UUID.fullmatch(text):  # UUID() itself also takes digits of other scripts, and some are read as others
        raise ValueError("it has to be a UUID, such as 3f2b8c1e-0d4a-4c57-9d0b-6a8f1e2d3c4b")
    return str(UUID(text))


SessionId = Annotated[str, Field(max_length=45), AfterValidator(_uuid)]


class ChatRequest(BaseModel):
    """A message to a session.

    Attributes:
        message: The message, 1 to 32,000 characters.
        session_id: The session, a UUID; a new one begins an empty conversation.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    message: str = Field(min_length=1, max_length=LONGEST_MESSAGE)
    session_id: SessionId


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumption:
    """How a request relates to others of its session.

    Attributes:
        key: Idempotency key: a message with it is sent once, and whoever sends it again joins its turn.
        after: The id of the last event that the reader has got; it gets what follows.
        detach: Whether the turn goes on without a reader.
    """

    key: str | None = None
    after: str | None = None
    detach: bool = False
