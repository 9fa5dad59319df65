"""What happens when an agent, or an instance of it, fails."""

from collections.abc import Callable
from typing import Protocol

from ._blueprint import Blueprint
from ._containment import class_name
from ._engine import Engine
from ._envelope import Envelope
from ._events import AgentTerminated
from ._guards import cancellation
from ._lifecycle import Lifecycle
from ._supervision import Restart, Supervision
from ._workers import Workers
from .errors import AgentStopped, DeliveryError, HandlerFailed


class Terminate(Protocol):
    """Ends what has failed, and refuses those who wait for it."""

    def __call__(self, failure: BaseException, refusal: Callable[[str], DeliveryError], /) -> None:
        """End it."""


def supervise(  # noqa: PLR0917 - called in two places, with all of it
    agent: str,
    engine: Engine,
    workers: Workers,
    supervision: Supervision,
    blueprint: Blueprint | None,
    terminate: Terminate,
) -> None:
    """Set what happens on a failure, and make a lifecycle if an instance has to be started, which begins later.

    Args:
        agent: The agent's id.
        engine: The hub's.
        workers: Those of the agent, or of one of its instances.
        supervision: What happens.
        blueprint: Makes the instance.
        terminate: Ends the agent or the instance.
    """
    if blueprint is not None:
        plan = supervision if isinstance(supervision, Restart) else None
        workers.lifecycle = Lifecycle(agent, blueprint, plan, workers, engine, terminate)
    if isinstance(supervision, Restart) and workers.lifecycle is not None:
        workers.on_failure = workers.lifecycle.restart
    elif supervision == "stop":
        workers.on_failure = lambda failure, _: terminate(failure, AgentStopped)
    elif supervision == "escalate":
        workers.on_failure = _Escalation(agent, engine)


class _Escalation:
    """Ends the hub with the failure of an agent."""

    __slots__ = ("_agent", "_engine")

    def __init__(self, agent: str, engine: Engine) -> None:
        self._agent = agent
        self._engine = engine

    def __call__(self, failure: BaseException, envelope: Envelope | None) -> None:
        self._engine.emit(AgentTerminated(hub=self._engine.hub, agent=self._agent, error=class_name(type(failure))))
        if isinstance(failure, cancellation()):  # the task that entered the hub would take it for its own cancellation
            failure = HandlerFailed(self._agent, "a task" if envelope is None else envelope.handler.name, failure)
        self._engine.end(failure)
