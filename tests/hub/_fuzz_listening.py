"""A listener in a program."""

from typing import TYPE_CHECKING

from anyio import move_on_after
from tests.hub._fuzz_program import Listen

from stagepost.hub import HubError, HubStopped, Listener

if TYPE_CHECKING:
    from tests.hub._fuzz_world import World


class Reader:
    """Polls a stream, then reads on to its end, or leaves."""

    def __init__(self, plan: Listen) -> None:
        self.plan = plan
        self.id = ""
        self.got: list[int] = []
        self.dropped = 0
        self.is_open = False
        self.read_all = False

    async def run(self, world: "World") -> None:
        """Listen as planned."""
        plan = self.plan
        try:
            async with world.hub.listen(
                plan.topic, limit=plan.limit, overflow=plan.overflow, group=plan.group
            ) as stream:
                self.id = stream.id
                self.is_open = True
                await self._poll(stream)
                if plan.stays:
                    async for message in stream:
                        self.got.append(message.data.serial)
                    self.read_all = True
                self.dropped = stream.dropped
        except HubStopped:
            return
        except HubError as error:
            world.surprise("listen", error)
        finally:
            self.is_open = False

    async def _poll(self, stream: Listener) -> None:
        for seconds in self.plan.polls:
            with move_on_after(seconds):
                try:
                    message = await anext(stream)
                except StopAsyncIteration:
                    return
                self.got.append(message.data.serial)
