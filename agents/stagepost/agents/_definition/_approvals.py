"""Approvals: which tool calls need a person's approval, and the decisions. Data and pure functions."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Discriminator, JsonValue
from pydantic_core import from_json, to_json

from stagepost._dataclasses import dataclass
from stagepost.hub import Duration, seconds

from .._models._messages import Text, ToolCall
from .._tools._globs import first_match, matches, read_globs
from .._tools._tool import Tool

_WEEK: Final = timedelta(days=7)
_MARK: Final = "needs_approval"

APPROVE: Final = "approve-"  # how the keys of questions for approval begin


class Allow(BaseModel):
    """The call may be made.

    Attributes:
        kind: Tells the decisions apart.
        arguments: Replace the model's arguments; None leaves them unchanged.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["allow"] = "allow"
    arguments: dict[str, JsonValue] | None = None


class Deny(BaseModel):
    """The call is not made.

    Attributes:
        kind: Tells the decisions apart.
        reason: Told to the model.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["deny"] = "deny"
    reason: Text = ""

    def __init__(self, reason: str = "", **others: object) -> None:
        super().__init__(reason=reason, **others)


Decision: TypeAlias = Annotated[Allow | Deny, Discriminator("kind")]
"""What a person says to a call."""


@dataclass(frozen=True, slots=True)
class Preview:
    """The effect of rules on given tools.

    Attributes:
        gated: Tools whose calls wait for a person, by name, with the matching rule, or ``"needs_approval"`` if the tool
            is marked.
        free: Names of the other tools.
        warnings: A sentence for each rule that matches no tool.
    """

    gated: Mapping[str, str]
    free: Sequence[str]
    warnings: Sequence[str]


@dataclass(frozen=True, init=False, slots=True)
class Approvals:
    """Rules that say which tool calls wait for a person: shell patterns (``send_*``); the first match counts.

    Calls of tools marked with ``needs_approval=True`` wait without a rule.

    Attributes:
        rules: The patterns.
        within: Seconds in which a person has to decide; None for no limit.

    Raises:
        TypeError: The rules are a single text, or contain something other than texts.
        ValueError: ``within`` is not a duration.
    """

    rules: tuple[str, ...]
    within: float | None

    def __init__(self, rules: Iterable[str] = (), *, within: Duration | None = _WEEK) -> None:
        object.__setattr__(self, "rules", read_globs("rules", rules))
        object.__setattr__(self, "within", None if within is None else seconds(within))

    def rule(self, tool: Tool[..., object]) -> str | None:
        """Why calls of a tool wait: a rule, or ``"needs_approval"`` for its own mark; None if they do not."""
        found = first_match(tool.name, self.rules) if self.rules else None
        return _MARK if found is None and tool.needs_approval else found

    def preview(self, tools: Iterable[Tool[..., object]]) -> Preview:
        """The effect of the rules on an agent's tools: ``approvals.preview(agent.tools)``."""
        given = tuple(tools)
        why = {tool.name: self.rule(tool) for tool in given}
        return Preview(
            gated={name: rule for name, rule in why.items() if rule is not None},
            free=tuple(name for name, rule in why.items() if rule is None),
            warnings=tuple(_unused(rule, list(why)) for rule in self.rules if not _fits_any(rule, why)),
        )

    def with_inherited(self, parent: "Approvals") -> "Approvals":
        """The rules of an agent that another one asks: the other's, then its own; the shorter deadline counts."""
        limits = [limit for limit in (self.within, parent.within) if limit is not None]
        return Approvals(dict.fromkeys((*parent.rules, *self.rules)), within=min(limits, default=None))


def asked(agent: str, call: ToolCall, rule: str) -> Mapping[str, object]:
    """What the person who decides about a call sees: a JSON object.

    Args:
        agent: Name of the agent that wants it.
        call: The call; its arguments have been validated.
        rule: Why it waits.
    """
    return {"agent": agent, "tool": call.name, "arguments": from_json(call.arguments), "rule": rule}


def decided(call: ToolCall, decision: Allow | Deny) -> ToolCall | str:
    """The effect of a decision: the call to make, or the text for the model."""
    if isinstance(decision, Allow):
        if decision.arguments is None:
            return call
        return call.model_copy(update={"arguments": to_json(decision.arguments).decode()})
    why = f": {decision.reason}" if decision.reason else ", without a reason"
    return f"denied by a person, {call.name} was not called{why}"


def expired(call: ToolCall) -> Deny:
    """The decision if nobody has decided in time."""
    return Deny(reason=f"nobody has answered in time whether {call.name} may be called")


def _fits_any(rule: str, names: Iterable[str]) -> bool:
    return any(matches(name, (rule,)) for name in names)


def _unused(rule: str, names: Sequence[str]) -> str:
    return f"no tool fits the rule {rule!r}: correct it, or leave it out (tools: {', '.join(names) or 'none'})"
