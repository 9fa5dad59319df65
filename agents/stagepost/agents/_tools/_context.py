"""The context of a tool call."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Generic

from typing_extensions import TypeVar

from stagepost._dataclasses import dataclass

from .._models._model import Model

DepsT_co = TypeVar("DepsT_co", covariant=True, default=Any)


@dataclass(frozen=True)  # no slots: frozen, they would refuse ToolContext[Pool](…)
class ToolContext(Generic[DepsT_co]):
    """Given to tools that have a parameter named ``context``; the model does not see that parameter.

    Annotate the parameter as ``ToolContext[Pool]`` if deps are a ``Pool``; ``ToolContext`` alone leaves their type
    open.

    Attributes:
        run_id: The run. Runs in memory have one too.
        agent: Name of the agent.
        call_id: The model's id of the call; another turn may use the same.
        idempotency_key: The same text whenever this very call is executed, also after a crash; no other call has it.
        deps: What the process passed to the runner or to ``run``; never stored.
        model: The model of the calling agent, for tools that ask one themselves.
        secrets: What the process passed to the runner or to ``run`` as secrets: never stored, masked in results of
            tools.
        path: Names of the agents from the root to the calling one.
        turn: Number of the answer that requests the call, from 1. If a run continues another one, so does the number.
        labels: What the run was labelled with when it was started; nothing for runs in memory.
    """

    run_id: str
    agent: str
    call_id: str
    idempotency_key: str
    deps: DepsT_co
    model: Model | None = None
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    path: Sequence[str] = ()
    turn: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    _report: Callable[[float, float | None, str | None], None] | None = field(default=None, repr=False, compare=False)

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Report how far the call is: to those who listen to the run, and to hooks with ``tool_progress``.

        Nothing of it is stored, and nothing happens if nobody wants to know. Secrets in the message are masked. May be
        called from any thread.

        Args:
            done: How much is done; it should grow.
            total: How much there is to do, if that is known.
            message: What the call is doing, for people.
        """
        if self._report is not None:
            self._report(done, total, message)
