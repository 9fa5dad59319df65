"""What can go wrong with an agent.

::

    AgentError
    ├── InvalidAgent(ValueError)    an agent is defined wrong; raised where it is built
    ├── InvalidTool(ValueError)     a function cannot be a tool as it is written
    ├── ModelMissing                an agent is to run and has no model
    ├── InvalidRequest(ValueError)  an agent was asked with something that is not its input
    ├── BudgetExceeded              a run needs more turns, tool calls or tokens than it may have
    ├── AgentGaveUp                 the model has called `fail`, and said why
    ├── AgentFailed                 a run in memory ended with an error of something else; the cause says of what
    └── ScriptEnded                 a scripted model was asked more often than its script has answers
"""

__all__ = [
    "AgentError",
    "AgentFailed",
    "AgentGaveUp",
    "BudgetExceeded",
    "InvalidAgent",
    "InvalidRequest",
    "InvalidTool",
    "ModelMissing",
    "ScriptEnded",
]


class AgentError(Exception):
    """Root of all errors of this layer."""


class InvalidAgent(AgentError, ValueError):
    """An agent is defined wrong.

    Attributes:
        agent: Its name.
        why: What is wrong, and what to do about it.
    """

    def __init__(self, agent: str, why: str) -> None:
        super().__init__(f"agent {agent!r}: {why}")
        self.agent = agent
        self.why = why


class InvalidTool(AgentError, ValueError):
    """A function cannot be a tool as it is written.

    Attributes:
        tool: The tool's name, or the function's representation where it has none.
        why: What is wrong, and what to do about it.
    """

    def __init__(self, tool: str, why: str) -> None:
        super().__init__(f"tool {tool!r}: {why}")
        self.tool = tool
        self.why = why


class ModelMissing(AgentError):
    """An agent is to run and has no model.

    Attributes:
        agent: Its name.
    """

    def __init__(self, agent: str) -> None:
        super().__init__(f"agent {agent!r} has no model: give it one with model=, or one to run(request, model=…)")
        self.agent = agent


class InvalidRequest(AgentError, ValueError):
    """An agent was asked with something that is not its input.

    Attributes:
        agent: Its name.
        why: What is wrong with the request, and what to ask with.
    """

    def __init__(self, agent: str, why: str) -> None:
        super().__init__(f"agent {agent!r} cannot be asked so: {why}")
        self.agent = agent
        self.why = why


class BudgetExceeded(AgentError):
    """A run needs more than its budget. What it has done so far is kept: a larger budget lets it go on.

    Attributes:
        agent: Name of the agent.
        budget: What has run out: ``"turns"``, ``"tool_calls"`` or ``"tokens"``.
        limit: How much there was of it.
        used: How much the run has used or asked for.
    """

    def __init__(self, agent: str, budget: str, *, limit: int, used: int) -> None:
        super().__init__(
            f"agent {agent!r} needs more than its budget of {limit} {budget.replace('_', ' ')} ({used} so far): "
            f"raise it with budget=Budget({budget}=…), or ask for less",
        )
        self.agent = agent
        self.budget = budget
        self.limit = limit
        self.used = used


class AgentFailed(AgentError):
    """A run in memory ended with an error that is none of this layer: its model's, for one.

    Attributes:
        agent: Name of the agent.
    """

    def __init__(self, agent: str, cause: BaseException) -> None:
        super().__init__(f"agent {agent!r} failed: {type(cause).__name__}: {cause}")
        self.agent = agent


class AgentGaveUp(AgentError):
    """The model has said that it cannot do what was asked.

    Attributes:
        agent: Name of the agent.
        reason: Why, in the model's words.
    """

    def __init__(self, agent: str, reason: str) -> None:
        super().__init__(f"agent {agent!r} has given up: {reason}")
        self.agent = agent
        self.reason = reason


class ScriptEnded(AgentError):
    """A scripted model was asked more often than its script has answers.

    Attributes:
        answers: How many answers the script has.
        last: Text of the last message that the model got.
    """

    def __init__(self, answers: int, last: str) -> None:
        super().__init__(
            f"the script has {answers} answers, and the model was asked once more, last with {last[:200]!r}: "
            "add an entry to ScriptedModel([…]), or check why the agent has not finished",
        )
        self.answers = answers
        self.last = last
