"""How a model is to answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, TypeAlias

ReasoningEffort: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh"]
ToolChoice: TypeAlias = Literal["auto", "none", "required"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """How a model is to answer. None leaves it to whoever asks with weaker settings, and at last to the provider.

    Settings of a run are stronger than those of its agent, and these stronger than those of the model.

    Attributes:
        temperature: How freely it chooses words: from 0 to 2.
        max_tokens: The longest answer, in tokens.
        seed: Lets it choose the same words again, where the provider can.
        stop: Texts before which an answer ends.
        tool_choice: Whether it may ("auto"), must ("required") or must not ("none") call tools, or the name of the one
            that it must call. Left out where there are no tools.
        parallel_tool_calls: Whether one answer may call several tools. Left out where there are no tools.
        reasoning_effort: How long a model that thinks thinks.
        cache: Whether what does not change from turn to turn is marked for the provider's cache, where it needs marks.
        timeout: Seconds that one attempt may take; for a stream, until the next piece comes.
        extra: What else the provider is told, in its own words.
    """

    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] | None = None
    tool_choice: ToolChoice | str | None = None
    parallel_tool_calls: bool | None = None
    reasoning_effort: ReasoningEffort | None = None
    cache: bool | None = None
    timeout: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def over(self, weaker: "ModelSettings") -> "ModelSettings":
        """These settings, and those of the weaker ones where these say nothing."""
        own = {each.name: value for each in fields(self) if (value := getattr(self, each.name)) is not None}
        return replace(weaker, **{**own, "extra": {**weaker.extra, **self.extra}})
