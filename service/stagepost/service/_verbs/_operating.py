"""Verbs for the hub that a service's runner works with."""

import time

from stagepost.hub import DeadLetter, DeadLetterNotFound, Hub

from .._wire._done import Done
from .._wire._inspected import ActList
from ..errors import InputRefused
from ._acts import read_acts_of, recorded
from ._base import Base, done
from ._hub_pace import HubPace
from ._hub_seen import HubSeen, seen
from ._scopes import verb


class Operating(Base):
    """The part of `Verbs` for the hub."""

    @verb
    async def hub(self, pace: HubPace, *, text: str = "", skip: int = 0) -> HubSeen | None:
        """How the hub stands; None if there is none.

        Args:
            pace: What is known of it from before.
            text: What the ids of the agents that are wanted contain.
            skip: How many of these were shown before.
        """
        hub = self._runner.hub
        return None if hub is None else seen(hub, pace, at=time.monotonic(), text=text, skip=skip)

    @verb
    async def letter(self, message_id: str) -> DeadLetter:
        """A dead letter.

        Raises:
            DeadLetterNotFound: It is not among the dead ones, or not any more.
            InputRefused: There is no hub.
        """
        hub = self._its_hub
        found = next((letter for letter in hub.dead_letters if letter.message.id == message_id), None)
        if found is None:
            raise DeadLetterNotFound(message_id, hub.name)
        return found

    @verb
    async def resends(self) -> ActList:
        """Which dead letters were sent again, and by whom; the last first."""
        return await read_acts_of(self._runner.store, "resend")

    @recorded
    async def resend(self, message_id: str, *, by: str) -> Done:
        """Send a dead letter again.

        Args:
            message_id: Of its message.
            by: Who wants that, for the message's headers.

        Raises:
            DeadLetterNotFound: It is not among the dead ones, or somebody else sends it.
            DeliveryError: Its recipient is gone, does not take it any more, or has no room.
            InvalidArgument: It is a late reply, which nobody waits for.
            InputRefused: There is no hub.
        """
        await self._its_hub.resend(message_id, by=by, timeout=1)
        return done("sent again", message_id)

    @property
    def _its_hub(self) -> Hub:
        hub = self._runner.hub
        if hub is None:
            raise InputRefused("the runner of this service works with no hub")
        return hub
