"""How an agent leaves its hub, and how a hub stops."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from anyio import move_on_after
from anyio.abc import TaskGroup

from ._desk import Desk
from ._directory import Directory, Phase
from ._engine import Engine
from ._events import DeadReason
from ._parcel import State
from ._workers import Worker, current_worker
from .errors import AgentStopped, HubStopped

_PATIENCE: Final = 1.0
_AT_ONCE: Final = 32  # agents that are stopped before others run

Stage: TypeAlias = Literal["blocked", "queued", "running"]
_STAGES: Final[dict[State, Stage]] = {
    State.BLOCKED: "blocked",
    State.QUEUED: "queued",
    State.RUNNING: "running",
    State.ENDED: "running",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfinished:
    """A message that a stopping hub did not get to the end of.

    Attributes:
        agent: The agent it is for.
        message_id: The message.
        sender: The agent that sent it, if one did.
        payload: The name of the payload's class.
        stage: Whether its handler was ``"running"``, it was ``"queued"``, or its sender still waited for room.
    """

    agent: str
    message_id: str
    sender: str | None
    payload: str
    stage: Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class StopReport:
    """What a hub left undone when it stopped.

    Attributes:
        hub: The hub's name.
        unfinished: The messages that were cancelled, buried or refused when the time was up.
        stuck: Agents with a handler that goes on although it was cancelled.
    """

    hub: str
    unfinished: tuple[Unfinished, ...] = ()
    stuck: tuple[str, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether everything was finished."""
        return not self.unfinished


async def dismiss(directory: Directory, agent: str, *, drain: bool, grace: float) -> None:
    """Take an agent off its hub and return when its last handler has ended, or all but the one that called this.

    Raises:
        AgentNotFound: There is none with this id.
        AgentStopped: It is leaving already.
    """
    desk = directory.take_out(agent).desk
    if desk is None:
        directory.remove(agent)
        return
    desk.close(lambda: directory.remove(agent))
    worker = current_worker()
    own = worker if desk.employs(worker) else None
    if not drain:
        desk.abort(AgentStopped, DeadReason.RECIPIENT_GONE, own)
    if own is not None:
        return
    try:
        with move_on_after(grace):
            await desk.left()
    finally:
        desk.abort(AgentStopped, DeadReason.RECIPIENT_GONE)
    await desk.left()


def strike(directory: Directory, agent: str) -> None:
    """Take an agent off its hub at once, from inside, because it failed. Nothing happens if it is leaving already."""
    if agent not in directory.agents:
        return
    desk = directory.take_out(agent).desk
    if desk is None:
        directory.remove(agent)
        return
    desk.close(lambda: directory.remove(agent))
    desk.abort(AgentStopped, DeadReason.RECIPIENT_GONE)


async def drain(directory: Directory, engine: Engine, timeout: float) -> StopReport:
    """Stop a hub and return when its last handler has ended, or all but the one that called this.

    A handler that does not end when it is cancelled is waited for only a moment; the report names it.
    """
    if directory.phase is Phase.RUNNING:
        directory.enter(Phase.DRAINING)
    worker = current_worker()
    own = worker if worker is not None and worker.engine is engine else None
    spared = 0 if own is None else 1
    with move_on_after(timeout):
        await engine.ledger.quiet(spared)
    unfinished = tuple([left async for left in _leftovers(directory, engine, own)])
    await abort(directory, engine, own)
    with move_on_after(_PATIENCE):
        await engine.ledger.quiet(spared)
    stuck = tuple([left.agent async for left in _leftovers(directory, engine, own)])
    if stuck:
        engine.log.error("handlers ignore that they were cancelled", hub=engine.hub, agents=stuck)
    return StopReport(hub=engine.hub, unfinished=unfinished, stuck=stuck)


async def _leftovers(directory: Directory, engine: Engine, own: Worker | None) -> AsyncIterator[Unfinished]:
    for desk in directory.desks():
        await engine.turns.take_shielded()
        for parcel in desk.parcels(own):
            yield Unfinished(
                agent=desk.id,
                message_id=parcel.id(engine.stamps),
                sender=parcel.sender,
                payload=type(parcel.payload).__qualname__,
                stage=_STAGES[parcel.state],
            )


async def abort(directory: Directory, engine: Engine, spare: Worker | None = None) -> None:
    """Stop a hub at once: bury what is queued, answer all requests, cancel handlers but that of a worker to spare.

    Once begun it is finished, also by a task that is cancelled meanwhile.
    """
    directory.enter(Phase.CLOSED)
    for listener in directory.listeners:
        listener.close()
    desks = directory.desks()
    batches = iter([desks[start : start + _AT_ONCE] for start in range(0, len(desks), _AT_ONCE)])
    try:
        for batch in batches:
            _abort(batch, engine, spare)
            if len(batch) == _AT_ONCE:  # whoever is stopped has more to do than this
                await engine.turns.next_shielded()
    finally:
        for batch in batches:  # no shield keeps off asyncio's own cancellation
            _abort(batch, engine, spare)


def _abort(desks: Sequence[Desk], engine: Engine, spare: Worker | None) -> None:
    for desk in desks:
        desk.interrupt(spare)  # all of them before any is answered, or handlers would meet the refusals of each other
    for desk in desks:
        desk.abort(lambda agent: HubStopped(agent, engine.hub), DeadReason.HUB_STOPPED, spare)


async def end_tasks(tasks: TaskGroup) -> None:
    """Cancel what still runs and leave the task group.

    Raises:
        BaseException: What ended a worker, such as `KeyboardInterrupt`; without a group around it if it is the only
            one.
    """
    tasks.cancel_scope.cancel()
    failure: BaseException | None = None
    try:
        await tasks.__aexit__(None, None, None)
    except BaseExceptionGroup as group:
        failure = _unwrapped(group)
    if failure is not None:
        raise failure


def _unwrapped(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
