"""What becomes of the calls that an open run has not made yet, when its agents have changed."""

from collections.abc import Iterator, Mapping, Sequence

from stagepost.checkpoint import ItemStatus, Snapshot

from .._context._excerpt import READ_RESULT
from .._delegation._calls import LANE
from .._delegation._state import RunState
from .._tools._toolbox import Toolbox


def foreseen(calls: Sequence[str], holder: str, toolboxes: Mapping[str, Toolbox | None]) -> Iterator[str]:
    """What is to be said of a run: who has it, and which tools its model has called that are there no longer.

    Args:
        calls: The tools whose calls have not ended.
        holder: Name of the agent that has the run.
        toolboxes: By the names of the agents that may have the run: their tools; None if they are not known before.
    """
    if holder not in toolboxes:
        yield f"agent {holder!r} has the conversation and is not defined: the run fails, and can be resumed once it is"
        return
    toolbox = toolboxes[holder]
    known = None if toolbox is None else {READ_RESULT, *(schema.name for schema in toolbox.schemas)}
    for name in dict.fromkeys(calls):
        if known is not None and name not in known:
            yield f"its model has called {name!r}, which agent {holder!r} no longer has: the call is not made"


def pending(snapshot: Snapshot, state: RunState) -> Sequence[str]:
    """Names of the tools whose calls have not ended, of a run that stands where tools are called."""
    if not snapshot.items:
        return [call.name for call in state.last_calls]
    lanes = [LANE.load(item.input) for item in snapshot.items if item.status is not ItemStatus.OK]
    return [call.name for lane in lanes for call in lane]
