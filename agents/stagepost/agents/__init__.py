"""Agents that a language model leads: a prompt, tools, and a loop that survives its process.

Define an `Agent`, run it in memory with `Agent.run`, or serve it on a hub with ``runner.serve(agent)``; there every
answer of the model and every tool's result is saved as it comes, and a killed process is followed by another.
"""

from ._agent import Agent
from ._agent_tool import AgentTool
from ._agents import Agents
from ._approvals import Allow, Approvals, Decision, Deny, Preview
from ._budget import Budget
from ._context import ToolContext
from ._conversations import Conversation, Exchange
from ._converse import OpenConversation, converse
from ._fallback import Fallback
from ._function import FunctionModel, ModelFunction
from ._hooks import ModelHook, ToolHook
from ._invoking import ToolResult
from ._limited import RateLimited
from ._litellm import LiteLLM
from ._llm_tool import LLMTool
from ._mcp import McpConnections, McpOptions, McpServer
from ._messages import AssistantMessage, ChatMessage, SystemMessage, ToolCall, ToolMessage, Usage, UserMessage
from ._model import JsonSchema, Model, ModelRequest, ModelResponse, OutputSchema, Token, ToolSchema
from ._prompting import PromptContext, PromptFunction
from ._replay import ReplayModel
from ._result import AgentResult
from ._retries import Retries
from ._scripted import ScriptedModel, ScriptEntry, call
from ._session import Approve
from ._task import PendingApproval, Task, TaskStatus
from ._tasks import Tasks
from ._tool import OnUnknown, Tool, tool
from .errors import (
    AgentError,
    AgentFailed,
    AgentGaveUp,
    AllModelsFailed,
    AnswerCut,
    AnswerTooLong,
    AsyncioRequired,
    BudgetExceeded,
    ContentRefused,
    ConversationOver,
    InfrastructureError,
    InvalidAgent,
    InvalidAgentData,
    InvalidHook,
    InvalidModel,
    InvalidRequest,
    InvalidServer,
    InvalidTool,
    McpCallFailed,
    McpCallLost,
    McpError,
    McpUnavailable,
    ModelError,
    ModelMissing,
    ModelRejected,
    ModelTimeout,
    ModelUnavailable,
    NobodyToAsk,
    NotAnAgent,
    PromptFailed,
    RateLimitReached,
    RecordingMissing,
    ScriptEnded,
    TaskFinished,
    TaskNotFinished,
    ToolClash,
    ToolUnavailable,
    UnknownAgent,
    UnreadableAnswer,
)

__all__ = [
    "Agent",
    "AgentError",
    "AgentFailed",
    "AgentGaveUp",
    "AgentResult",
    "AgentTool",
    "Agents",
    "AllModelsFailed",
    "Allow",
    "AnswerCut",
    "AnswerTooLong",
    "Approvals",
    "Approve",
    "AssistantMessage",
    "AsyncioRequired",
    "Budget",
    "BudgetExceeded",
    "ChatMessage",
    "ContentRefused",
    "Conversation",
    "ConversationOver",
    "Decision",
    "Deny",
    "Exchange",
    "Fallback",
    "FunctionModel",
    "InfrastructureError",
    "InvalidAgent",
    "InvalidAgentData",
    "InvalidHook",
    "InvalidModel",
    "InvalidRequest",
    "InvalidServer",
    "InvalidTool",
    "JsonSchema",
    "LLMTool",
    "LiteLLM",
    "McpCallFailed",
    "McpCallLost",
    "McpConnections",
    "McpError",
    "McpOptions",
    "McpServer",
    "McpUnavailable",
    "Model",
    "ModelError",
    "ModelFunction",
    "ModelHook",
    "ModelMissing",
    "ModelRejected",
    "ModelRequest",
    "ModelResponse",
    "ModelTimeout",
    "ModelUnavailable",
    "NobodyToAsk",
    "NotAnAgent",
    "OnUnknown",
    "OpenConversation",
    "OutputSchema",
    "PendingApproval",
    "Preview",
    "PromptContext",
    "PromptFailed",
    "PromptFunction",
    "RateLimitReached",
    "RateLimited",
    "RecordingMissing",
    "ReplayModel",
    "Retries",
    "ScriptEnded",
    "ScriptEntry",
    "ScriptedModel",
    "SystemMessage",
    "Task",
    "TaskFinished",
    "TaskNotFinished",
    "TaskStatus",
    "Tasks",
    "Token",
    "Tool",
    "ToolCall",
    "ToolClash",
    "ToolContext",
    "ToolHook",
    "ToolMessage",
    "ToolResult",
    "ToolSchema",
    "ToolUnavailable",
    "UnknownAgent",
    "UnreadableAnswer",
    "Usage",
    "UserMessage",
    "call",
    "converse",
    "tool",
]
