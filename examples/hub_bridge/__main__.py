"""Two floors of a house, joined by a bridge: ``python -m hub_bridge``."""

import anyio
from pydantic import BaseModel

from stagepost.hub import Context, Hub

from .bridge import Bridge


class Ring(BaseModel):
    """Somebody is at a door."""

    door: str


async def listen_upstairs(ring: Ring, context: Context) -> None:
    """Print what is heard."""
    print(f"{context.hub.name}: {ring.door}, by way of {context.message.sender}")


async def main() -> None:
    """Ring downstairs, hear it upstairs."""
    async with Hub("upstairs") as upstairs, Hub("downstairs") as downstairs:
        upstairs.register("ear", listen_upstairs, topics=["doors.>"])
        Bridge("stairs", [upstairs, downstairs], topics=["doors.>"])
        await downstairs.publish("doors.front", Ring(door="front door"))


if __name__ == "__main__":
    anyio.run(main)
