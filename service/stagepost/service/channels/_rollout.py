"""Who gets the new way of answering: by flag, user, channel and share, decided once for a conversation."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

Way: TypeAlias = Literal["new", "old", "shadow"]

_STEPS: Final = 2**64


class Rollout(BaseModel):
    """Decides which way a conversation is answered.

    The first rule that says something holds: the flag, the user, the channel, the share.

    Attributes:
        enabled: The flag. Without it everybody gets the old way at once, also in conversations that had begun.
        users: Users for whom it is on, or off.
        channels: Channels for which it is on, or off.
        share: Of the conversations that no other rule names: from 0 to 1.
        shadow: Whether conversations that would get the old way are answered in the new one, too, without sending it.
        salt: Another one draws other conversations.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: str = "1.0"
    enabled: bool = True
    users: dict[str, bool] = Field(default_factory=dict)
    channels: dict[str, bool] = Field(default_factory=dict)
    share: Annotated[float, Field(ge=0, le=1)] = 1.0
    shadow: bool = False
    salt: str = ""

    def way(self, conversation: str, *, user: str, channel: str, decided: Way | None = None) -> Way:
        """The way of a conversation.

        Args:
            conversation: Its id. The share is drawn by it, so it is the same in each process, and one with a small
                share has it with any larger one.
            user: Who asks.
            channel: By which channel.
            decided: What was decided for this conversation before, which stands; None at its first message.

        Returns:
            ``"new"``, ``"old"``, or ``"shadow"``: old, and new without sending it.
        """
        if not self.enabled:
            return "old"
        if decided is not None:
            return decided
        if self._chosen(conversation, user, channel):
            return "new"
        return "shadow" if self.shadow else "old"

    def _chosen(self, conversation: str, user: str, channel: str) -> bool:
        rules: tuple[tuple[Mapping[str, bool], str], ...] = ((self.users, user), (self.channels, channel))
        for rule, name in rules:
            if name in rule:
                return rule[name]
        return _drawn(f"{self.salt}\0{conversation}") < self.share


def _drawn(text: str) -> float:
    """A number from 0 up to, but not including, 1: the same for a text at any time, in any process."""
    return int.from_bytes(sha256(text.encode()).digest()[:8]) / _STEPS
