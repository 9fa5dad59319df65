"""Agents that a language model leads: a prompt, tools, and a loop that survives its process.

Define an `Agent`, run it in memory with `Agent.run`, or serve it on a hub with ``runner.serve(agent)``; there every
answer of the model and every tool's result is saved as it arrives, and another process can continue after a kill.
"""

from ._agent._agent import Agent
from ._agent._agent_tool import AgentTool
from ._agent._agents import Agents
from ._agent._chain import AgentChain, ChainResult
from ._agent._chain_stream import ChainStream
from ._agent._llm_tool import LLMTool
from ._agent._previewing import PromptPreview
from ._compiled._compiled import CompiledAgent, CompileMetadata
from ._context._compactions import ClearResults, KeepLast, Summarize
from ._context._policy import ContextPolicy
from ._context._window import Compaction, Cut, SummaryBy, Window
from ._definition._approvals import Allow, Approvals, Decision, Deny, Preview
from ._definition._budget import Budget
from ._definition._hooks import ModelContext, ModelHook, ToolHook
from ._definition._progress import ProgressHook, ToolProgress
from ._definition._prompting import PromptContext, PromptFunction
from ._delegation._conversations import Conversation, Exchange
from ._delegation._handoff import Handoff, HandoffFilter, handoff
from ._delegation._result import AgentResult
from ._loop._session import Approve
from ._mcp import (
    AuthorizationBegun,
    AuthorizationCode,
    AuthorizationEnded,
    Authorizations,
    ClientCredentials,
    McpConnections,
    McpOptions,
    McpServer,
    MemoryTokenStore,
    StoredTokens,
    TokenStore,
)
from ._memory._entry import MemoryEntry
from ._memory._memories import Memories
from ._memory._memory import Memory, MemoryAction
from ._models._cached import Cached
from ._models._fallback import Fallback
from ._models._filled_prompt import FilledPrompt, PromptSource
from ._models._function import FunctionModel, ModelFunction
from ._models._limited import RateLimited
from ._models._litellm import LiteLLM
from ._models._messages import (
    AssistantMessage,
    ChatMessage,
    ProviderContent,
    SystemMessage,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)
from ._models._model import JsonSchema, Model, ModelRequest, ModelResponse, OutputSchema, Token, TokenKind, ToolSchema
from ._models._parts import Audio, File, Image, Part
from ._models._provider_tool import ProviderTool, provider_tool
from ._models._replay import ReplayModel
from ._models._scripted import ScriptedModel, ScriptEntry, call
from ._models._settings import ModelSettings, ReasoningEffort, ToolChoice
from ._output._output import OutputMode
from ._prompts._folder import PromptFolder
from ._prompts._langfuse import LangfusePrompts
from ._prompts._prompts import Prompts, PromptVariable
from ._prompts._registry import PromptRegistry, RegisteredPrompt
from ._retries import Retries
from ._stream._dicts import part_from_dict
from ._stream._part import PartKey, StreamPart
from ._stream._parts import (
    AgentFinished,
    AgentStarted,
    Compacted,
    Gap,
    HandedOver,
    MessageSaid,
    PartialOutput,
    TaskCancelled,
    TaskCompleted,
    TaskFailed,
    TokenArrived,
    ToolCalled,
    ToolProgressed,
    ToolReturned,
    TurnBegan,
)
from ._stream._sse import sse
from ._stream._stream import TaskStream
from ._stream._wait_parts import (
    ApprovalAsked,
    ApprovalDecided,
    DoubtRaised,
    DoubtSettled,
    QuestionAnswered,
    QuestionAsked,
)
from ._tasks._converse import OpenConversation, converse
from ._tasks._task import CallInDoubt, PendingApproval, PendingQuestion, Task, TaskStatus
from ._tasks._tasks import Tasks
from ._tools._context import ToolContext
from ._tools._external import ExternalTool, external_tool
from ._tools._invoking import ToolResult
from ._tools._outside import Answer, Dismiss, Refuse
from ._tools._tool import OnUnknown, Tool, tool
from ._tools._toolset import Toolset, ToolsetContext, toolset
from ._tracing._base import BaseTracingProvider
from ._tracing._current import current_trace_context
from ._tracing._langfuse import Langfuse
from ._tracing._log import TraceLog
from ._tracing._noop import NoOpTracingProvider
from ._tracing._observation import ObservationStatus, ObservationType, TraceContext
from ._tracing._otel import OpenTelemetry
from ._tracing._provider import TracingProvider
from ._tracing._pump import TracingStatistics
from ._tracing._recorder import Recorder, TraceMode
from ._tracing._registry import get_tracing_provider, reset_tracing_provider, set_tracing_provider
from ._tracing._span import Span, SpanEvent
from ._tracing._starting import Starting
from ._tracing._telling import ObservedError
from ._tracing._tracing import Tracing
from ._webhooks._keys import WebhookSecret
from ._webhooks._signing import verify_webhook
from ._webhooks._webhook import Webhook, WebhookStatus, WebhookTask
from ._webhooks._webhooks import Webhooks
from .errors import (
    AgentError,
    AgentFailed,
    AgentGaveUp,
    AllModelsFailed,
    AnswerCut,
    AnswerTooLong,
    AsyncioRequired,
    AuthorizationFailed,
    BudgetExceeded,
    CallNotInDoubt,
    ChainedFailure,
    CompactionFailed,
    CompileFailed,
    ContentRefused,
    ContextTooLong,
    ConversationOver,
    CostUnknown,
    EventLoopRunning,
    HandoffFailed,
    InfrastructureError,
    InvalidAgent,
    InvalidAgentData,
    InvalidCompaction,
    InvalidCriteria,
    InvalidCursor,
    InvalidDecision,
    InvalidEvaluation,
    InvalidHook,
    InvalidModel,
    InvalidPart,
    InvalidProgram,
    InvalidPrompt,
    InvalidRequest,
    InvalidServer,
    InvalidSettings,
    InvalidTool,
    InvalidWebhook,
    JournalMismatch,
    McpCallFailed,
    McpCallLost,
    McpError,
    McpUnavailable,
    MemoryUnavailable,
    ModelError,
    ModelMissing,
    ModelRejected,
    ModelTimeout,
    ModelUnavailable,
    NamesMissing,
    NobodyToAnswer,
    NobodyToAsk,
    NotAnAgent,
    NotCompilable,
    PartMissing,
    PromptFailed,
    PromptNotFound,
    PromptsUnavailable,
    RateLimitReached,
    RecordingMissing,
    ScriptEnded,
    StreamNotOver,
    TaskFinished,
    TaskNotFinished,
    ToolClash,
    ToolsetFailed,
    ToolUnavailable,
    UnknownAgent,
    UnreadableAnswer,
    UnsupportedPart,
    UnsupportedTool,
    WebhookNotFound,
    WebhookNotVerified,
    WebhooksNotOpen,
)

__all__ = [
    "Agent",
    "AgentChain",
    "AgentError",
    "AgentFailed",
    "AgentFinished",
    "AgentGaveUp",
    "AgentResult",
    "AgentStarted",
    "AgentTool",
    "Agents",
    "AllModelsFailed",
    "Allow",
    "Answer",
    "AnswerCut",
    "AnswerTooLong",
    "ApprovalAsked",
    "ApprovalDecided",
    "Approvals",
    "Approve",
    "AssistantMessage",
    "AsyncioRequired",
    "Audio",
    "AuthorizationBegun",
    "AuthorizationCode",
    "AuthorizationEnded",
    "AuthorizationFailed",
    "Authorizations",
    "BaseTracingProvider",
    "Budget",
    "BudgetExceeded",
    "Cached",
    "CallInDoubt",
    "CallNotInDoubt",
    "ChainResult",
    "ChainStream",
    "ChainedFailure",
    "ChatMessage",
    "ClearResults",
    "ClientCredentials",
    "Compacted",
    "Compaction",
    "CompactionFailed",
    "CompileFailed",
    "CompileMetadata",
    "CompiledAgent",
    "ContentRefused",
    "ContextPolicy",
    "ContextTooLong",
    "Conversation",
    "ConversationOver",
    "CostUnknown",
    "Cut",
    "Decision",
    "Deny",
    "Dismiss",
    "DoubtRaised",
    "DoubtSettled",
    "EventLoopRunning",
    "Exchange",
    "ExternalTool",
    "Fallback",
    "File",
    "FilledPrompt",
    "FunctionModel",
    "Gap",
    "HandedOver",
    "Handoff",
    "HandoffFailed",
    "HandoffFilter",
    "Image",
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
    "JsonSchema",
    "KeepLast",
    "LLMTool",
    "Langfuse",
    "LangfusePrompts",
    "LiteLLM",
    "McpCallFailed",
    "McpCallLost",
    "McpConnections",
    "McpError",
    "McpOptions",
    "McpServer",
    "McpUnavailable",
    "Memories",
    "Memory",
    "MemoryAction",
    "MemoryEntry",
    "MemoryTokenStore",
    "MemoryUnavailable",
    "MessageSaid",
    "Model",
    "ModelContext",
    "ModelError",
    "ModelFunction",
    "ModelHook",
    "ModelMissing",
    "ModelRejected",
    "ModelRequest",
    "ModelResponse",
    "ModelSettings",
    "ModelTimeout",
    "ModelUnavailable",
    "NamesMissing",
    "NoOpTracingProvider",
    "NobodyToAnswer",
    "NobodyToAsk",
    "NotAnAgent",
    "NotCompilable",
    "ObservationStatus",
    "ObservationType",
    "ObservedError",
    "OnUnknown",
    "OpenConversation",
    "OpenTelemetry",
    "OutputMode",
    "OutputSchema",
    "Part",
    "PartKey",
    "PartMissing",
    "PartialOutput",
    "PendingApproval",
    "PendingQuestion",
    "Preview",
    "ProgressHook",
    "PromptContext",
    "PromptFailed",
    "PromptFolder",
    "PromptFunction",
    "PromptNotFound",
    "PromptPreview",
    "PromptRegistry",
    "PromptSource",
    "PromptVariable",
    "Prompts",
    "PromptsUnavailable",
    "ProviderContent",
    "ProviderTool",
    "QuestionAnswered",
    "QuestionAsked",
    "RateLimitReached",
    "RateLimited",
    "ReasoningEffort",
    "Recorder",
    "RecordingMissing",
    "Refuse",
    "RegisteredPrompt",
    "ReplayModel",
    "Retries",
    "ScriptEnded",
    "ScriptEntry",
    "ScriptedModel",
    "Span",
    "SpanEvent",
    "Starting",
    "StoredTokens",
    "StreamNotOver",
    "StreamPart",
    "Summarize",
    "SummaryBy",
    "SystemMessage",
    "Task",
    "TaskCancelled",
    "TaskCompleted",
    "TaskFailed",
    "TaskFinished",
    "TaskNotFinished",
    "TaskStatus",
    "TaskStream",
    "Tasks",
    "Token",
    "TokenArrived",
    "TokenKind",
    "TokenStore",
    "Tool",
    "ToolCall",
    "ToolCalled",
    "ToolChoice",
    "ToolClash",
    "ToolContext",
    "ToolHook",
    "ToolMessage",
    "ToolProgress",
    "ToolProgressed",
    "ToolResult",
    "ToolReturned",
    "ToolSchema",
    "ToolUnavailable",
    "Toolset",
    "ToolsetContext",
    "ToolsetFailed",
    "TraceContext",
    "TraceLog",
    "TraceMode",
    "Tracing",
    "TracingProvider",
    "TracingStatistics",
    "TurnBegan",
    "UnknownAgent",
    "UnreadableAnswer",
    "UnsupportedPart",
    "UnsupportedTool",
    "Usage",
    "UserMessage",
    "Webhook",
    "WebhookNotFound",
    "WebhookNotVerified",
    "WebhookSecret",
    "WebhookStatus",
    "WebhookTask",
    "Webhooks",
    "WebhooksNotOpen",
    "Window",
    "call",
    "converse",
    "current_trace_context",
    "external_tool",
    "get_tracing_provider",
    "handoff",
    "part_from_dict",
    "provider_tool",
    "reset_tracing_provider",
    "set_tracing_provider",
    "sse",
    "tool",
    "toolset",
    "verify_webhook",
]
