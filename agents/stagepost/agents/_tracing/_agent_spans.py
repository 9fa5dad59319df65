"""The spans of an agent's run: turns, questions to its model, calls of tools."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from pydantic import JsonValue

from stagepost.workflows import StepContext, TracedRun

from ._ids import iteration_id, span_id_of
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
        self._program: TraceContext | None = None
        self._program_of: int | None = None

    @property
    def tells_state(self) -> bool:
        """Whether the provider is told what was known before turns and programs."""
        return self._tell.debug

    def hide_fields(self) -> None:
        """From now on nobody is told what is under names that begin with ``_``."""
        self._tell.hides = True

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
        self._parents.note(run_id, self._open.get(context.place, self._program or self._iteration))

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
        parent = self._program if self._program is not None and self._program_of == turn else self._iteration
        return self.leaf(f"call {number}", parent, context, begin, metadata=given)

    def program(
        self, turn: int, context: StepContext, *, source: str | None, state: object, metadata: dict[str, JsonValue]
    ) -> None:
        """A program begins, or goes on with what it has called; its calls are below it until it ends.

        Args:
            turn: Number of its turn, from 0.
            context: The step.
            source: The program; None if it was told before.
            state: What it begins with, for those who debug; None to tell nothing.
            metadata: What else is known.
        """
        self.hide_fields()
        self._begin_turn(turn)
        if self._program is not None:
            return
        run = self._run
        self._program_of = turn
        self._program = TraceContext(self._root.trace_id, span_id_of(run.run_id, "program", turn))
        given: dict[str, JsonValue] = {**self._about(turn), "path": context.path, **metadata}
        kind = ObservationType.SPAN
        self._tell.start("program", kind, self._program, self._iteration, metadata=given, input_data=source)
        if state is not None:
            self._tell.state(self._program, state)

    def program_ended(self, end: str, said: Mapping[str, object], failed: tuple[str, str] | None) -> None:
        """A program has ended.

        Args:
            end: How, in a word.
            said: What it gave and printed.
            failed: The kind of its error and its text; None if it has none.
        """
        if self._program is None:
            return
        self._tell.event(self._program, "ended", {"end": end})
        if failed is not None:
            self._tell.failed(self._program, *failed)
        self._tell.end(self._program, "ok" if failed is None else "error", output_data=said or None)
        self._program, self._program_of = None, None

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
        if self._program is not None:  # the run has stopped within it
            self._tell.end(self._program, status)
            self._program, self._program_of = None, None
        if self._turn is not None:
            self._tell.end(self._iteration, status)
            self._turn, self._iteration = None, self._inner

    def _about(self, turn: int) -> dict[str, JsonValue]:
        return {"run_id": self._run.run_id, "workflow": self._run.workflow, "turn": turn}
