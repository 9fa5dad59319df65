"""What can go wrong with an agent.

::

    AgentError
    ├── InvalidAgent(ValueError)    an agent is defined wrong; raised where it is built
    ├── InvalidSettings(ValueError) a setting of a model has a value that it cannot have
    ├── InvalidAgentData(ValueError)    agents cannot be made of data
    ├── UnknownAgent(KeyError)      `Agents` has no agent of this name
    ├── InvalidTool(ValueError)     a function cannot be a tool as it is written
    ├── ToolClash(ValueError)       two tools have one name, and one comes from a server
    ├── ToolUnavailable(ConnectionError)    raised by a tool: what it needs cannot be reached just now
    ├── InvalidHook(TypeError)      a hook has given something that it may not give
    ├── InvalidDecision(TypeError)  what was said to a call that a person has to allow is no decision
    ├── NobodyToAsk                 a run in memory makes a call that a person has to allow
    ├── ModelMissing                an agent is to run and has no model
    ├── InvalidRequest(ValueError)  an agent was asked with something that is not its input
    ├── EventLoopRunning(RuntimeError)  `run_sync` was called where an event loop runs
    ├── PromptFailed                a prompt that is a function has raised an error, or returned no text
    ├── BudgetExceeded              a run needs more turns, tool calls, tokens or money than it may have
    ├── CostUnknown                 a run has a budget for its cost, and nobody knows what it has cost
    ├── ChainedFailure              an agent of a chain has failed; those after it were not asked
    ├── AgentGaveUp                 the model has called `fail`, and said why
    ├── AgentFailed                 a run in memory ended with an error of something else; the cause says of what
    ├── PartMissing                 the bytes of a part are no longer stored
    ├── NotAnAgent(TypeError)       a workflow, or a run of it, is no agent's
    ├── TaskFinished                a task has ended, and can be told nothing more
    ├── TaskNotFinished             a task is under way, and cannot be followed up yet
    ├── CallNotInDoubt(LookupError) nobody waits for word of such a call
    ├── ConversationOver            a conversation has ended, and nothing more can be said in it
    ├── ScriptEnded                 a scripted model was asked more often than its script has answers
    ├── InvalidModel(ValueError)    a model is described wrong
    ├── AsyncioRequired             a model's library runs on asyncio only
    ├── RecordingMissing(LookupError)   a replayed model was asked something that is not recorded
    ├── ModelError                  a model was asked and has given no answer
    │   ├── InfrastructureError         it may answer later, or another one instead
    │   │   ├── RateLimitReached            it was asked too often
    │   │   ├── ModelUnavailable            it cannot be reached, or its provider has failed
    │   │   ├── ModelTimeout(TimeoutError)  it was silent for too long
    │   │   ├── AnswerCut                   its answer ended in the middle
    │   │   ├── UnreadableAnswer            what came is no answer
    │   │   └── AllModelsFailed             one model for another, and none has answered
    │   ├── ModelRejected               its provider refuses the request as it is, or the key
    │   ├── ContentRefused              its provider does not want to answer this
    │   ├── AnswerTooLong               its answer met the limit of tokens
    │   └── UnsupportedPart             it cannot take a picture, a sound or a file of the request
    ├── InvalidServer(ValueError)   an MCP server is described wrong
    └── McpError                    something is wrong with an MCP server
        ├── McpUnavailable(ConnectionError)  it cannot be reached, or not be understood
        ├── McpCallLost(ConnectionError)     it went away while a call was under way
        └── McpCallFailed                    it has answered a call with an error
"""

from collections.abc import Sequence

from ._errors._mcp import InvalidServer, McpCallFailed, McpCallLost, McpError, McpUnavailable, ToolClash
from ._errors._model import (
    AllModelsFailed,
    AnswerCut,
    AnswerTooLong,
    AsyncioRequired,
    ContentRefused,
    InfrastructureError,
    InvalidModel,
    ModelError,
    ModelRejected,
    ModelTimeout,
    ModelUnavailable,
    RateLimitReached,
    RecordingMissing,
    ScriptEnded,
    UnreadableAnswer,
    UnsupportedPart,
)
from ._errors._root import AgentError
from ._errors._run import (
    AgentFailed,
    AgentGaveUp,
    BudgetExceeded,
    ChainedFailure,
    CostUnknown,
    EventLoopRunning,
    PromptFailed,
)
from ._errors._task import (
    CallNotInDoubt,
    ConversationOver,
    InvalidDecision,
    NotAnAgent,
    PartMissing,
    TaskFinished,
    TaskNotFinished,
)

__all__ = [
    "AgentError",
    "AgentFailed",
    "AgentGaveUp",
    "AllModelsFailed",
    "AnswerCut",
    "AnswerTooLong",
    "AsyncioRequired",
    "BudgetExceeded",
    "CallNotInDoubt",
    "ChainedFailure",
    "ContentRefused",
    "ConversationOver",
    "CostUnknown",
    "EventLoopRunning",
    "InfrastructureError",
    "InvalidAgent",
    "InvalidAgentData",
    "InvalidDecision",
    "InvalidHook",
    "InvalidModel",
    "InvalidRequest",
    "InvalidServer",
    "InvalidSettings",
    "InvalidTool",
    "McpCallFailed",
    "McpCallLost",
    "McpError",
    "McpUnavailable",
    "ModelError",
    "ModelMissing",
    "ModelRejected",
    "ModelTimeout",
    "ModelUnavailable",
    "NobodyToAsk",
    "NotAnAgent",
    "PartMissing",
    "PromptFailed",
    "RateLimitReached",
    "RecordingMissing",
    "ScriptEnded",
    "TaskFinished",
    "TaskNotFinished",
    "ToolClash",
    "ToolUnavailable",
    "UnknownAgent",
    "UnreadableAnswer",
    "UnsupportedPart",
]


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


class InvalidSettings(AgentError, ValueError):
    """A setting of a model has a value that it cannot have.

    Attributes:
        setting: Its name.
        value: The value.
        expected: What it may be.
    """

    def __init__(self, setting: str, value: object, expected: str) -> None:
        super().__init__(f"ModelSettings({setting}={value!r}): give {expected}, or leave it out")
        self.setting = setting
        self.value = value
        self.expected = expected


class InvalidAgentData(AgentError, ValueError):
    """Agents cannot be made of data.

    Attributes:
        why: What is wrong, and where in the data.
    """

    def __init__(self, why: str) -> None:
        super().__init__(f"agents cannot be made of this data: {why}")
        self.why = why


class UnknownAgent(AgentError, KeyError):
    """`Agents` has no agent of this name.

    Attributes:
        agent: The name.
        known: The names that it has.
    """

    def __init__(self, agent: str, known: Sequence[str]) -> None:
        super().__init__(agent, known)
        self.agent = agent
        self.known = known

    def __str__(self) -> str:  # `KeyError` would show it as a literal
        return f"there is no agent {self.agent!r}; there are: {', '.join(self.known) or 'none'}"


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


class ToolUnavailable(AgentError, ConnectionError):
    """Raised by a tool: what it needs cannot be reached just now. A tool that is idempotent is called again.

    Attributes:
        why: What cannot be reached, and why; told to the model if the last attempt says it.
        retry_after: Seconds that it wants to be left alone; None if it does not say.
    """

    def __init__(self, why: str, *, retry_after: float | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.retry_after = retry_after


class InvalidHook(AgentError, TypeError):
    """A hook round a model or a tool has given something that it may not give.

    Attributes:
        hook: The method, with its class.
        why: What is wrong, and what to do about it.
    """

    def __init__(self, hook: str, why: str) -> None:
        super().__init__(f"hook {hook}: {why}")
        self.hook = hook
        self.why = why


class ModelMissing(AgentError):
    """An agent is to run and has no model.

    Attributes:
        agent: Its name.
    """

    def __init__(self, agent: str) -> None:
        super().__init__(f"agent {agent!r} has no model: give it one with model=, or one to run(request, model=…)")
        self.agent = agent


class NobodyToAsk(AgentError):
    """A run in memory makes a call that a person has to allow.

    Attributes:
        agent: Name of the agent.
        tool: Name of the tool.
        rule: What makes its calls wait.
    """

    def __init__(self, agent: str, tool: str, rule: str) -> None:
        super().__init__(
            f"agent {agent!r} wants to call {tool!r}, which a person has to allow ({rule}), and in memory nobody can "
            'be asked: give run(…, approve=…), an async function that returns Allow() or Deny("why"), or run it on a '
            "Runner, where the call waits for Tasks(runner).decide(…)",
        )
        self.agent = agent
        self.tool = tool
        self.rule = rule


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
