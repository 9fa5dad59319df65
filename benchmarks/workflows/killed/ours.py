"""stagepost: a runner that recovers what is open, and starts the run if there was none."""

import sys
from time import monotonic

import anyio

from stagepost.checkpoint import SqliteStore
from stagepost.workflows import Chain, Runner, State

IMPORTED = monotonic()


async def first(state: State) -> dict[str, int]:  # noqa: ARG001 - a step takes the state
    """The step that is saved before the kill."""
    return {"n": 1}


async def second(state: State) -> None:  # noqa: ARG001 - a step takes the state
    """The step that the kill interrupts."""
    print(IMPORTED, monotonic(), flush=True)
    await anyio.sleep_forever()


async def main() -> None:
    """Start or go on, and wait for the kill."""
    steps = Chain("steps", [first, second])
    async with SqliteStore(sys.argv[1]) as store, Runner(store, workflows=[steps]) as runner:
        if not (await runner.recover()).resumed:
            await runner.start(steps)
        await anyio.sleep_forever()


if __name__ == "__main__":
    anyio.run(main)
