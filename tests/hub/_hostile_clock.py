"""A hub whose clock plays a trick."""

from contextlib import suppress

from anyio import current_time, fail_after, move_on_after
from tests.hub._agents import echo
from tests.hub._hostile_stage import GRACE, Stage, running_tasks

from stagepost.hub import Hub
from stagepost.hub._wake import Waiter

RIGHT_FOR = 20
LONG = 1000
OWN = (GeneratorExit,)  # what the owner's own clock may end the owner's own block by, besides


class _OddClock:
    """A clock that is right for a while."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._calls = 0

    def now(self) -> float:
        self._calls += 1
        if self._calls > RIGHT_FOR:
            return self._stage.now()  # type: ignore[return-value]  # that is the trick
        return current_time()

    async def wait_until(self, waiter: Waiter, moment: float, /) -> None:
        with move_on_after(moment - current_time()):
            await waiter


async def with_odd_clock(stage: Stage) -> None:
    """A hub without a clock is of no use, but all its calls end, it ends, and none of its tasks is left."""
    before = running_tasks()
    with fail_after(LONG):
        with suppress(Exception, BaseExceptionGroup, *OWN):
            async with Hub(clock=_OddClock(stage), grace=GRACE) as stage.hub:
                stage.hub.register("echo", echo)
                for _ in range(RIGHT_FOR):
                    await stage.ask("echo", timeout=1)
        assert running_tasks() == before
