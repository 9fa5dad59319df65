"""When a run was handed over, as far as its state and its transcript say it."""

from typing import NamedTuple

from .._delegation._handoff import handoffs_of
from .._models._messages import AssistantMessage, ToolMessage
from ._stored import StoredRun
from ._tree import Tree


class HandedAt(NamedTuple):
    """A handoff.

    Attributes:
        place: Of the result of its call.
        agent: Who has the run from there.
        by: Who had it.
    """

    place: int
    agent: str
    by: str


def first_holder(run: StoredRun, start: int, asked: str) -> str:
    """Name of the agent that has a run when it begins, if it is not the one which is asked.

    Args:
        run: The run.
        start: Place of its first own message.
        asked: Name of the agent that is asked.
    """
    handed = run.handed
    if handed is None:
        return ""
    if handed.at <= start:
        holder = handed.agent
    elif handed.times == 1:
        holder = handed.by
    else:
        holder = run.begun_with.get("handoff", {}).get("agent", asked)
    return "" if holder == asked else holder


def handoff_of(tree: Tree, place: int, answer: AssistantMessage, holder: str) -> HandedAt | None:
    """The handoff by the calls of an answer, all of which have their results; None if there was none.

    The state knows the last handoff of the run; one before it is known by its call, if the agent still has the tool.

    Args:
        tree: The run.
        place: Place of the answer.
        answer: The answer.
        holder: Who has the run there, if it is not the agent that was asked.
    """
    handed, end = tree.run.handed, place + len(answer.calls) + 1
    if handed is None or handed.at < end:
        return None
    made = [place + 1 + index for index, _ in enumerate(answer.calls) if _is_made(tree, place + 1 + index)]
    if handed.at == end:
        by_it = [each for each in made if answer.calls[each - place - 1].name == handed.tool]
        return HandedAt((by_it or [end - 1])[0], handed.agent, handed.by)
    agent = tree.agent(holder)
    tools = {} if agent is None else handoffs_of(agent)
    for each in made:
        tool = tools.get(answer.calls[each - place - 1].name)
        if tool is not None:
            return HandedAt(each, tool.target_name, holder or tree.name)
    return None


def _is_made(tree: Tree, place: int) -> bool:
    result = tree.message(place)
    return isinstance(result, ToolMessage) and not result.is_error
