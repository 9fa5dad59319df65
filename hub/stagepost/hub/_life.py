"""The life of an agent that is made by a class or has hooks: started, restarted, stopped, in a task of its own."""

from collections.abc import Callable
from typing import Final, Protocol

from anyio import move_on_after

from ._blueprint import Blueprint
from ._engine import Engine
from ._events import AgentRestarted
from ._supervision import Restart, Restarts
from ._wake import Waiter

_LAST_WORDS: Final = 5.0


class Alarm:
    """A deadline that calls back."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring

    def expire(self) -> None:
        """The time has come."""
        self._ring()


class Crew(Protocol):
    """What the life of an agent needs of its workers."""

    def pause(self) -> None:
        """Begin with no further message."""

    def proceed(self) -> None:
        """Go on with the queue."""

    @property
    def is_handling(self) -> bool:
        """Whether a handler runs."""


class Life:
    """Runs the hooks round the work of an agent's workers, which pause while there is no instance ready."""

    __slots__ = (
        "_agent",
        "_blueprint",
        "_crew",
        "_ending",
        "_engine",
        "_failure",
        "_on_end",
        "_over",
        "_restarts",
        "_waiter",
    )

    def __init__(self, agent: str, blueprint: Blueprint, plan: Restart | None, crew: Crew, engine: Engine) -> None:
        self._agent = agent
        self._blueprint = blueprint
        self._restarts = None if plan is None else Restarts(plan)
        self._crew = crew
        self._engine = engine
        self._failure: BaseException | None = None
        self._ending = False
        self._over = False
        self._waiter: Waiter | None = None
        self._on_end: Callable[[], None] = lambda: None

    def begin(self) -> None:
        """Start the task."""
        self._crew.pause()
        self._engine.spawn(self._run, f"stagepost life of {self._agent}")

    def restart(self, failure: BaseException) -> bool:
        """Make a new instance because of a failure, which is contained by that: it does not travel on (False)."""
        self._failure = failure
        self._crew.pause()
        self.look()
        return False

    def end(self, on_end: Callable[[], None]) -> None:
        """Stop the instance; the agent has no more work."""
        self._ending = True
        self._on_end = on_end
        if self._over:
            on_end()  # the hub has ended the task before the last worker
        self.look()

    def look(self) -> None:
        """Something has changed that the task may wait for."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def _run(self) -> None:
        try:
            while not self._ending:
                await self._live()
                if self._failure is not None and not self._ending:
                    await self._pause_after_failure(self._failure)
        finally:
            self._ending = self._over = True
            self._on_end()

    async def _live(self) -> None:
        """One instance, from its start to its stop."""
        failed, self._failure = self._failure, None
        try:
            self._blueprint.renew()
            await self._blueprint.hook("on_start", self._engine.owner)
        except Exception as error:  # noqa: BLE001 - contained like that of a handler
            self._failure = error
            return
        if failed is not None and self._restarts is not None:
            self._engine.emit(
                AgentRestarted(
                    hub=self._engine.hub,
                    agent=self._agent,
                    restarts=self._restarts.count,
                    error=type(failed).__qualname__,
                )
            )
        self._crew.proceed()
        try:
            await self._until(lambda: self._ending or (self._failure is not None and not self._crew.is_handling))
        finally:
            await self._say_goodbye()

    async def _say_goodbye(self) -> None:
        with move_on_after(_LAST_WORDS, shield=True):
            try:
                await self._blueprint.hook("on_stop", self._engine.owner)
            except Exception:
                self._engine.log.exception("on_stop failed", hub=self._engine.hub, agent=self._agent)

    async def _pause_after_failure(self, failure: BaseException) -> None:
        """Wait before the next start; or take the agent off the hub if it fails too often."""
        pause = self._restarts.next(self._engine.stamps.clock()) if self._restarts else None
        if pause is None:
            self._engine.strike(self._agent, failure)
            await self._until(lambda: self._ending)
        else:
            await self._sleep(pause)

    async def _sleep(self, pause: float) -> None:
        """Let time pass on the hub's clock, unless the agent leaves meanwhile."""
        over, alarm = self._engine.stamps.clock() + pause, Alarm(self.look)
        bucket = self._engine.deadlines.add(alarm, over)
        try:
            await self._until(lambda: self._ending or self._engine.stamps.clock() >= over)
        finally:
            bucket.pop(alarm, None)

    async def _until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._waiter = self._engine.new_waiter()
            await self._waiter
