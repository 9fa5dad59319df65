"""The errors of agents.

::

    AgentError
    ├── InvalidAgent(ValueError)    an agent is defined wrongly; raised where it is built
    ├── InvalidSettings(ValueError) a setting of a model has an invalid value
    ├── InvalidAgentData(ValueError)    agents cannot be built from data
    ├── NamesMissing(LookupError)   agents cannot be written as data, as parts of them have no name
    ├── UnknownAgent(KeyError)      `Agents` has no agent of this name
    ├── InvalidTool(ValueError)     a function cannot be a tool as it is written
    ├── ToolClash(ValueError)       two tools have one name, and one comes from a server or a toolset
    ├── ToolsetFailed               a toolset could not give the tools of a turn
    ├── ToolUnavailable(ConnectionError)    raised by a tool: what it needs cannot be reached just now
    ├── InvalidHook(TypeError)      a hook has returned something invalid
    ├── InvalidDecision(TypeError)  a decision about a call is neither Allow nor Deny
    ├── NobodyToAsk                 a run in memory makes a call that needs approval
    ├── NobodyToAnswer              a run in memory makes a call that somebody outside has to answer
    ├── HandoffFailed               the filter of a handoff has raised, or returned no messages
    ├── MemoryUnavailable           an agent uses its memory in a run that has none
    ├── ModelMissing                an agent is to run and has no model
    ├── InvalidRequest(ValueError)  an agent was asked with something that is not its input
    ├── EventLoopRunning(RuntimeError)  `run_sync` was called where an event loop runs
    ├── InvalidCompaction(ValueError)   a setting for what a model sees has an invalid value
    ├── InvalidCriteria(ValueError) a check of answers could never decide anything
    ├── InvalidEvaluation(ValueError)   an evaluation has two agents or cases of one name, or none
    ├── CompactionFailed            a compaction has raised, or returned something invalid
    ├── PromptFailed                a prompt function has raised, or returned no text
    ├── InvalidPrompt(ValueError)   a prompt of a registry has no local text, or an unknown variable
    ├── PromptNotFound(LookupError) a registry has no prompt of this name
    ├── PromptsUnavailable(ConnectionError)     a registry of prompts cannot be reached
    ├── BudgetExceeded              a run exceeds its turns, tool calls, tokens or cost
    ├── CostUnknown                 a run has a cost budget, and its cost is unknown
    ├── ChainedFailure              an agent of a chain has failed; those after it were not asked
    ├── AgentGaveUp                 the model has called `fail`, and said why
    ├── NotCompilable(ValueError)   an agent cannot be compiled; no model was asked
    ├── CompileFailed               the model of an agent has written no program that passes its check
    ├── InvalidProgram(ValueError)  a program has undefined names or unknown tools, or cannot be read
    ├── JournalMismatch             a program that runs again makes other calls than before
    ├── AgentFailed                 a run in memory ended with another error, its cause
    ├── PartMissing                 the bytes of a part are no longer stored
    ├── NotAnAgent(TypeError)       a workflow, or its run, does not belong to an agent
    ├── TaskFinished                a task has ended, and takes no more messages
    ├── TaskNotFinished             a task is running, and cannot be followed up yet
    ├── CallNotInDoubt(LookupError) no call with this id is in doubt
    ├── ConversationOver            a conversation has ended, and takes no more messages
    ├── InvalidPart(ValueError)     data is no part of a stream
    ├── InvalidCursor(ValueError)   a cursor is none of the stream that is to be read after it
    ├── StreamNotOver               a stream is asked for the result before it has told its last part
    ├── ScriptEnded                 a scripted model has no more answers
    ├── InvalidWebhook(ValueError)  the URL or the secret of a webhook cannot be used
    ├── WebhookNotFound(LookupError)    there is no webhook with this id
    ├── WebhooksNotOpen             `Webhooks` was used before it was entered or after it was left
    ├── WebhookNotVerified(ValueError)  a received request is not known to come from whoever has the secret
    ├── InvalidModel(ValueError)    a model is described wrongly
    ├── AsyncioRequired             a model's library runs on asyncio only
    ├── RecordingMissing(LookupError)   a replayed model was asked something that is not recorded
    ├── ModelError                  a model has given no answer
    │   ├── InfrastructureError         it may answer later, or another model may
    │   │   ├── RateLimitReached            it was asked too often
    │   │   ├── ModelUnavailable            it cannot be reached, or its provider failed
    │   │   ├── ModelTimeout(TimeoutError)  it was silent for too long
    │   │   ├── AnswerCut                   its answer ended in the middle
    │   │   ├── UnreadableAnswer            the response is not an answer
    │   │   └── AllModelsFailed             no model of a `Fallback` has answered
    │   ├── ModelRejected               its provider refuses the request, or the key
    │   │   └── ContextTooLong              the prompt is longer than it can read
    │   ├── ContentRefused              the model or its provider refuses to answer
    │   ├── AnswerTooLong               its answer reached the token limit
    │   ├── UnsupportedPart             it cannot take a picture, a sound or a file of the request
    │   └── UnsupportedTool             its provider does not take one of the provider tools
    ├── AuthorizationFailed         a person could not authorize this process at a server
    ├── InvalidServer(ValueError)   an MCP server is described wrongly
    └── McpError                    something is wrong with an MCP server
        ├── McpUnavailable(ConnectionError)  it cannot be reached or understood
        ├── McpCallLost(ConnectionError)     it went away during a call
        └── McpCallFailed                    it has answered a call with an error
"""

from collections.abc import Sequence

from ._errors._context import CompactionFailed, ContextTooLong, InvalidCompaction
from ._errors._handoff import HandoffFailed
from ._errors._mcp import (
    AuthorizationFailed,
    InvalidServer,
    McpCallFailed,
    McpCallLost,
    McpError,
    McpUnavailable,
    ToolClash,
)
from ._errors._memory import MemoryUnavailable
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
    UnsupportedTool,
)
from ._errors._prompt import InvalidPrompt, PromptNotFound, PromptsUnavailable
from ._errors._quality import InvalidCriteria, InvalidEvaluation
from ._errors._root import AgentError
from ._errors._run import (
    AgentFailed,
    AgentGaveUp,
    BudgetExceeded,
    ChainedFailure,
    CompileFailed,
    CostUnknown,
    EventLoopRunning,
    InvalidProgram,
    JournalMismatch,
    NotCompilable,
    PromptFailed,
    ToolsetFailed,
)
from ._errors._stream import InvalidCursor, InvalidPart, StreamNotOver
from ._errors._task import (
    CallNotInDoubt,
    ConversationOver,
    InvalidDecision,
    NobodyToAnswer,
    NobodyToAsk,
    NotAnAgent,
    PartMissing,
    TaskFinished,
    TaskNotFinished,
)
from ._errors._webhook import InvalidWebhook, WebhookNotFound, WebhookNotVerified, WebhooksNotOpen

__all__ = [
    "AgentError",
    "AgentFailed",
    "AgentGaveUp",
    "AllModelsFailed",
    "AnswerCut",
    "AnswerTooLong",
    "AsyncioRequired",
    "AuthorizationFailed",
    "BudgetExceeded",
    "CallNotInDoubt",
    "ChainedFailure",
    "CompactionFailed",
    "CompileFailed",
    "ContentRefused",
    "ContextTooLong",
    "ConversationOver",
    "CostUnknown",
    "EventLoopRunning",
    "HandoffFailed",
    "InfrastructureError",
    "InvalidAgent",
    "InvalidAgentData",
    "InvalidCompaction",
    "InvalidCriteria",
    "InvalidCursor",
    "InvalidDecision",
    "InvalidEvaluation",
    "InvalidHook",
    "InvalidModel",
    "InvalidPart",
    "InvalidProgram",
    "InvalidPrompt",
    "InvalidRequest",
    "InvalidServer",
    "InvalidSettings",
    "InvalidTool",
    "InvalidWebhook",
    "JournalMismatch",
    "McpCallFailed",
    "McpCallLost",
    "McpError",
    "McpUnavailable",
    "MemoryUnavailable",
    "ModelError",
    "ModelMissing",
    "ModelRejected",
    "ModelTimeout",
    "ModelUnavailable",
    "NamesMissing",
    "NobodyToAnswer",
    "NobodyToAsk",
    "NotAnAgent",
    "NotCompilable",
    "PartMissing",
    "PromptFailed",
    "PromptNotFound",
    "PromptsUnavailable",
    "RateLimitReached",
    "RecordingMissing",
    "ScriptEnded",
    "StreamNotOver",
    "TaskFinished",
    "TaskNotFinished",
    "ToolClash",
    "ToolUnavailable",
    "ToolsetFailed",
    "UnknownAgent",
    "UnreadableAnswer",
    "UnsupportedPart",
    "UnsupportedTool",
    "WebhookNotFound",
    "WebhookNotVerified",
    "WebhooksNotOpen",
]


class InvalidAgent(AgentError, ValueError):
    """An agent is defined wrongly.

    Attributes:
        agent: Its name.
        why: What is wrong, and what to do about it.
    """

    def __init__(self, agent: str, why: str) -> None:
        super().__init__(f"agent {agent!r}: {why}")
        self.agent = agent
        self.why = why


class InvalidSettings(AgentError, ValueError):
    """A setting of a model has an invalid value.

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
    """Agents cannot be built from data.

    Attributes:
        why: What is wrong, and where in the data.
    """

    def __init__(self, why: str) -> None:
        super().__init__(f"agents cannot be built from this data: {why}")
        self.why = why


class NamesMissing(AgentError, LookupError):
    """Agents cannot be written as data, because objects of code have no name.

    Attributes:
        missing: All that has none.
    """

    def __init__(self, missing: Sequence[str]) -> None:
        super().__init__(
            f"these have no name, by which data could say them: {'; '.join(missing)}. Give Agents.dump and Agents.load "
            "the same tools=, models=, types= and parts=, with all of them"
        )
        self.missing = tuple(missing)


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

    def __str__(self) -> str:  # `KeyError` would show the message as a literal
        return f"there is no agent {self.agent!r}; there are: {', '.join(self.known) or 'none'}"


class InvalidTool(AgentError, ValueError):
    """A function cannot be a tool as it is written.

    Attributes:
        tool: The tool's name, or the function's representation if it has none.
        why: What is wrong, and what to do about it.
    """

    def __init__(self, tool: str, why: str) -> None:
        super().__init__(f"tool {tool!r}: {why}")
        self.tool = tool
        self.why = why


class ToolUnavailable(AgentError, ConnectionError):
    """Raised by a tool: a resource is unavailable for now. An idempotent tool is called again.

    Attributes:
        why: What cannot be reached, and why; the model is told after the last attempt.
        retry_after: Seconds to wait before the next attempt; None if unknown.
    """

    def __init__(self, why: str, *, retry_after: float | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.retry_after = retry_after


class InvalidHook(AgentError, TypeError):
    """A hook has returned something invalid.

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


class InvalidRequest(AgentError, ValueError):
    """An agent was asked with something that is not its input.

    Attributes:
        agent: Its name.
        why: What is wrong with the request, and what to ask with.
    """

    def __init__(self, agent: str, why: str) -> None:
        super().__init__(f"agent {agent!r} cannot be asked like this: {why}")
        self.agent = agent
        self.why = why
