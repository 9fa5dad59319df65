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

from ._errors._context import CompactionFailed, ContextTooLong, InvalidCompaction
from ._errors._definition import (
    InvalidAgent,
    InvalidAgentData,
    InvalidHook,
    InvalidRequest,
    InvalidSettings,
    InvalidTool,
    ModelMissing,
    NamesMissing,
    ToolUnavailable,
    UnknownAgent,
)
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
