"""The spans of one run in this process: the run itself, and the steps of a plain workflow."""

import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Final, Protocol

from pydantic import JsonValue

from stagepost.workflows import PatternError, StepContext, TracedRun

from ._ids import iteration_id, parent_run, root_id, span_id_of, trace_id_of
from ._leaf import Leaf
from ._observation import ObservationStatus, ObservationType, TraceContext
from ._telling import Telling

_ENDS: Final[dict[str, ObservationStatus]] = {"completed": "ok", "failed": "error", "cancelled": "cancelled"}
_CALL: Final = re.compile(r"(\d{1,9})-\d{1,9}", re.ASCII)
_USER: Final = "user"  # labels that a trace is given
_SESSION: Final = "conversation"
_REMEMBERED: Final = 10_000  # keys of what has ended, which may be repeated


class ParentsOfRuns(Protocol):
    """What runs belong below that steps have started; see `Parents`."""

    def note(self, run_id: str, parent: TraceContext) -> None:
        """Remember what a run belongs below."""
        ...

    def of(self, run_id: str) -> TraceContext | None:
        """What a run belongs below, if that is known."""
        ...

    def forget(self, run_id: str) -> None:
        """A run has ended for good."""
        ...


class RunSpans:
    """Traces one run; see `RunTracer`.

    Its own spans, which stand for the whole run, go on after a crash or a wait. Of what was under way when a process
    was killed, the next process ends the spans: those of the steps that it begins before it has ended any.

    Args:
        run: The run.
        telling: Tells the provider.
        parents: What runs belong below that steps have started.
    """

    def __init__(self, run: TracedRun, telling: Telling, parents: ParentsOfRuns) -> None:
        self._run = run
        self._tell = telling
        self._parents = parents
        self._trace_id = trace_id_of(run.trace)
        self._above = parent_run(run.run_id)
        self._root = self._context(root_id(run.run_id))
        self._inner = self._root if self._above else self._context(span_id_of(run.run_id, "lifecycle"))
        self._open_at_kill: set[str] = set()
        self._gets_on = False
        self._repeats: OrderedDict[str, int] = OrderedDict()
        self._open: dict[str, TraceContext] = {}

    def began(self) -> None:
        """This process works on the run from now on."""
        run, metadata = self._run, self._metadata()
        if self._above is None:
            parent = TraceContext.from_traceparent(run.trace)
            session, user = run.labels.get(_SESSION), run.labels.get(_USER)
            name = f"run-{run.workflow}-{run.run_id}" if run.agent is None else f"task-{run.agent}-{run.run_id}"
            self._tell.trace(
                name, self._root, parent, session_id=session, user_id=user, metadata=metadata, at=run.created_at
            )
            self._tell.start(
                "workflow-lifecycle",
                ObservationType.SPAN,
                self._inner,
                self._root,
                metadata={"run_id": run.run_id, "workflow": run.workflow},
                at=run.created_at,
            )
        else:
            is_plain = run.agent is None
            name = f"sub-workflow-{run.workflow}" if is_plain else f"sub-agent-{run.agent}"
            kind = ObservationType.SPAN if is_plain else ObservationType.AGENT
            self._tell.start(name, kind, self._root, self._parent(self._above), metadata=metadata, at=run.created_at)
        for context in {self._root.span_id: self._root, self._inner.span_id: self._inner}.values():
            self.go_on(context)

    def ended(self, status: str, error: BaseException | None) -> None:
        """This process no longer works on the run."""
        end = self.end_of(status)
        if end == "error" and error is not None:
            for context in {self._inner.span_id: self._inner, self._root.span_id: self._root}.values():
                self._tell.failed(context, type(_cause(error)).__name__, str(error))
        if self._inner is not self._root:
            self._tell.end(self._inner, end)
        self._tell.end(self._root, end)
        if end != "suspended":
            self._parents.forget(self._run.run_id)

    def step(self, name: str, value: object, context: StepContext) -> AbstractContextManager[object] | None:  # noqa: ARG002  # states are told of agents only
        """A step begins."""
        run = self._run
        begin = partial(self._tell.start, f"step-{name}", ObservationType.SPAN)
        metadata: dict[str, JsonValue] = {"run_id": run.run_id, "workflow": run.workflow, "path": context.path}
        return self.leaf(context.place, self._inner, context, begin, metadata=metadata)

    def resumed(self, places: Sequence[str]) -> None:
        """A fan-out goes on: if a process was killed, it worked on these items."""
        if self._run.killed:
            self._open_at_kill.update(places)

    def child(self, run_id: str, context: StepContext) -> None:
        """A step is about to start a run."""
        self._parents.note(run_id, self._open.get(context.place, self._inner))

    def leaf(
        self,
        key: str,
        parent: TraceContext,
        context: StepContext,
        begin: Callable[..., None],
        *,
        metadata: dict[str, JsonValue],
    ) -> Leaf:
        """What is observed once, and if it is repeated, again with another id.

        Args:
            key: Names it within the run.
            parent: What it belongs below.
            context: The step that it is in.
            begin: Tells the provider.
            metadata: What is known of it.
        """
        run, place = self._run, context.place
        if run.killed and not self._gets_on:
            self._open_at_kill.add(place)
        if place in self._open_at_kill and key not in self._repeats:
            self._interrupt(key, parent, begin, metadata)
        own = self._context(self._leaf_id(key, run.epoch, self._repeats.get(key, 0)))
        begin(context=own, parent=parent, metadata=metadata)
        self._open[place] = own
        return Leaf(self._tell, own, context, partial(self._leave, key, place))

    def go_on(self, context: TraceContext) -> None:
        """Say so of what is started again by another process, or after a wait."""
        run = self._run
        if run.epoch > 1:
            self._tell.event(context, "recovered" if run.killed else "resumed", {"epoch": run.epoch})

    def end_of(self, status: str) -> ObservationStatus:
        """How what stands for the whole run ends in this process."""
        if status == "open" and self._run.epoch == 0:  # in memory, where no process goes on with it
            return "cancelled"
        return _ENDS.get(status, "suspended")

    def _interrupt(
        self, key: str, parent: TraceContext, begin: Callable[..., None], metadata: dict[str, JsonValue]
    ) -> None:
        """End what was under way when the process before this one was killed; that one has done so for those before."""
        before = self._context(self._leaf_id(key, self._run.epoch - 1, 0))
        begin(context=before, parent=parent, metadata=metadata, at=self._run.saved_at)
        self._tell.end(before, "interrupted")

    def _leave(self, key: str, place: str) -> None:
        """A leaf has ended; if it is repeated in this process, it gets another id."""
        self._gets_on = True
        self._open.pop(place, None)
        self._repeats[key] = self._repeats.pop(key, 0) + 1
        while len(self._repeats) > _REMEMBERED:
            self._repeats.popitem(last=False)

    def _leaf_id(self, key: str, epoch: int, times: int) -> str:
        return span_id_of(self._run.run_id, "step", key, epoch, times)

    def _parent(self, above: str) -> TraceContext:
        """What the run belongs below, if a step has started it."""
        known = self._parents.of(self._run.run_id)
        if known is not None:
            return known
        call = None if self._run.call is None else _CALL.fullmatch(self._run.call)
        if call is not None:
            return self._context(iteration_id(above, int(call[1])))
        return self._context(root_id(above))

    def _context(self, span_id: str) -> TraceContext:
        return TraceContext(self._trace_id, span_id)

    def _metadata(self) -> dict[str, JsonValue]:
        run = self._run
        metadata: dict[str, JsonValue] = {"run_id": run.run_id, "workflow": run.workflow, "epoch": run.epoch}
        if run.agent is not None:
            metadata["agent"] = run.agent
        if run.labels:
            metadata["labels"] = dict(run.labels)
        return metadata


def _cause(error: BaseException) -> BaseException:
    """What has made patterns fail: what they raise only says where."""
    while isinstance(error, PatternError) and error.__cause__ is not None:
        error = error.__cause__
    return error
