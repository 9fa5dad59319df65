"""Layers around what is sent over the hub of a program."""

from typing import Final

from tests.hub._fuzz_deeds import Job
from tests.hub._hostile_errors import Odd

from stagepost.hub import Outgoing, SendOn, Sends


class Stamp:
    """A layer around all that is sent, which adds a header."""

    async def sending(self, outgoing: Outgoing, send_on: SendOn) -> object:
        """Send on."""
        return await send_on({**outgoing.headers, "stamp": str(outgoing.recipient)})


class Refuse(Stamp):
    """A layer that lets nobody send a job that begins with a pause of one turn."""

    async def sending(self, outgoing: Outgoing, send_on: SendOn) -> object:
        """Send on, or refuse."""
        if isinstance(outgoing.data, Job) and outgoing.data.task.how == "yield":
            raise Odd("refused by a layer")
        return await super().sending(outgoing, send_on)


SENDING: Final[dict[str, list[Sends]]] = {"no": [], "stamp": [Stamp()], "refuse": [Refuse()]}
