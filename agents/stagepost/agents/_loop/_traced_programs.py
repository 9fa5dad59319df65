"""What the loop tells of programs, if its run is traced."""

from stagepost.programs import Outcome, ProgramError, plain
from stagepost.workflows import StepContext

from .._delegation._state import RunState
from .._tracing._agent_spans import AgentSpans
from ._program_facts import data_of


def program_began(source: str, state: RunState, context: StepContext, *, agent: str, turn: int) -> None:
    """A program begins, or goes on; its calls are below it.

    Args:
        source: The program.
        state: The state before it.
        context: The step.
        agent: Name of its agent.
        turn: Number of its turn, from 0.
    """
    tracing = context.tracing
    if isinstance(tracing, AgentSpans):
        known = {"data": data_of(state), "memory": state.memory(agent)} if tracing.tells_state else None
        tracing.program(turn, context, source=source, state=known, metadata={"agent": agent})


def program_ended(outcome: Outcome, error: ProgramError | None, context: StepContext) -> None:
    """A program has ended.

    Args:
        outcome: What it gave.
        error: Why it has failed, or why its value was refused.
        context: The step.
    """
    tracing = context.tracing
    if not isinstance(tracing, AgentSpans):
        return
    said: dict[str, object] = {}
    if tracing.tells_content:
        said = {"value": plain(outcome.value)} if outcome.error is None else {}
        if outcome.prints:
            said["prints"] = list(outcome.prints)
    failed = None if error is None else (error.kind, str(error))
    tracing.program_ended(outcome.end.value, said, failed)
