"""One part on its way, and what takes it out of the house."""

from typing import Protocol

from pydantic import BaseModel, ConfigDict

from ._response import ResponsePart


class OutgoingPart(BaseModel):
    """A part for a recipient.

    Attributes:
        id: Ours: the same whenever this part is sent again, also after a crash; no other part has it. A provider that
            takes it as an idempotency key sends the part once.
        channel: Name of the channel.
        to: The recipient, as the channel names them: a number, an address, a conversation.
        part: What is sent.
        parts: How many there are in all.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    channel: str
    to: str
    part: ResponsePart
    parts: int


class Sender(Protocol):
    """Hands parts to a provider.

    Attributes:
        takes_our_id: Whether a part that is sent again with the same id goes out once. If not, a part of which nobody
            knows whether it went out waits for a person, and is never sent again by itself.
    """

    @property
    def takes_our_id(self) -> bool:
        """Whether a part that is sent again with the same id goes out once."""
        ...

    async def send(self, delivery: OutgoingPart) -> str:
        """Send a part.

        Args:
            delivery: What is sent, to whom.

        Returns:
            What the provider calls it.

        Raises:
            NotSent: It has certainly not gone out, such as that nobody could be reached, or the provider refused it.
                Any other error means that nobody knows.
        """
        ...


class Sent(BaseModel):
    """A part that has gone out.

    Attributes:
        sequence: Its number, from 1.
        id: Ours.
        receipt: What the provider calls it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    sequence: int
    id: str
    receipt: str
