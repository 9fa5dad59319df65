"""Removing agents from a hub, and stopping a hub."""

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
from ._directory import Directory, Phase
from ._endpoint import Endpoint
from ._engine import Engine, Planned
from ._envelope import Envelope, EnvelopeState
from ._events import DeadReason
from ._guards import cancellation
from ._owned import OwnedTask
from ._time_slice import TimeSlice
from .errors import AgentStopped, DeliveryError, HubStopped

_PATIENCE: Final = 1.0
_AT_ONCE: Final = 32  # agents that are stopped before other tasks run
_MESSAGES_AT_ONCE: Final = 256  # messages of a failed agent, or news of an end, in the same step

Stage: TypeAlias = Literal["blocked", "queued", "running"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfinished:
    """A message that a stopping hub did not finish.

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
    """What a hub left unfinished when it stopped.

    Attributes:
        hub: The hub's name.
        unfinished: The messages that were cancelled, discarded or refused when the time was up.
        stuck: Agents with a handler, or a task of their own, that ignores its cancellation.
    """

    hub: str
    unfinished: tuple[Unfinished, ...] = ()
    stuck: tuple[str, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether everything was finished."""
        return not self.unfinished


async def dismiss(directory: Directory, engine: Engine | None, agent: str, *, drain: bool, grace: float) -> None:
    """Remove an agent from its hub and return when its last handler has ended.

    If a handler or a hook calls this, it waits neither for that one nor for those that wait for it.

    Raises:
        AgentNotFound: There is none with this id.
        AgentStopped: It is leaving already.
    """
    registration = directory.member(agent)
    if engine is not None:
        await finish(directory.release(registration), engine.time_slice)
    if directory.member(agent) is not registration:
        raise AgentStopped(agent)  # somebody else was faster, and the id was reused meanwhile
    endpoint = directory.take_out(agent).receiver
    if endpoint is None or engine is None:
        directory.remove(agent)
        return
    callers, caller = engine.callers, caller_on(engine)
    with callers.waiting(caller, endpoint.bell):
        endpoint.close(lambda: directory.remove(agent))
        drained = False
        try:
            with move_on_after(grace if drain else 0):
                await endpoint.left(lambda: callers.held(caller))
                drained = drain
        finally:
            if not drained:
                await finish(
                    endpoint.abort(AgentStopped, DeadReason.RECIPIENT_GONE, callers.chain(caller)), engine.time_slice
                )
        await endpoint.left(lambda: callers.held(caller))


def terminate(directory: Directory, engine: Engine | None, agent: str, refusal: Callable[[str], DeliveryError]) -> None:
    """Remove a failed agent from its hub at once."""
    endpoint = directory.receiver_of(agent)
    if agent in directory.agents:
        directory.take_out(agent)
        if endpoint is None:
            directory.remove(agent)
            return
        endpoint.close(lambda: directory.remove(agent))
    if endpoint is None or engine is None:
        return
    steps = endpoint.abort(refusal, DeadReason.RECIPIENT_GONE)
    finish_soon(engine, steps, f"stagepost end of {agent}")


def finish_soon(engine: Engine, steps: Iterator[object], name: str) -> None:
    """Execute steps now, or the rest of them in a task if there are many."""
    if sum(1 for _ in islice(steps, _MESSAGES_AT_ONCE)) == _MESSAGES_AT_ONCE:
        engine.spawn(partial(engine.undisturbed, partial(finish, steps, engine.time_slice)), name)


async def drain(directory: Directory, engine: Engine, timeout: float) -> StopReport:
    """Stop a hub and return when its last handler has ended.

    If a handler or a hook calls this, it waits neither for that one nor for those that wait for it. If a
    handler does not end when it is cancelled, this waits only a moment; the report names it.
    """
    if directory.phase is Phase.RUNNING:
        directory.enter(Phase.DRAINING)
        await _end_watches(directory, engine)
    callers, caller, bell = engine.callers, caller_on(engine), engine.account.bell

    def is_quiet() -> bool:
        return engine.account.in_flight <= _held_in_flight(directory, callers.held(caller))

    with callers.waiting(caller, bell):
        with move_on_after(timeout):
            await bell.until(is_quiet)
        unfinished = await abort(directory, engine, callers.held(caller))
        with move_on_after(_PATIENCE):
            await bell.until(lambda: is_quiet() and engine.owned <= _held_tasks(callers.held(caller)))
        stuck = await _stuck(directory, engine, callers.held(caller))
    if stuck:
        engine.log.error("handlers ignore that they were cancelled", hub=engine.hub, agents=stuck)
    return StopReport(hub=engine.hub, unfinished=unfinished, stuck=stuck)


def _held_in_flight(directory: Directory, held: AbstractSet[Caller]) -> int:
    """How many messages will not end before one of the given ones does."""
    envelopes = [caller for caller in held if isinstance(caller, Envelope)]
    agents = {caller.recipient.id if isinstance(caller, Envelope) else caller.agent for caller in held}
    receivers = [receiver for receiver in map(directory.receiver_of, agents) if receiver is not None]
    return sum(envelope.state is EnvelopeState.RUNNING for envelope in envelopes) + sum(
        receiver.stuck_depth(held) for receiver in receivers
    )


def _held_tasks(held: AbstractSet[Caller]) -> int:
    """How many of the given ones are tasks that agents own."""
    return sum(isinstance(caller, OwnedTask) for caller in held)


async def _stuck(directory: Directory, engine: Engine, spared: AbstractSet[Caller]) -> tuple[str, ...]:
    """The agents with handlers that still run, once for each handler, or with tasks of their own."""
    stuck: list[str] = []
    for endpoint in directory.endpoints():
        await engine.time_slice.take_shielded()
        stuck += [endpoint.id for _ in endpoint.handling(spared)] or [endpoint.id] * endpoint.workers.has_tasks(spared)
    return tuple(stuck)


async def abort(directory: Directory, engine: Engine, spared: AbstractSet[Caller] = NOBODY) -> tuple[Unfinished, ...]:
    """Stop a hub at once: mark queued messages as dead, answer all requests, cancel handlers and hooks except `spared`.

    Once started it is finished, even if its task is cancelled meanwhile.

    Returns:
        The messages that it ended.
    """
    directory.enter(Phase.CLOSED)
    for listener in directory.listeners:
        listener.close()
    await finish(_end_all(tuple(engine.timers)), engine.time_slice)
    await _end_watches(directory, engine)
    unfinished: dict[Stage, list[Unfinished]] = {"running": [], "queued": [], "blocked": []}
    await finish(_end_messages(directory.endpoints(), engine, spared, unfinished), engine.time_slice)
    return tuple(chain.from_iterable(unfinished.values()))


async def _end_watches(directory: Directory, engine: Engine) -> None:
    """Nobody waits for the end of an agent any more: the hub itself ends."""
    if directory.watches is not None:
        await finish(directory.watches.end_all(), engine.time_slice)


def _end_all(timers: Sequence[Planned]) -> Iterator[None]:
    """End timers, one per step."""
    for timer in timers:
        timer.end()
        yield


def _end_messages(
    endpoints: Sequence[Endpoint],
    engine: Engine,
    spared: AbstractSet[Caller],
    unfinished: dict[Stage, list[Unfinished]],
) -> Iterator[bool]:
    """End the messages of endpoints, one per step; yields whether other tasks should run at once."""
    for start in range(0, len(endpoints), _AT_ONCE):
        some = endpoints[start : start + _AT_ONCE]
        for endpoint in some:  # all of them before any is answered, or handlers would see each other's refusals
            for envelope in endpoint.interrupt(spared):
                unfinished["running"].append(_unfinished(envelope, "running", engine))
                yield False
        for endpoint in some:
            for envelope, state in endpoint.abort(
                lambda agent: HubStopped(agent, engine.hub), DeadReason.HUB_STOPPED, spared
            ):
                if state is not EnvelopeState.RUNNING:
                    stage: Stage = "queued" if state is EnvelopeState.QUEUED else "blocked"
                    unfinished[stage].append(_unfinished(envelope, stage, engine))
                yield False
        yield len(some) == _AT_ONCE  # stopped agents have more to do than this


def _unfinished(envelope: Envelope, stage: Stage, engine: Engine) -> Unfinished:
    return Unfinished(
        agent=envelope.recipient.id,
        message_id=envelope.id(engine.stamps),
        sender=envelope.sender,
        payload=class_name(type(envelope.payload)),
        stage=stage,
    )


async def finish(steps: Iterator[object], time_slice: TimeSlice) -> None:
    """Execute all steps, and let other tasks run now and then, even in a cancelled task."""
    try:
        for urgent in steps:
            if time_slice.spend() or urgent is True:
                await time_slice.next_shielded()
    finally:
        for _ in steps:  # no shield stops asyncio's own cancellation
            pass


async def end_tasks(tasks: TaskGroup, failures: list[BaseException]) -> None:
    """Cancel what still runs and leave the task group.

    Args:
        tasks: The task group.
        failures: The errors that ended the hub. They are removed: an error keeps the variables of its handler alive.

    Raises:
        BaseException: The error that ended the hub, such as `KeyboardInterrupt`; a group if there are several. It takes
            precedence over a cancellation of the task, as in other task groups.
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
