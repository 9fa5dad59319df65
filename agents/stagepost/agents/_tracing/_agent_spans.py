"""The spans of an agent's run: turns, questions to its model, calls of tools."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from pydantic import JsonValue

from stagepost.workflows import StepContext, TracedRun

from ._ids import iteration_id
from ._leaf import Leaf
from ._observation import ObservationStatus, ObservationType, TraceContext
from ._run_spans import ParentsOfRuns, RunSpans
from ._telling import Telling


class AgentSpans(RunSpans):
    """Traces one run of an agent. Its steps are those of the loop, which tells of them itself.

    Args:
        run: The run.
        telling: Tells the provider.
        parents: What runs belong below that steps have started.
    """

    def __init__(self, run: TracedRun, telling: Telling, parents: ParentsOfRuns) -> None:
        super().__init__(run, telling, parents)
        self._turn: int | None = None
        self._iteration = self._inner
        self._before: object = None

    @property
    def tells_content(self) -> bool:
        """Whether the provider is told what was said."""
        return self._tell.content

    def ended(self, status: str, error: BaseException | None) -> None:
        """This process no longer works on the run."""
        self._end_turn(self.end_of(status))
        super().ended(status, error)

    def step(self, name: str, value: object, context: StepContext) -> None:  # noqa: ARG002  # the loop tells more
        """A step of the loop begins."""
        if self._tell.debug and isinstance(value, Mapping):
            self._before = dict(value)

    def child(self, run_id: str, context: StepContext) -> None:
        """A call is about to start a run: that of another agent stands for the call, below the turn."""
        self._parents.note(run_id, self._open.get(context.place, self._iteration))

    def question(
        self,
        name: str,
        turn: int,
        context: StepContext,
        *,
        model: str,
        messages: Callable[[], Sequence[object]],
        metadata: dict[str, JsonValue],
    ) -> Leaf:
        """A model is about to be asked.

        Args:
            name: Such as ``inference-<AgentName>``.
            turn: Number of the turn, from 0.
            context: The step.
            model: Name of the model.
            messages: What it is asked, if the provider is to know it.
            metadata: What else is known.
        """
        self._begin_turn(turn)
        said = messages() if self._tell.content else ()
        ask = partial(self._tell.ask, name, model=model, messages=said)
        given: dict[str, JsonValue] = {**self._about(turn), **metadata}
        return self.leaf(f"{name} {turn}", self._iteration, context, ask, metadata=given)

    def call(
        self, tool: str, number: str, context: StepContext, *, arguments: object, metadata: dict[str, JsonValue]
    ) -> Leaf:
        """A tool is about to be called.

        Args:
            tool: Its name.
            number: That of the call: turn and index.
            context: The step.
            arguments: What it is called with.
            metadata: What else is known.
        """
        turn = int(number.partition("-")[0])
        self._begin_turn(turn)
        begin = partial(self._tell.start, f"tool-{tool}", ObservationType.TOOL, input_data=arguments)
        given: dict[str, JsonValue] = {**self._about(turn), "tool": tool, "call": number, **metadata}
        return self.leaf(f"call {number}", self._iteration, context, begin, metadata=given)

    def delegated(self, number: str) -> None:
        """A call is about to be made whose work is a run of its own, which stands for it."""
        self._begin_turn(int(number.partition("-")[0]))

    def _begin_turn(self, turn: int) -> None:
        """A turn begins, unless it is under way."""
        if turn == self._turn:
            return
        is_first = self._turn is None
        self._end_turn("ok")
        self._turn = turn
        self._iteration = TraceContext(self._root.trace_id, iteration_id(self._run.run_id, turn))
        goes_on = is_first and self._run.epoch > 1
        self._tell.start(
            f"iteration-{turn}",
            ObservationType.SPAN,
            self._iteration,
            self._inner,
            metadata=self._about(turn),
            at=self._run.saved_at if goes_on else None,
        )
        if goes_on:
            self.go_on(self._iteration)
        if self._before is not None:
            self._tell.state(self._iteration, self._before)
            self._before = None

    def _end_turn(self, status: ObservationStatus) -> None:
        if self._turn is not None:
            self._tell.end(self._iteration, status)
            self._turn, self._iteration = None, self._inner

    def _about(self, turn: int) -> dict[str, JsonValue]:
        return {"run_id": self._run.run_id, "workflow": self._run.workflow, "turn": turn}
