"""The lifecycle of an agent with hooks or made by a class: started, restarted, stopped, in a task of its own."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final, Protocol

from anyio import CancelScope, move_on_after

from ._bell import Bell, Condition
from ._blueprint import Blueprint, call_hook
from ._callers import set_hook
from ._contained import Outcome, run_contained
from ._containment import class_name, is_fatal
from ._engine import Engine
from ._envelope import Envelope, EnvelopeState
from ._events import AgentRestarted, AgentStartFailed
from ._supervision import Restart, Restarts
from .errors import AgentNotStarted, AgentStopped

_TAKEOVER: Final = 1.0
_LAST_WORDS: Final = 5.0


class Alarm:
    """A deadline that calls back."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring

    def expire(self) -> None:
        """The deadline has passed."""
        self._ring()


class Crew(Protocol):
    """The workers of an agent, as its lifecycle sees them."""

    def pause(self) -> None:
        """Start no further message."""

    def proceed(self) -> None:
        """Continue with the queue."""

    def handling(self) -> list[Envelope]:
        """The envelopes being handled."""

    def end_tasks(self) -> None:
        """Cancel the tasks that the agent owns."""

    def has_tasks(self) -> bool:
        """Whether tasks run that the agent owns."""


class Lifecycle:
    """Runs an agent's hooks; its workers pause while no instance is ready.

    Its task is shielded from the end of the hub: `end` is called when the last worker has ended, and ``on_stop`` runs
    then. A restart waits a moment for the other handlers of the agent; those that take longer continue with the old
    instance beside the new one, and ``on_stop`` of the old one runs after them.

    Attributes:
        agent: The agent's id.
    """

    __slots__ = (
        "_bell",
        "_blueprint",
        "_crew",
        "_ending",
        "_engine",
        "_failure",
        "_on_end",
        "_over",
        "_refusal",
        "_restarts",
        "_retiring",
        "_running",
        "_starting",
        "_terminate",
        "agent",
    )

    def __init__(  # noqa: PLR0917 - made in one place, of what it is
        self,
        agent: str,
        blueprint: Blueprint,
        plan: Restart | None,
        crew: Crew,
        engine: Engine,
        terminate: Callable[[BaseException, Callable[[str], AgentStopped]], None],
    ) -> None:
        self.agent = agent
        self._blueprint = blueprint
        self._restarts = None if plan is None else Restarts(plan)
        self._crew = crew
        self._engine = engine
        self._terminate = terminate
        self._bell = Bell(engine.new_waiter)
        self._failure: BaseException | None = None
        self._refusal: Callable[[str], AgentStopped] = AgentStopped
        self._starting = CancelScope()
        self._running = 0
        self._retiring: list[Sequence[Envelope]] = []
        self._ending = False
        self._over = False
        self._on_end: Callable[[], None] = lambda: None

    @property
    def hub_engine(self) -> Engine:
        """The engine that it shares with the other agents of its hub."""
        return self._engine

    @property
    def in_hook(self) -> bool:
        """Whether one of its hooks is running."""
        return self._running > 0

    def begin(self) -> None:
        """Start the task."""
        self._crew.pause()
        self._engine.spawn(self._run, f"stagepost lifecycle of {self.agent}")

    def restart(self, failure: BaseException, envelope: Envelope | None) -> None:
        """Make a new instance after a failure, unless the failed instance has been replaced already.

        The tasks of the failed instance end. The failure of one of them has no envelope.
        """
        if any(envelope in envelopes for envelopes in self._retiring):
            return
        self._failure = failure
        self._crew.pause()
        self._crew.end_tasks()
        self.look()

    def interrupt(self) -> None:
        """Cancel ``on_start`` if it runs: the agent is leaving."""
        self._starting.cancel()

    def end(self, on_end: Callable[[], None]) -> None:
        """Stop the instance; the agent has no more work."""
        self._ending = True
        self._on_end = on_end
        if self._over:
            on_end()
        self.look()

    def look(self) -> None:
        """Check again: something has changed that the task may wait for."""
        self._bell.ring()

    async def _run(self) -> None:
        set_hook(self)
        try:
            with CancelScope(shield=True):
                while not self._ending:
                    await self._live()
                    if self._failure is not None and not self._ending:
                        await self._pause_after_failure(self._failure)
                await self._until(lambda: not self._retiring)
        finally:
            self._ending = self._over = True
            self._failure, self._refusal = None, AgentStopped  # an error keeps the variables of its handler alive
            self._on_end()

    async def _live(self) -> None:
        """One instance, from its start to its stop."""
        failed, self._failure = self._failure, None
        if not await self._start():
            return
        if failed is not None and self._restarts is not None:
            self._engine.emit(
                AgentRestarted(
                    hub=self._engine.hub,
                    agent=self.agent,
                    restarts=self._restarts.count,
                    error=class_name(type(failed)),
                )
            )
        self._crew.proceed()
        await self._until(lambda: self._ending or self._failure is not None)
        await self._sleep(_TAKEOVER, lambda: not (self._crew.handling() or self._crew.has_tasks()))
        await self._part_with(self._blueprint.instance)

    async def _start(self) -> bool:
        """Make an instance and start it; False if there is none."""
        engine, self._starting = self._engine, CancelScope()
        outcome = await self._call("on_start", lambda: self._blueprint.start(engine.owner), self._starting)
        if outcome.cancelled:
            await self._until(lambda: self._ending)
        elif outcome.failure is not None:
            self._failure, self._refusal = outcome.failure, partial(AgentNotStarted, cause=outcome.failure)
            self._crew.end_tasks()
            engine.log.error("agent did not start", hub=engine.hub, agent=self.agent, exc_info=outcome.failure)
            engine.emit(AgentStartFailed(hub=engine.hub, agent=self.agent, error=class_name(type(outcome.failure))))
        else:
            self._refusal = AgentStopped
            return True
        return False

    async def _part_with(self, instance: object) -> None:
        """Stop an instance: now, or in a separate task after its last handlers."""
        envelopes = self._crew.handling()
        if not envelopes:
            await self._stop(instance)
            return
        self._retiring.append(envelopes)
        self._engine.spawn(partial(self._see_off, instance, envelopes), f"stagepost old instance of {self.agent}")

    async def _see_off(self, instance: object, envelopes: Sequence[Envelope]) -> None:
        set_hook(self)
        try:
            with CancelScope(shield=True):
                await self._until(lambda: all(envelope.state is EnvelopeState.ENDED for envelope in envelopes))
                await self._stop(instance)
        finally:
            self._retiring = [others for others in self._retiring if others is not envelopes]
            self.look()

    async def _stop(self, instance: object) -> None:
        engine = self._engine
        outcome = await self._call(
            "on_stop", lambda: call_hook(instance, "on_stop", engine.owner), move_on_after(_LAST_WORDS)
        )
        if outcome.failure is not None:
            engine.log.error("on_stop failed", hub=engine.hub, agent=self.agent, exc_info=outcome.failure)
        elif outcome.cancelled:
            engine.log.error("on_stop took too long", hub=engine.hub, agent=self.agent, limit=_LAST_WORDS)

    async def _call(self, name: str, call: Callable[[], Awaitable[object]], scope: CancelScope) -> Outcome:
        self._running += 1
        try:
            outcome = await run_contained(call, scope)
        finally:
            self._running -= 1
        if outcome.failure is not None and is_fatal(outcome.failure):
            self._engine.end(outcome.failure)
        if outcome.left is not None:
            hub, agent = self._engine.hub, self.agent
            self._engine.log.warning("hook disturbed its task", hub=hub, agent=agent, hook=name, left=outcome.left)
        return outcome

    async def _pause_after_failure(self, failure: BaseException) -> None:
        """Wait before the next start; or end the agent if it fails too often."""
        pause = self._restarts.next(self._engine.stamps.clock()) if self._restarts else None
        if pause is None:
            self._terminate(failure, self._refusal)
            await self._until(lambda: self._ending)
        else:
            await self._sleep(pause)

    async def _until(self, condition: Condition) -> None:
        await self._engine.undisturbed(lambda: self._bell.until(condition))

    async def _sleep(self, pause: float, enough: Condition = lambda: False) -> None:
        """Wait on the hub's clock, until the agent leaves or the wait has become unnecessary."""
        clock = self._engine.stamps.clock
        over, alarm = clock() + pause, Alarm(self.look)
        if self._ending or enough():
            return
        bucket = self._engine.deadlines.add(alarm, over)
        try:
            await self._until(lambda: self._ending or enough() or clock() >= over)
        finally:
            bucket.pop(alarm, None)
