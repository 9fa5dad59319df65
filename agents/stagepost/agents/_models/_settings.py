"""How a model is to answer."""

from collections.abc import Mapping
from dataclasses import field, fields, replace
from math import inf
from typing import Any, Final, Literal, TypeAlias, get_args

from pydantic import ConfigDict, with_config

from stagepost._dataclasses import dataclass

from ..errors import InvalidSettings

ReasoningEffort: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh"]
ToolChoice: TypeAlias = Literal["auto", "none", "required"]

_EFFORTS: Final = get_args(ReasoningEffort)
_HOTTEST: Final = 2


@with_config(ConfigDict(extra="forbid"))  # a mistyped name in data is an error
@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """Settings for a model. None leaves a setting to lower levels, and finally to the provider.

    Settings of a run override those of its agent, and these override those of the model.

    Attributes:
        temperature: How freely it chooses words, from 0 to 2.
        max_tokens: The longest answer, in tokens.
        seed: Makes the choice of words reproducible, if the provider supports it.
        stop: Texts before which an answer ends.
        tool_choice: Whether it may ("auto"), must ("required") or must not ("none") call tools, or the name of the one
            that it must call. Left out where there are no tools. An agent forces a call on the first turn of a run
            only, since the model could never answer otherwise; with ``output=`` "required" holds for all turns.
        parallel_tool_calls: Whether one answer may call several tools. Left out where there are no tools.
        reasoning_effort: How long a thinking model thinks.
        cache: Whether the unchanging part of requests is marked for the provider's cache, where marks are needed.
        timeout: Seconds for one attempt; for a stream, until the next piece arrives.
        extra: Other settings, in the provider's own words.

    Raises:
        InvalidSettings: A value is invalid.
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
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)  # may hold keys

    def __post_init__(self) -> None:
        self._check("temperature", "a number from 0 to 2", fits=_is_number(self.temperature, most=_HOTTEST))
        self._check("max_tokens", "a whole number of at least 1", fits=_is_whole(self.max_tokens, least=1))
        self._check("seed", "a whole number", fits=_is_whole(self.seed))
        self._check("tool_choice", '"auto", "none", "required" or the name of a tool', fits=_is_text(self.tool_choice))
        self._check("parallel_tool_calls", "True or False", fits=isinstance(self.parallel_tool_calls, bool))
        self._check("reasoning_effort", f"one of {', '.join(_EFFORTS)}", fits=self.reasoning_effort in _EFFORTS)
        self._check("cache", "True or False", fits=isinstance(self.cache, bool))
        self._check("timeout", "seconds, more than 0", fits=_is_number(self.timeout) and self.timeout != 0)
        if self.stop is not None:
            object.__setattr__(self, "stop", _stops(self.stop))
        object.__setattr__(self, "extra", _told(self.extra))

    def over(self, weaker: "ModelSettings") -> "ModelSettings":
        """These settings, completed by lower-level ones."""
        own = {each.name: value for each in fields(self) if (value := getattr(self, each.name)) is not None}
        return replace(weaker, **{**own, "extra": {**weaker.extra, **self.extra}})

    def _check(self, name: str, expected: str, *, fits: bool) -> None:
        value = getattr(self, name)
        if value is not None and not fits:
            raise InvalidSettings(name, value, expected)


def _is_number(value: object, *, most: float = inf) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= most and value != inf


def _is_whole(value: object, *, least: int | None = None) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and (least is None or value >= least)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _stops(given: object) -> tuple[str, ...]:
    if not isinstance(given, list | tuple) or not all(map(_is_text, given)):
        raise InvalidSettings("stop", given, 'a list of texts, such as ["END"]')
    return tuple(given)


def _told(given: object) -> Mapping[str, Any]:
    if not isinstance(given, Mapping) or not all(map(_is_text, given)):
        raise InvalidSettings("extra", type(given).__name__, 'a mapping by names, such as {"user": "ann"}')
    return dict(given)
