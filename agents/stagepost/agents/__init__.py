"""Agents that a language model leads: a prompt, tools, and a loop that survives its process.

Define an `Agent`, run it in memory with `Agent.run`, or serve it on a hub with ``runner.serve(agent)``; there every
answer of the model and every tool's result is saved as it comes, and a killed process is followed by another.
"""

from ._agent import Agent
from ._budget import Budget
from ._context import ToolContext
from ._messages import AssistantMessage, ChatMessage, SystemMessage, ToolCall, ToolMessage, Usage, UserMessage
from ._model import JsonSchema, Model, ModelRequest, ModelResponse, OutputSchema, ToolSchema
from ._result import AgentResult
from ._scripted import ScriptedModel, ScriptEntry, call
from ._tool import Tool, tool
from .errors import (
    AgentError,
    AgentFailed,
    AgentGaveUp,
    BudgetExceeded,
    InvalidAgent,
    InvalidRequest,
    InvalidTool,
    ModelMissing,
    ScriptEnded,
)

__all__ = [
    "Agent",
    "AgentError",
    "AgentFailed",
    "AgentGaveUp",
    "AgentResult",
    "AssistantMessage",
    "Budget",
    "BudgetExceeded",
    "ChatMessage",
    "InvalidAgent",
    "InvalidRequest",
    "InvalidTool",
    "JsonSchema",
    "Model",
    "ModelMissing",
    "ModelRequest",
    "ModelResponse",
    "OutputSchema",
    "ScriptEnded",
    "ScriptEntry",
    "ScriptedModel",
    "SystemMessage",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolMessage",
    "ToolSchema",
    "Usage",
    "UserMessage",
    "call",
    "tool",
]
