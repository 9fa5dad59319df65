"""Agents from data as JSON and TOML have it: names there, objects here."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from stagepost._dataclasses import dataclass

from .._context._policy import SHORTEST, ContextPolicy
from .._definition._approvals import Approvals
from .._definition._budget import Budget
from .._models._model import Model
from .._models._settings import ModelSettings
from .._output._output import OutputMode
from .._validation import problems
from ..errors import InvalidAgentData
from ._agent import Agent
from ._given import ToolSource
from ._program_data import LanguageData

_APPROVALS: Final = Approvals()
_BUDGET: Final = Budget()
_POLICY: Final = ContextPolicy()
_SETTINGS: Final = ModelSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What names in the data stand for.

    Attributes:
        tools: Tools, toolsets and servers.
        models: Models, beside those that litellm knows.
        types: Models of requests and answers.
        parts: Prompt functions, hooks, compactions and languages of programs.
    """

    tools: Mapping[str, ToolSource]
    models: Mapping[str, Model | str]
    types: Mapping[str, Any]
    parts: Mapping[str, Any]


def read_agents(data: object, known: Known) -> Sequence[Agent[object]]:
    """The agents that data describes; their sub-agents are names.

    Raises:
        InvalidAgentData: It is malformed, or a name is unknown.
        InvalidAgent: The parts of an agent do not fit together.
    """
    try:
        found = _Agents.model_validate(data, context=known)
    except ValidationError as error:
        raise InvalidAgentData(problems(error)) from None
    return [each.made(known.models) for each in found.agents]


def _part(name: object, info: ValidationInfo) -> Any:
    known = _context(info)
    return known.parts[_checked("part", name, known.parts)]


def _prompt(given: object, info: ValidationInfo) -> Any:
    """A text, or a function by its name."""
    if isinstance(given, str):
        return given
    if isinstance(given, Mapping) and given.keys() == {"part"}:
        return _part(given["part"], info)
    raise PydanticCustomError("prompt", 'Input should be a valid string, or {{"part": name}} for a function')


def _language(given: object, info: ValidationInfo) -> Any:
    """PTC-Lisp with what is not as usual, or another language by its name."""
    if given is None or isinstance(given, str):
        return None if given is None else _part(given, info)
    return LanguageData.model_validate(given).made(lambda name: _part(name, info))


def _tool(name: object, info: ValidationInfo) -> ToolSource:
    known = _context(info)
    return known.tools[_checked("tool", name, known.tools)]


def _type(name: object, info: ValidationInfo) -> type[BaseModel] | None:
    known = _context(info)
    return None if name is None else known.types[_checked("type", name, known.types)]


def _context(info: ValidationInfo) -> Known:
    return cast("Known", info.context)


def _checked(kind: str, name: object, known: Mapping[str, object]) -> str:
    if isinstance(name, str) and name in known:
        return name
    told = {"kind": kind, "name": repr(name), "known": ", ".join(known) or "none"}
    raise PydanticCustomError("unknown_name", "there is no {kind} {name}; there are: {known}", told)


_Tool: TypeAlias = Annotated[Any, PlainValidator(_tool)]
_Type: TypeAlias = Annotated[Any, PlainValidator(_type)]
_Part: TypeAlias = Annotated[Any, PlainValidator(_part)]
_Prompt: TypeAlias = Annotated[Any, PlainValidator(_prompt)]
_Language: TypeAlias = Annotated[Any, PlainValidator(_language)]
_Idle: TypeAlias = Annotated[float | None, Field(ge=0)]


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _Approvals(_Data):
    rules: tuple[str, ...] = ()
    within: float | None = Field(default=_APPROVALS.within, ge=0, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _from_rules(cls, given: object) -> object:
        return {"rules": given} if isinstance(given, list | tuple) else given


class _Context(_Data):
    limit: int | None = Field(default=_POLICY.limit, ge=1)
    messages: int | None = Field(default=_POLICY.messages, ge=2)
    result_limit: int | None = Field(default=_POLICY.result_limit, ge=SHORTEST)
    compact: tuple[_Part, ...] | None = None

    def made(self) -> ContextPolicy:
        compact = _POLICY.compact if self.compact is None else self.compact
        return ContextPolicy(limit=self.limit, messages=self.messages, result_limit=self.result_limit, compact=compact)


class _Agent(_Data):
    name: str = Field(pattern="^[A-Za-z0-9_-]{1,100}$")
    prompt: _Prompt
    description: str = ""
    model: str | None = Field(default=None, min_length=1)
    tools: tuple[_Tool, ...] = ()
    sub_agents: "tuple[str | _Agent, ...]" = ()
    input: _Type = None
    output: _Type = None
    output_mode: OutputMode = "tool"
    programs: _Language = None
    budget: Budget = _BUDGET
    approvals: _Approvals = _Approvals()
    hooks: tuple[_Part, ...] = ()
    settings: ModelSettings = _SETTINGS
    idle: _Idle = None
    context: _Context | None = None

    def made(self, models: Mapping[str, Model | str]) -> Agent[object]:
        made: Agent[object] = Agent(
            self.name,
            prompt=self.prompt,
            description=self.description,
            model=self.model,
            models=models,
            tools=self.tools,
            sub_agents=[each if isinstance(each, str) else each.made(models) for each in self.sub_agents],
            input=self.input,
            output=self.output,
            output_mode=self.output_mode,
            programs=self.programs,
            hooks=self.hooks,
            budget=self.budget,
            approvals=Approvals(self.approvals.rules, within=self.approvals.within),
            settings=self.settings,
            idle=self.idle,
            context=None if self.context is None else self.context.made(),
        )
        return made


class _Agents(_Data):
    agents: tuple[_Agent, ...]
