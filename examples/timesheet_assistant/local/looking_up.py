"""The data agent's part: which tool a request needs, and what has come of it. Pure functions."""

import json
from collections.abc import Mapping
from typing import Any, Final

from stagepost.agents import ModelRequest, ToolCall, ToolMessage, call

_TOOLS: Final = frozenset({"hours_logged", "time_entries", "summary"})


def look_up(question: Mapping[str, Any], request: ModelRequest) -> ToolCall:
    """Call a tool; then give what it has returned."""
    wanted = question["data_request"]
    last = request.messages[-1]
    if isinstance(last, ToolMessage):
        return _given(last)
    query = str(wanted.get("query", "hours_logged"))
    if query == "delete":
        return call("delete_entry", entry_id=wanted["entry_id"])
    if query == "projects":
        return call("projects")
    return call(query if query in _TOOLS else "hours_logged", period=wanted.get("period", "this_week"))


def _given(result: ToolMessage) -> ToolCall:
    if result.is_error and not result.text.startswith("denied"):
        return call("return", success=False, error=result.text, tools_used=[result.tool])
    data: object = {"done": result.text} if not result.text.startswith("{") else json.loads(result.text)
    return call("return", success=True, data=data, tools_used=[result.tool])
