"""How an agent leaves its hub, and how a hub stops."""

from anyio import move_on_after
from anyio.abc import TaskGroup

from ._directory import Directory, Phase
from ._engine import Engine
from ._events import DeadReason
from ._workers import Worker, current_worker
from .errors import AgentStopped, HubStopped


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


async def drain(directory: Directory, engine: Engine, timeout: float) -> None:
    """Stop a hub and return when its last handler has ended, or all but the one that called this."""
    if directory.phase is Phase.RUNNING:
        directory.enter(Phase.DRAINING)
    worker = current_worker()
    own = worker if worker is not None and worker.engine is engine else None
    spared = 0 if own is None else 1
    with move_on_after(timeout):
        await engine.ledger.quiet(spared)
    abort(directory, engine, own)
    await engine.ledger.quiet(spared)


def abort(directory: Directory, engine: Engine, spare: Worker | None = None) -> None:
    """Stop a hub at once: bury what is queued, answer all requests, cancel handlers but that of a worker to spare."""
    directory.enter(Phase.CLOSED)
    desks = directory.desks()
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
