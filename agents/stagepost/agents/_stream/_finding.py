"""What a stream has to know of the agents that a run belongs to."""

from collections.abc import Mapping, Sequence

from stagepost.workflows import Runner

from .._loop._loop import AgentLoop
from .._output._output import output_of
from ._partial import Form, FormOf
from ._source import LoopOf


def loops_of(runner: Runner) -> LoopOf:
    """Finds the loops of the agents that a runner knows, and remembers those that it has found."""
    known: dict[tuple[str, int], AgentLoop] = {}

    def loop_of(workflow: str, version: int) -> AgentLoop:
        found = known.get((workflow, version))
        if found is not None:
            return found
        loop = runner.workflow(workflow)
        if not isinstance(loop, AgentLoop):
            raise LookupError(workflow)  # noqa: TRY004  # as if it were not there
        known[workflow, version] = loop
        return loop

    return loop_of


def loops_below(root: AgentLoop) -> LoopOf:
    """Finds the loops of an agent and of those below it."""
    known = {loop.name: loop for loop in (root, *root.below)}

    def loop_of(workflow: str, _version: int) -> AgentLoop:
        return known[workflow]

    return loop_of


def forms_of(root: AgentLoop) -> FormOf:
    """Says how an agent and those below it answer, by their paths."""
    forms: Mapping[tuple[str, ...], Form] = {
        tuple(member.path): Form(member.agent.output_mode, output.is_wrapped)
        for loop in (root, *root.below)
        for member in loop.members.values()
        if (output := output_of(member.agent.output)) is not None
    }

    def form_of(path: Sequence[str]) -> Form | None:
        return forms.get(tuple(path))

    return form_of
