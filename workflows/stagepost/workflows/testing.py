"""A clock for tests of code that uses a runner: time passes only when the test says so."""

from datetime import UTC, datetime
from typing import Final

from anyio.lowlevel import checkpoint

from stagepost.hub import Duration, seconds

from ._runner._runner import Runner

__all__ = ["VirtualTime"]

_BEGIN: Final = datetime(2026, 1, 1, tzinfo=UTC)
_TURNS: Final = 20  # of the event loop: what the store has told of is heard within a few


class VirtualTime:
    """A clock for `Runner(clock=...)` that stands still until `advance`.

    What waits for the time in the store follows it: sleeps, the limits of waits, schedules, limits per minute, and how
    long runs are kept. What waits in the process takes real time: the timeout of a step, the pause before it is tried
    again, `anyio.sleep`.

    ::

        time = VirtualTime()
        async with MemoryStore(clock=time) as store, Runner(store, workflows=[reminder], clock=time) as runner:
            run = await runner.start(reminder)
            await time.advance(runner, timedelta(days=3))
            assert run.status is RunStatus.COMPLETED

    Args:
        start: When it begins; 2026-01-01 (UTC) if it is not given.

    Raises:
        ValueError: `start` has no time zone.
    """

    def __init__(self, start: datetime = _BEGIN) -> None:
        if start.tzinfo is None:
            raise ValueError(f"start={start!r} has no time zone: give tzinfo=UTC")
        self._now = start.timestamp()

    def __call__(self) -> float:
        """Seconds since 1970."""
        return self._now

    @property
    def now(self) -> datetime:
        """What it shows (UTC)."""
        return datetime.fromtimestamp(self._now, UTC)

    async def advance(self, runner: Runner, length: Duration) -> None:
        """Let time pass, from one moment at which something is due to the next, and let all be done that then is.

        It returns when no run of the runner is worked on any more. A step that never ends is waited for: put this into
        a `fail_after`.

        Args:
            runner: Who works on the runs.
            length: How long: seconds, or a `timedelta`.

        Raises:
            RunnerNotOpen: The runner was not entered.
            InvalidArgument: `length` is negative.
        """
        end = self._now + seconds(length, "length")
        await self._settle(runner)
        while (due := self._next(runner)) is not None and due <= end:
            self._now = max(self._now, due)
            await self._settle(runner)
        self._now = end
        await self._settle(runner)

    async def _settle(self, runner: Runner) -> None:
        """Do what is due now, until nothing goes on."""
        while True:
            for timers in runner._timers():  # noqa: SLF001  # a helper of the same package
                await timers.expire()  # also waits for what was written before
            if await _rests(runner) and ((due := self._next(runner)) is None or due > self._now):
                return

    def _next(self, runner: Runner) -> float | None:
        """When something is due next, in seconds since 1970."""
        times = (timers.next_at for timers in runner._timers())  # noqa: SLF001  # as above
        return min((at.timestamp() for at in times if at is not None), default=None)


async def _rests(runner: Runner) -> bool:
    """Wait until no run is worked on; returns whether none was."""
    worked = False
    for _ in range(_TURNS):
        await checkpoint()
        worked |= await runner._open().rest()  # noqa: SLF001  # as above
    return not worked
