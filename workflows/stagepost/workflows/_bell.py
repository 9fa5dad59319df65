"""Telling those who wait that something has changed; free where nobody waits."""

import anyio


class Bell:
    """Wakes everybody who waits at the moment when it rings, and nobody who comes later."""

    def __init__(self) -> None:
        self._event: anyio.Event | None = None

    def ring(self) -> None:
        """Wake those who wait."""
        if self._event is not None:
            self._event.set()
            self._event = None

    async def wait(self) -> None:
        """Wait until it rings."""
        if self._event is None:
            self._event = anyio.Event()
        await self._event.wait()
