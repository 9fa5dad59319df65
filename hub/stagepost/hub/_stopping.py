"""How an agent leaves its hub, and how a hub stops."""

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from itertools import chain, islice
from typing import Final, Literal, TypeAlias

from anyio import move_on_after
from anyio.abc import TaskGroup

from stagepost._dataclasses import dataclass

from ._callers import NOBODY, Caller, caller_on
from ._containment import class_name
from ._desk import Desk
from ._directory import Directory, Phase
from ._engine import Engine
from ._events import DeadReason
from ._guards import cancellation
from ._parcel import Parcel, State
from ._turns import Turns
from .errors import AgentStopped, DeliveryError, HubStopped

_PATIENCE: Final = 1.0
_AT_ONCE: Final = 32  # agents that are stopped before others run
_MESSAGES_AT_ONCE: Final = 256  # those of a failed agent that end in the same step

Stage: TypeAlias = Literal["blocked", "queued", "running"]


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


async def dismiss(directory: Directory, engine: Engine | None, agent: str, *, drain: bool, grace: float) -> None:
    """Take an agent off its hub and return when its last handler has ended.

    Called by a handler or a hook, it does not wait for that one, nor for those that wait for it.

    Raises:
        AgentNotFound: There is none with this id.
        AgentStopped: It is leaving already.
    """
    registration = directory.member(agent)
    if engine is not None:
        await _finish(directory.unsubscribe_all(registration), engine.turns)
    if directory.member(agent) is not registration:
        raise AgentStopped(agent)  # somebody else was faster, and the id was taken anew meanwhile
    desk = directory.take_out(agent).desk
    if desk is None or engine is None:
        directory.remove(agent)
        return
    desk.close(lambda: directory.remove(agent))
    callers, caller = engine.callers, caller_on(engine)
    with callers.waiting(caller, desk.bell):
        drained = False
        try:
            with move_on_after(grace if drain else 0):
                await desk.left(lambda: callers.held(caller))
                drained = drain
        finally:
            if not drained:
                await _finish(desk.abort(AgentStopped, DeadReason.RECIPIENT_GONE, callers.chain(caller)), engine.turns)
        await desk.left(lambda: callers.held(caller))


def strike(directory: Directory, engine: Engine | None, agent: str, refusal: Callable[[str], DeliveryError]) -> None:
    """Take an agent off its hub at once, from inside, because it failed."""
    desk = directory.desk_of(agent)
    if agent in directory.agents:
        directory.take_out(agent)
        if desk is None:
            directory.remove(agent)
            return
        desk.close(lambda: directory.remove(agent))
    if desk is None or engine is None:
        return
    steps = desk.abort(refusal, DeadReason.RECIPIENT_GONE)
    if sum(1 for _ in islice(steps, _MESSAGES_AT_ONCE)) == _MESSAGES_AT_ONCE:
        engine.spawn(partial(engine.undisturbed, partial(_finish, steps, engine.turns)), f"stagepost end of {agent}")


async def drain(directory: Directory, engine: Engine, timeout: float) -> StopReport:
    """Stop a hub and return when its last handler has ended.

    Called by a handler or a hook, it does not wait for that one, nor for those that wait for it. A handler that does
    not end when it is cancelled is waited for only a moment; the report names it.
    """
    if directory.phase is Phase.RUNNING:
        directory.enter(Phase.DRAINING)
    callers, caller, bell = engine.callers, caller_on(engine), engine.ledger.bell

    def is_quiet() -> bool:
        return engine.ledger.in_flight <= _held_in_flight(directory, callers.held(caller))

    with callers.waiting(caller, bell):
        with move_on_after(timeout):
            await bell.until(is_quiet)
        unfinished = await abort(directory, engine, callers.held(caller))
        with move_on_after(_PATIENCE):
            await bell.until(is_quiet)
        stuck = await _stuck(directory, engine, callers.held(caller))
    if stuck:
        engine.log.error("handlers ignore that they were cancelled", hub=engine.hub, agents=stuck)
    return StopReport(hub=engine.hub, unfinished=unfinished, stuck=stuck)


def _held_in_flight(directory: Directory, held: AbstractSet[Caller]) -> int:
    """How many messages will not end before one of those named does."""
    parcels = [caller for caller in held if isinstance(caller, Parcel)]
    agents = {caller.recipient.id if isinstance(caller, Parcel) else caller.agent for caller in held}
    desks = [desk for desk in map(directory.desk_of, agents) if desk is not None and desk.is_stuck(held)]
    return sum(parcel.state is State.RUNNING for parcel in parcels) + sum(desk.depth for desk in desks)


async def _stuck(directory: Directory, engine: Engine, spared: AbstractSet[Caller]) -> tuple[str, ...]:
    """The agents with handlers that still run, once for each of those."""
    stuck: list[str] = []
    for desk in directory.desks():
        await engine.turns.take_shielded()
        stuck += [desk.id for _ in desk.handling(spared)]
    return tuple(stuck)


async def abort(directory: Directory, engine: Engine, spared: AbstractSet[Caller] = NOBODY) -> tuple[Unfinished, ...]:
    """Stop a hub at once: bury what is queued, answer all requests, cancel handlers and hooks but those to spare.

    Once begun it is finished, also by a task that is cancelled meanwhile.

    Returns:
        What it has ended.
    """
    directory.enter(Phase.CLOSED)
    for listener in directory.listeners:
        listener.close()
    unfinished: dict[Stage, list[Unfinished]] = {"running": [], "queued": [], "blocked": []}
    await _finish(_end_messages(directory.desks(), engine, spared, unfinished), engine.turns)
    return tuple(chain.from_iterable(unfinished.values()))


def _end_messages(
    desks: Sequence[Desk], engine: Engine, spared: AbstractSet[Caller], unfinished: dict[Stage, list[Unfinished]]
) -> Iterator[bool]:
    """Ends the messages of desks, one with each step; whether others should run at once."""
    for start in range(0, len(desks), _AT_ONCE):
        some = desks[start : start + _AT_ONCE]
        for desk in some:  # all of them before any is answered, or handlers would meet the refusals of each other
            for parcel in desk.interrupt(spared):
                unfinished["running"].append(_unfinished(parcel, "running", engine))
                yield False
        for desk in some:
            for parcel, state in desk.abort(
                lambda agent: HubStopped(agent, engine.hub), DeadReason.HUB_STOPPED, spared
            ):
                if state is not State.RUNNING:
                    stage: Stage = "queued" if state is State.QUEUED else "blocked"
                    unfinished[stage].append(_unfinished(parcel, stage, engine))
                yield False
        yield len(some) == _AT_ONCE  # whoever is stopped has more to do than this


def _unfinished(parcel: Parcel, stage: Stage, engine: Engine) -> Unfinished:
    return Unfinished(
        agent=parcel.recipient.id,
        message_id=parcel.id(engine.stamps),
        sender=parcel.sender,
        payload=class_name(type(parcel.payload)),
        stage=stage,
    )


async def _finish(steps: Iterator[object], turns: Turns) -> None:
    """Do all steps, and let others run now and then, also in a task that is cancelled meanwhile."""
    try:
        for urgent in steps:
            if turns.spend() or urgent is True:
                await turns.next_shielded()
    finally:
        for _ in steps:  # no shield keeps off asyncio's own cancellation
            pass


async def end_tasks(tasks: TaskGroup, failures: list[BaseException]) -> None:
    """Cancel what still runs and leave the task group.

    Args:
        tasks: The task group.
        failures: What has ended the hub, which forgets it: an error keeps alive what its handler had.

    Raises:
        BaseException: What has ended the hub, such as `KeyboardInterrupt`; as a group if there are several errors. It
            takes precedence over a cancellation of the task, as in other task groups.
    """
    tasks.cancel_scope.cancel()
    ended_by: list[BaseException] = []
    try:
        await tasks.__aexit__(None, None, None)
    except BaseExceptionGroup as group:
        ended_by += group.exceptions
    except cancellation():
        if not failures:
            raise
    finally:
        ended_by[:0] = failures
        failures.clear()
    if ended_by:
        raise ended_by[0] if len(ended_by) == 1 else BaseExceptionGroup("several errors ended the hub", ended_by)
