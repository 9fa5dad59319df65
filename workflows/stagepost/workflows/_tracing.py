"""What the engine tells whoever traces runs. Nothing here knows what a trace looks like, or where it is kept.

A `TracerFactory` is what a runner, or a run in memory, is given. It is opened once, and gives the `Tracer` of that
runner or run; this gives each run a `RunTracer`, which stands in its `Execution`. All that the engine tells is told
without waiting, and what is told must not raise. The contexts are those of steps, which know this module.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import field
from types import MappingProxyType
from typing import Any, Protocol

from stagepost._dataclasses import dataclass
from stagepost.hub import InvalidArgument

from ._values._mask import Mask


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedRun:
    """What is known of a run when this process begins to work on it.

    Attributes:
        run_id: The run.
        workflow: Name of its workflow.
        agent: Name of the agent whose work it is; None for any other workflow.
        trace: The trace that it belongs to: a W3C ``traceparent``, or any text.
        epoch: How often it was claimed; 0 for a run in memory.
        killed: How many of the last claims ended with the death of their process, since the run's last commit.
        created_at: When it was started, in seconds since 1970.
        saved_at: When something of it was last committed; as `created_at` if nothing was.
        call: Number of the call (``turn-index``) of the agent above that it answers; None if it answers none.
        labels: What it was labelled with.
        clock: Seconds since 1970.
        mask: Gives what puts stars where a text shows a secret of the run.
    """

    run_id: str
    workflow: str
    trace: str
    clock: Callable[[], float] = field(repr=False)
    mask: Callable[[], Mask] = field(repr=False)
    created_at: float
    saved_at: float
    agent: str | None = None
    epoch: int = 0
    killed: int = 0
    call: str | None = None
    labels: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


class RunTracer(Protocol):
    """A run in this process. None of this waits or raises."""

    def began(self) -> None:
        """The process works on it from now on."""
        ...

    def ended(self, status: str, error: BaseException | None) -> None:
        """The process no longer works on it.

        Args:
            status: ``completed``, ``failed``, ``cancelled``, ``waiting``; or ``open``: another process goes on with it.
            error: Why, if it did not complete.
        """
        ...

    def step(self, name: str, value: object, context: Any) -> AbstractContextManager[object] | None:
        """A step begins; it is performed in what this returns, if that is anything.

        Args:
            name: The step's.
            value: The state or the item that it is given.
            context: What it is given beside that.
        """
        ...

    def resumed(self, places: Sequence[str]) -> None:
        """A fan-out goes on.

        Args:
            places: Those of the items that are begun first, as they were before.
        """
        ...

    def child(self, run_id: str, context: Any) -> None:
        """A step is about to start a run, or joins the one that it has started before.

        Args:
            run_id: The child.
            context: Of the step.
        """
        ...


class Tracer(Protocol):
    """Traces the runs of one runner, or a run in memory with those below it."""

    def run(self, traced: TracedRun) -> RunTracer:
        """What traces a run in this process. It neither waits nor raises."""
        ...

    def ambient(self) -> str | None:
        """The trace that a run belongs to which is started here and now, if its starter names none. It never raises."""
        ...


class TracerFactory(Protocol):
    """What a runner, or a run in memory, is given as ``tracing=``."""

    def opened(self) -> AbstractAsyncContextManager[Tracer | None]:
        """Trace runs until this is left, by which all is handed on that was told; None if nothing is to be traced."""
        ...


def checked_tracing(given: TracerFactory | None) -> TracerFactory | None:
    """What was given as ``tracing=``.

    Raises:
        InvalidArgument: It cannot trace.
    """
    if isinstance(given, type):
        raise InvalidArgument("tracing", given, "this is a class: give a provider that is made of it")
    if given is None or callable(getattr(given, "opened", None)):
        return given
    raise InvalidArgument("tracing", given, "give a provider made from BaseTracingProvider, or Tracing(provider)")


class _Default:
    """What traces runs that are given nothing; None for no tracing."""

    factory: TracerFactory | None = None


_DEFAULT = _Default()  # the one registry of the process, which the specification demands; an argument always wins


def set_default_tracing(factory: TracerFactory | None) -> None:
    """Trace, from now on, all runners that are opened and all runs in memory that are begun without ``tracing=``.

    Args:
        factory: What traces them; None to trace none.
    """
    _DEFAULT.factory = factory


def default_tracing() -> TracerFactory | None:
    """What traces runs that are given nothing, if anything does."""
    return _DEFAULT.factory
