"""The errors of tasks and conversations."""

from ._root import AgentError


class NotAnAgent(AgentError, TypeError):
    """A workflow, or its run, does not belong to an agent.

    Attributes:
        workflow: Name of the workflow.
        run_id: The run; None if it is about the workflow itself.
    """

    def __init__(self, workflow: str, run_id: str | None = None) -> None:
        what = f"workflow {workflow!r}" if run_id is None else f"run {run_id!r} of workflow {workflow!r}"
        super().__init__(f"{what} does not belong to an agent: use the runner itself for it, or name an agent")
        self.workflow = workflow
        self.run_id = run_id


class NobodyToAsk(AgentError):
    """A run in memory makes a call that needs approval.

    Attributes:
        agent: Name of the agent.
        tool: Name of the tool.
        rule: The rule that matches the call.
    """

    def __init__(self, agent: str, tool: str, rule: str) -> None:
        super().__init__(
            f"agent {agent!r} wants to call {tool!r}, which needs a person's approval ({rule}), and in memory nobody "
            'can be asked: give run(…, approve=…), an async function that returns Allow() or Deny("why"), or run it on '
            "a Runner, where the call waits for Tasks(runner).decide(…)",
        )
        self.agent = agent
        self.tool = tool
        self.rule = rule


class NobodyToAnswer(AgentError):
    """A run in memory makes a call that somebody outside has to answer.

    Attributes:
        agent: Name of the agent; empty if the tool was called without one.
        tool: Name of the tool.
    """

    def __init__(self, agent: str, tool: str) -> None:
        who = f"agent {agent!r} calls {tool!r}" if agent else f"{tool!r} was called"
        super().__init__(
            f"{who}, which somebody outside has to answer, and in memory nobody can: run the agent on a Runner, where "
            "the call waits for Tasks(runner).answer(…)"
        )
        self.agent = agent
        self.tool = tool


class InvalidDecision(AgentError, TypeError):
    """A decision about a call is neither `Allow` nor `Deny`.

    Attributes:
        decision: The value given.
    """

    def __init__(self, decision: object, where: str) -> None:
        super().__init__(f'{where} is to be Allow(), Allow(arguments={{…}}) or Deny("why"), and not {decision!r}')
        self.decision = decision


class TaskFinished(AgentError):
    """A task has ended, and takes no more messages.

    Attributes:
        task_id: The task.
        status: How its run ended.
    """

    def __init__(self, task_id: str, status: str) -> None:
        super().__init__(f"task {task_id!r} has ended ({status}): follow_up({task_id!r}, …) asks more of it")
        self.task_id = task_id
        self.status = status


class TaskNotFinished(AgentError):
    """A task is running, and cannot be followed up yet.

    Attributes:
        task_id: The task.
        status: The status of its run.
    """

    def __init__(self, task_id: str, status: str) -> None:
        super().__init__(
            f"task {task_id!r} has not ended ({status}): tell({task_id!r}, …) reaches it while it is under way, "
            "or cancel it first",
        )
        self.task_id = task_id
        self.status = status


class CallNotInDoubt(AgentError, LookupError):
    """No call with this id is in doubt.

    Attributes:
        doubt_id: The id that was given.
    """

    def __init__(self, doubt_id: str) -> None:
        super().__init__(
            f"no call {doubt_id!r} is in doubt: it never was, somebody has settled it, or its task has ended; "
            "doubts() lists those that are",
        )
        self.doubt_id = doubt_id


class ConversationOver(AgentError):
    """A conversation has ended, and takes no more messages.

    Attributes:
        conversation_id: The conversation.
        why: What has ended it.
    """

    def __init__(self, conversation_id: str, why: str) -> None:
        super().__init__(
            f"conversation {conversation_id!r} is over: {why}; start another one with converse(runner, agent)",
        )
        self.conversation_id = conversation_id
        self.why = why


class PartMissing(AgentError):
    """The bytes of a part are no longer stored, so the model cannot be asked.

    Attributes:
        kind: What it is: ``Image``, ``Audio`` or ``File``.
        digest: SHA-256 of the bytes.
        run_id: The run.
    """

    def __init__(self, kind: str, digest: str, run_id: str) -> None:
        super().__init__(
            f"a message of run {run_id!r} has {kind} with the digest {digest!r}, and no such bytes are stored: the "
            "file was changed by hand, or the part was given by its digest alone; ask again with the bytes"
        )
        self.kind = kind
        self.digest = digest
        self.run_id = run_id
