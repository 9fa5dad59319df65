"""Helpers for tests of code that uses a hub."""

from ._hub import Hub

__all__ = ["idle"]


async def idle(hub: Hub) -> None:
    """Wait until nothing is queued on the hub or being handled; return at once if that is so, or if it was not entered.

    It waits for what the hub has accepted, also for what handlers send meanwhile, not for tasks outside of it. A
    handler that awaits this waits for itself. Put it in a `fail_after`.
    """
    await hub._idle()  # noqa: SLF001 - a helper of the same package, not part of a hub's service
