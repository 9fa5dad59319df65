"""What a step may know of its run, whichever step it is."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import Limits
from stagepost.hub import Hub

from .._events import EventKind
from .._execution._children import Children
from .._execution._execution import Execution
from .._ids import child_id
from .._values._mask import Mask


@dataclass(slots=True, eq=False)
class RunContext:
    """The part of a `StepContext` that is about the run."""

    _execution: Execution = field(repr=False)

    @property
    def run_id(self) -> str:
        """The run. Runs in memory have one too."""
        return self._execution.run_id

    @property
    def workflow(self) -> str:
        """Name of the run's workflow."""
        return self._execution.workflow

    @property
    def deps(self) -> Any:
        """What the process gave to the runner or to ``run``; never stored."""
        return self._execution.deps

    @property
    def resources(self) -> Any:
        """What the workflow's ``lifespan=`` gives, open as long as the run is worked on; None if it has none."""
        return self._execution.resources

    @property
    def memo(self) -> dict[str, object]:
        """What the steps of this run put aside for each other in this process, such as what was computed once.

        Never stored: a run that is taken up from the store, also after a wait, begins with an empty one.
        """
        return self._execution.memo

    @property
    def secrets(self) -> Mapping[str, str]:
        """What the process gave to the runner or to ``run`` as secrets: never stored, never in an event.

        Nothing that a step returns may hold one, and errors that show one are masked.
        """
        return self._execution.secrets

    @property
    def mask(self) -> Mask:
        """Puts three stars where a text shows a secret of the run: ``context.mask(text)``. False if there is none.

        What a step returns may hold no secret, so whoever keeps what others say, such as the answer of a server, masks
        it first.
        """
        return self._execution.secrets.mask

    @property
    def limits(self) -> Limits:
        """How large a value of the state, and bytes beside it, may be."""
        return self._execution.limits

    @property
    def labels(self) -> Mapping[str, str]:
        """What the run was labelled with when it was started; nothing for runs in memory."""
        return self._execution.labels

    def clock(self) -> float:
        """Now, in seconds since 1970, by the clock of the runner: what the waits of the run are due by."""
        return self._execution.clock()

    @property
    def hub(self) -> Hub | None:
        """The hub of the runner or of ``run``, if there is one."""
        return self._execution.hub

    @property
    def trace(self) -> str:
        """The trace that the run belongs to; what `Ask` asks of agents carries it, and so can what you send."""
        return self._execution.trace

    @property
    def is_durable(self) -> bool:
        """Whether the run is stored, so that it can wait for somebody."""
        return self._execution.journal.is_stored

    @property
    def was_cancelled(self) -> bool:
        """Whether the end of this stored run was requested; False where only its process is to end."""
        return self.is_durable and self._execution.stored.scope.cancel_called

    def child_id(self, key: str, *, of: str | None = None) -> str:
        """The id that a child has as a run of its own.

        Args:
            key: As for `StepContext.child`.
            of: Id of the run whose child it is; by default this one.
        """
        return child_id(self.run_id if of is None else of, key)

    async def child_state(self, key: str, *, of: str | None = None) -> Any:
        """The final state of a child of this run that has completed, whichever step has started it; or None.

        Args:
            key: As for `StepContext.child`.
            of: Id of the run whose child it is; by default this one. In memory no other run is known.
        """
        return await self._children.state(self.run_id if of is None else of, key)

    @property
    def has_signals(self) -> bool:
        """Whether it may be worth asking for `StepContext.signals`: False only if none was sent to this run."""
        return not self._execution.signals.is_empty

    @property
    def is_heard(self) -> bool:
        """Whether anybody listens to the run: worth asking before something is put together to `StepContext.tell`."""
        room = self._execution.room
        return room is not None and room.is_heard

    def emit(self, kind: EventKind, /, **details: object) -> None:
        """Tell the run's observer of an event: a kind of `RunEvent`, yours among them, and its own fields.

        They are metadata: no value of the state belongs into one.
        """
        self._execution.emit(kind, **details)

    @property
    def _children(self) -> Children:
        assert self._execution.children is not None  # noqa: S101  # whoever executes a run sees to it
        return self._execution.children
