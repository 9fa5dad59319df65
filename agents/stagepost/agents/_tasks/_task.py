"""Tasks: runs of agents as their callers see them, as frozen values."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import RunStatus, WaitKind
from stagepost.workflows import PendingWait, RunView

from .._delegation._conversations import Conversation, conversations
from .._delegation._state import RunState
from .._delegation._why import own_error
from .._loop._loop import CALLING, AgentLoop
from .._models._messages import ChatMessage, Usage
from .._models._model import JsonSchema
from .._tools._outside import ASKED


class TaskStatus(StrEnum):
    """The status of a task.

    - ``pending``: it is stored, but nothing is done and nobody works on it yet.
    - ``thinking``: its model is asked, or is to be asked next.
    - ``awaiting_tool``: tools are called, or other agents asked.
    - ``awaiting_approval``: a person has to approve at least one call; others may continue meanwhile.
    - ``awaiting_answer``: somebody outside has to answer at least one call; others may continue meanwhile.
    - ``in_doubt``: nobody knows whether a call was made, and a person has to say; others may continue or wait.
    - ``completed``, ``failed``, ``cancelled``: it has ended.
    """

    PENDING = "pending"
    THINKING = "thinking"
    AWAITING_TOOL = "awaiting_tool"
    AWAITING_APPROVAL = "awaiting_approval"
    AWAITING_ANSWER = "awaiting_answer"
    IN_DOUBT = "in_doubt"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_open(self) -> bool:
        """Whether the task has not ended."""
        return self not in (TaskStatus.COMPLETED, TaskStatus.FAILED, TaskStatus.CANCELLED)


@dataclass(frozen=True, slots=True)
class PendingApproval:
    """A call that needs a person's approval.

    Attributes:
        id: For `Tasks.decide`.
        task_id: The task; for a sub-agent's call that of the root agent.
        agent: Name of the agent that wants it.
        tool: Name of the tool.
        arguments: The arguments of the call, as JSON values.
        rule: Why it waits: the matching rule, or ``"needs_approval"``.
        opened_at: Since when it waits (UTC).
        due_at: When it is denied automatically (UTC); None for never.
    """

    id: str
    task_id: str
    agent: str
    tool: str
    arguments: Mapping[str, Any]
    rule: str
    opened_at: datetime
    due_at: datetime | None


@dataclass(frozen=True, slots=True)
class PendingQuestion:
    """A call that waits for a value from outside: one of an external tool, or one whose MCP server asks something.

    Attributes:
        id: For `Tasks.answer`.
        task_id: The task; for a sub-agent's call that of the root agent.
        agent: Name of the agent that wants it.
        tool: Name of the tool.
        arguments: The arguments of the call, as JSON values.
        schema: JSON schema of the value.
        message: What is asked, if the arguments do not say it.
        server: Name of the MCP server that asks; None if it is an external tool.
        opened_at: Since when it waits (UTC).
        due_at: When the model is told that nobody has answered (UTC); None for never.
        refused: Why the last answer was not taken, if there was one.
        url: Where a person has to go; answer with None once that is done. None if a value is wanted.
    """

    id: str
    task_id: str
    agent: str
    tool: str
    arguments: Mapping[str, Any]
    schema: JsonSchema
    message: str
    server: str | None
    opened_at: datetime
    due_at: datetime | None
    refused: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class CallInDoubt:
    """A call that a process started and no process saw the end of: it may or may not have taken effect.

    Only calls of tools with ``on_unknown="park"`` wait for a person; for others the model is told that nobody knows.

    Attributes:
        id: For `Tasks.settle`.
        task_id: The task; for a sub-agent's call that of the root agent.
        agent: Name of the agent that wants it.
        tool: Name of the tool.
        arguments: What the tool was called with, as JSON values, three stars in the place of secrets.
        opened_at: Since when it waits for word (UTC); the call was begun before.
    """

    id: str
    task_id: str
    agent: str
    tool: str
    arguments: Mapping[str, Any]
    opened_at: datetime


@dataclass(frozen=True, slots=True)
class Task:
    """A snapshot of a run of an agent.

    Attributes:
        id: The run's id.
        agent: Name of the agent that has it: the one that was asked, until it hands over.
        status: Where it stands.
        messages: The saved transcript, without the prompt. An answer in progress is not included, nor are results of
            tools before all calls of one answer have theirs.
        output: The final answer; None until there is one.
        error: Why it has failed; None if it has not.
        usage: Tokens and US dollars, including those of sub-agents that have answered.
        turns: How often its model has answered.
        conversations: Those with sub-agents.
        approvals: Calls that need approval, including those of sub-agents.
        doubts: Calls in doubt, including those of sub-agents.
        questions: Calls that wait for a value from outside, including those of sub-agents.
        created_at: When it was started (UTC).
        finished_at: When it ended (UTC).
    """

    id: str
    agent: str
    status: TaskStatus
    messages: Sequence[ChatMessage] = field(repr=False)
    output: Any
    error: str | None
    usage: Usage
    turns: int
    conversations: Sequence[Conversation] = field(repr=False)
    approvals: Sequence[PendingApproval]
    doubts: Sequence[CallInDoubt]
    created_at: datetime
    finished_at: datetime | None
    questions: Sequence[PendingQuestion] = ()


# The rules, the first that fits counts. An end stands above all. What a person can do something about stands above what
# goes on by itself beside it, and a doubt above an approval: time decides of that, of a doubt nobody else; a call that
# waits for a value may have been approved before. Whether a
# run that has done nothing is pending or thinks is known by who works on it.
_ENDS: Final = {
    RunStatus.COMPLETED: TaskStatus.COMPLETED,
    RunStatus.FAILED: TaskStatus.FAILED,
    RunStatus.DEAD: TaskStatus.FAILED,
    RunStatus.CANCELLED: TaskStatus.CANCELLED,
}


def status_of(
    run: RunStatus, place: str | None, *, is_in_doubt: bool, needs_approval: bool, needs_answer: bool, is_begun: bool
) -> TaskStatus:
    """The status of a task.

    Args:
        run: Where its run stands.
        place: Where the run goes on.
        is_in_doubt: Whether a person has to say what came of a call.
        needs_approval: Whether a person has to allow a call.
        needs_answer: Whether somebody outside has to answer a call.
        is_begun: Whether somebody works on it, or its model has answered at least once.
    """
    if run in _ENDS:
        return _ENDS[run]
    if is_in_doubt:
        return TaskStatus.IN_DOUBT
    if needs_approval:
        return TaskStatus.AWAITING_APPROVAL
    if needs_answer:
        return TaskStatus.AWAITING_ANSWER
    if place in CALLING:
        return TaskStatus.AWAITING_TOOL
    return TaskStatus.THINKING if is_begun else TaskStatus.PENDING


def approval_of(wait: PendingWait, depth: int) -> PendingApproval | None:
    """The call that an agent's run waits for, if it waits for a person.

    Args:
        wait: What the run waits for.
        depth: How many agents stand above the one that waits.
    """
    if wait.kind is not WaitKind.ANSWER or wait.name.startswith(ASKED):
        return None
    return PendingApproval(
        id=wait.id, task_id=_root(wait, depth), **wait.shown, opened_at=wait.opened_at, due_at=wait.due_at
    )


def question_of(wait: PendingWait, depth: int) -> PendingQuestion | None:
    """The call that an agent's run waits for a value of, if it does.

    Args:
        wait: What the run waits for.
        depth: How many agents stand above the one that waits.
    """
    if wait.kind is not WaitKind.ANSWER or not wait.name.startswith(ASKED):
        return None
    told = wait.shown
    return PendingQuestion(
        id=wait.id,
        task_id=_root(wait, depth),
        agent=told["agent"],
        tool=told["tool"],
        arguments=told["arguments"],
        schema=told["schema"],
        message=told.get("message", ""),
        server=told.get("server"),
        opened_at=wait.opened_at,
        due_at=wait.due_at,
        refused=wait.refused or told.get("refused"),
        url=told.get("url"),
    )


def doubt_of(wait: PendingWait, depth: int) -> CallInDoubt | None:
    """The call that an agent's run waits for word of, if it does.

    Args:
        wait: What the run waits for.
        depth: How many agents stand above the one that waits.
    """
    if wait.kind is not WaitKind.EFFECT:
        return None
    return CallInDoubt(id=wait.id, task_id=_root(wait, depth), **wait.shown, opened_at=wait.opened_at)


def _root(wait: PendingWait, depth: int) -> str:
    return wait.run_id.rsplit(".", depth)[0]  # a run's id is that of the run above it, a dot, and a key


def task_of(
    view: RunView,
    loop: AgentLoop,
    *,
    approvals: Sequence[PendingApproval],
    doubts: Sequence[CallInDoubt],
    questions: Sequence[PendingQuestion],
    now: float,
) -> Task:
    """A run of an agent as a task.

    Args:
        view: The run.
        loop: The agent's loop.
        approvals: The calls that it needs approval of.
        doubts: The calls that it is in doubt of.
        questions: What its calls ask people.
        now: Seconds since 1970.
    """
    state = RunState(view.state)
    is_begun = view.is_held or state.spent.turns > 0
    return Task(
        id=view.id,
        agent=loop.holder(view.state),
        status=status_of(
            view.status,
            view.next,
            is_in_doubt=bool(doubts),
            needs_approval=bool(approvals),
            needs_answer=bool(questions),
            is_begun=is_begun,
        ),
        messages=tuple(state.messages),
        output=state.output,
        error=None if view.error is None else own_error(view.error),
        usage=loop.total(view.state).usage,
        turns=state.spent.turns,
        conversations=conversations(state.messages, state.talks, now),
        approvals=approvals,
        doubts=doubts,
        created_at=view.created_at,
        finished_at=view.finished_at,
        questions=questions,
    )
