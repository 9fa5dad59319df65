"""Burr: an application that is initialized from its persister."""

import asyncio  # noqa: TID251 - its persister knows nothing else
import sys
from importlib import import_module
from time import monotonic
from typing import Any

CORE: Any = import_module("burr.core")
PERSISTER: Any = import_module("burr.integrations.persisters.b_aiosqlite").AsyncSQLitePersister
IMPORTED = monotonic()


async def first(state: Any) -> Any:
    """The step that is saved before the kill."""
    return state.update(n=1)


async def second(state: Any) -> Any:
    """The step that the kill interrupts."""
    print(IMPORTED, monotonic(), flush=True)
    await asyncio.sleep(3600)
    return state


async def main() -> None:
    """Start or go on, and wait for the kill."""
    action = CORE.action(reads=["n"], writes=["n"])
    builder = CORE.ApplicationBuilder().with_actions(first=action(first), second=action(second))
    async with PERSISTER.from_values(db_path=sys.argv[1]) as saver:
        await saver.initialize()
        builder = builder.with_transitions(("first", "second")).with_identifiers(app_id="1").with_state_persister(saver)
        start = {"resume_at_next_action": True, "default_state": {"n": 0}, "default_entrypoint": "first"}
        application = await builder.initialize_from(saver, **start).abuild()
        await application.arun(halt_after=["second"])


if __name__ == "__main__":
    asyncio.run(main())
