"""Handing a conversation over: the tool, and which agents may have a conversation.

A run has one transcript, one budget, and one agent at a time that has the conversation, its *holder*: first the agent
that was asked, then whoever it was handed over to. Who that is stands in the state of the run, and changes in the
commit of the results of the answer that asked for it. So whatever that answer called besides is done before, and every
call has its result.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, NoReturn, TypeAlias

from stagepost.hub import check_name
from stagepost.workflows import StepContext

from .._definition._definition import AgentDefinition
from .._models._messages import ChatMessage
from .._tools._context import ToolContext
from .._tools._returned import ToolResult
from .._tools._tool import Tool, tool
from .._tools._toolbox import TOOLBOX
from ..errors import InvalidAgent, InvalidTool
from ._calls import Aside, PendingCall

HandoffFilter: TypeAlias = Callable[[Sequence[ChatMessage]], Sequence[ChatMessage]]
"""Returns what the next agent sees of a transcript."""

_SECOND: Final = (
    "nothing was handed over: another call of the same answer does that, and one agent has the conversation"
)


class Handoff(Tool[..., object]):
    """A tool that hands the conversation over to another agent, made by `handoff`.

    Attributes:
        target: The agent, or its name.
        filter: What the agent sees of the transcript up to here; None for all of it.
        limit: How often a run may be handed over before this tool refuses.
    """

    brings_agent: ClassVar[bool] = True

    target: AgentDefinition | str
    filter: HandoffFilter | None
    limit: int

    def __init__(
        self,
        target: AgentDefinition | str,
        *,
        name: str,
        description: str,
        filter: HandoffFilter | None,  # noqa: A002  # the word for it
        limit: int,
        needs_approval: bool,
    ) -> None:
        shape = tool(name=name, description=description, idempotent=True, retries=None)(_shape)
        super().__init__(**{**vars(shape), "function": _alone, "needs_approval": needs_approval})
        vars(self).update(target=target, filter=filter, limit=limit, _known={})

    @property
    def target_name(self) -> str:
        """Name of the agent."""
        return self.target if isinstance(self.target, str) else self.target.name

    @property
    def hands_over_to(self) -> AgentDefinition | str:
        """The agent, as far as it is known."""
        known: Mapping[str, AgentDefinition] = vars(self)["_known"]
        return known.get(self.target_name, self.target)

    def among(self, known: Mapping[str, AgentDefinition]) -> "Handoff":
        """The same tool; it finds its agent by name.

        Args:
            known: Agents by name. They are looked up when a run needs them, so they may hand over to each other.
        """
        made = Handoff.__new__(Handoff)
        vars(made).update(vars(self), _known=known)
        return made

    async def hand_over(self, by: str, context: StepContext, aside: Aside) -> ToolResult:
        """Make a call: the agent has the conversation once the result of the call is saved."""
        context.memo.pop(TOOLBOX, None)  # the next agent has other tools
        aside.handoff = {"agent": self.target_name, "by": by, "tool": self.name}
        return ToolResult(f"{self.target_name} has the conversation now")


def handoff(
    agent: AgentDefinition | str,
    *,
    description: str | None = None,
    name: str | None = None,
    filter: HandoffFilter | None = None,  # noqa: A002  # the word for it
    limit: int = 10,
    needs_approval: bool = False,
) -> Handoff:
    """Let a model hand the whole conversation over to another agent: an element of ``tools=``.

    ::

        refunds = Agent("refunds", "Refund what was bought.", model=…, tools=[pay_back, handoff("triage")])
        triage = Agent("triage", "Find out what it is about.", model=…, tools=[handoff(refunds)])

    The other agent continues the same run, with its own prompt, model and tools: it sees what was said, and answers
    the user. So do follow-ups and later messages of a conversation, until it hands over itself. An agent that keeps the
    conversation, and only asks another one, has it in ``sub_agents=`` or as `AgentTool`.

    Args:
        agent: The agent; or the name of one that the conversation can come to, also that it comes from, or of one of
            the same `Agents`. Agents that hand over to each other have the same ``output=``, and the same ``input=`` as
            the agent that is asked first, or none.
        description: What the model has to know about it; by default the agent's description.
        name: The tool's name; by default ``transfer_to_`` and the agent's name.
        filter: A function from the transcript so far to what the agent sees of it. What is stored stays whole.
        limit: How often a run may be handed over; then the tool refuses, and the model is told.
        needs_approval: Whether each call needs a person's approval.

    Raises:
        InvalidTool: It is neither an agent nor a name, or an option is wrong.
    """
    target = agent if isinstance(agent, str) else getattr(agent, "name", None)
    own = f"transfer_to_{target}" if name is None else name
    if not isinstance(target, str):
        raise InvalidTool(own, f"{agent!r:.80} is not an agent: give an agent or its name")
    if limit < 1 or not (filter is None or callable(filter)):
        raise InvalidTool(
            own, "limit= is at least 1, and filter= a function from the transcript to what is shown of it"
        )
    check_name("agent name", target)
    about = (getattr(agent, "description", "") or "") if description is None else description
    told = f"Hand the conversation over to {target}, who answers the user from then on. {about}".strip()
    return Handoff(agent, name=own, description=told, filter=filter, limit=limit, needs_approval=needs_approval)


def handoffs_of(agent: AgentDefinition) -> Mapping[str, Handoff]:
    """The handoffs of an agent, by the tools' names."""
    return {tool.name: tool for tool in agent.tools if isinstance(tool, Handoff)}


def group_of(agent: AgentDefinition, *, is_whole: bool = True) -> Mapping[str, AgentDefinition]:
    """The agents that may have a conversation that an agent begins, by name, the agent itself first.

    Args:
        agent: The agent.
        is_whole: Whether names that nobody has are errors.

    Raises:
        InvalidAgent: A name is unknown, two agents have one name, or they do not fit together.
    """
    group: dict[str, AgentDefinition] = {agent.name: agent}
    names: list[tuple[AgentDefinition, str]] = []
    waiting = [agent]
    while waiting:
        giver = waiting.pop(0)
        for made in handoffs_of(giver).values():
            taker = made.hands_over_to
            if isinstance(taker, str):
                names.append((giver, taker))
            elif taker.name not in group:
                _check_fit(agent, taker)
                group[taker.name] = taker
                waiting.append(taker)
            elif group[taker.name] is not taker:
                raise InvalidAgent(
                    giver.name, f"it hands over to {taker.name!r}, and another agent there has this name"
                )
    for giver, name in names:
        if is_whole and name not in group:
            raise InvalidAgent(giver.name, _unknown(name, group))
    return group


def checked(pending: Iterable[PendingCall], handoffs: Mapping[str, Handoff], done: int) -> Sequence[PendingCall]:
    """Calls of an answer; those that cannot hand over have a complaint.

    Args:
        pending: The calls.
        handoffs: The agent's handoffs by name.
        done: How often the run was handed over.
    """
    found: list[PendingCall] = []
    is_first = True
    for call in pending:
        tool = handoffs.get(call.name)
        if tool is None:
            found.append(call)
            continue
        complaint = _too_often(tool) if done >= tool.limit else None if is_first else _SECOND
        found.append(call if complaint is None else call._replace(complaint=complaint))
        is_first = False
    return found


def _shape(*, reason: str = "") -> None:
    """What a call looks like.

    Args:
        reason: Why, and what the other agent has to know that was not said yet.
    """


def _alone(context: ToolContext[Any], **_arguments: object) -> NoReturn:
    raise InvalidTool("handoff", f"only a run of an agent can be handed over; {context.agent!r} called it by itself")


def _too_often(tool: Handoff) -> str:
    return f"nothing was handed over: that was done {tool.limit} times already in this run. Answer the user yourself"


def _unknown(name: str, group: Iterable[str]) -> str:
    return (
        f"it hands over to {name!r}, which is only a name, and none of the agents that the conversation can come to "
        f"({', '.join(group)}): give the agent, or put all of them into Agents([…])"
    )


def _check_fit(first: AgentDefinition, taker: AgentDefinition) -> None:
    if taker.output != first.output:
        why = f"{taker.name!r}, to which it hands over, has another output=: whoever asks would not know what comes"
        raise InvalidAgent(first.name, why)
    if taker.input not in (None, first.input):
        why = f"{taker.name!r}, to which it hands over, has another input=, which nobody would fill: leave it out"
        raise InvalidAgent(first.name, why)
