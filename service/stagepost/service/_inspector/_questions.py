"""What a wait asks of people: which kind of question it is, and what a form needs to answer it."""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from stagepost._dataclasses import dataclass

from .._wire._waits import WaitRow

Kind: TypeAlias = Literal["approval", "question", "value", "effect", "signal", "other"]


@dataclass(frozen=True, slots=True)
class Question:
    """A wait, as people are asked.

    Attributes:
        wait: It.
        kind: An agent's call that needs approval, a question that may be refused, a value, an effect in doubt, a
            signal, or something that nobody can answer.
        agent: The agent that wants to make a call, if one does.
        tool: The tool that it wants to call.
        arguments: The arguments of the call.
        message: What is asked.
        url: Where a person has to go, for what an MCP server asks.
        schema: JSON schema of the value; None for any.
        shown: What else is shown to whoever answers.
    """

    wait: WaitRow
    kind: Kind
    agent: str = ""
    tool: str = ""
    arguments: Any = None
    message: str = ""
    url: str = ""
    schema: Mapping[str, Any] | None = None
    shown: Any = None


def question_of(wait: WaitRow, known: Mapping[str, Any] | None) -> Question:
    """What a wait asks.

    Args:
        wait: It.
        known: JSON schema of what it takes; None if nobody knows.
    """
    told: Mapping[str, Any] = wait.shown if isinstance(wait.shown, dict) else {}
    call: dict[str, Any] = {
        "agent": str(told.get("agent", "")),
        "tool": str(told.get("tool", "")),
        "arguments": told.get("arguments"),
    }
    is_call = {"agent", "tool"} <= told.keys()
    if wait.kind == "effect":
        return Question(wait, "effect", **call) if is_call else Question(wait, "effect", shown=wait.shown)
    if wait.kind == "signal":
        return Question(wait, "signal", schema=known, shown=wait.shown)
    if wait.kind != "answer":
        return Question(wait, "other", shown=wait.shown)
    if not is_call:
        return Question(wait, "value", schema=known, shown=wait.shown)
    if "schema" not in told:
        return Question(wait, "approval", **call)
    url = str(told.get("url") or "")
    is_web = url.startswith(("https://", "http://"))  # a server has sent it, and a browser follows it
    asked: dict[str, Any] = {"message": str(told.get("message") or ""), "url": url if is_web else ""}
    schema = told["schema"] if isinstance(told["schema"], dict) else None
    return Question(wait, "question", schema=schema, **call, **asked)
