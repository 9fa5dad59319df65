"""Agents: data, checked when it is built."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Self, TypeVar, overload

from pydantic import BaseModel, JsonValue

from stagepost._dataclasses import dataclass
from stagepost.hub import Duration, check_name
from stagepost.workflows import Pattern

from .._context._policy import ContextPolicy
from .._definition._approvals import Approvals
from .._definition._budget import Budget
from .._definition._prompting import PromptFunction
from .._loop._session import Approve
from .._loop._settings import run_settings
from .._mcp import McpServer
from .._models._model import Model
from .._models._provider_tool import ProviderTool
from .._models._settings import ModelSettings
from .._output._output import OutputMode
from .._tools._tool import Tool
from .._tools._toolset import Toolset
from ._chain import AgentChain, chained
from ._chain_workflow import Link as ChainLink
from ._checks import check_agent
from ._describing import describe
from ._fronts import Fronts, Readied
from ._given import ToolSource, listed, read_approvals, read_idle, read_models, read_text, read_tools
from ._inheritance import model_of_run
from ._opened import Opened
from ._previewing import PromptPreview, preview
from ._sameness import same_agent
from ._sync import note_team
from ._team import Team

if TYPE_CHECKING:
    from typing_extensions import TypeForm  # for type checkers only: what pydantic can check is not a class in general

    from stagepost.programs import Language

OutputT_co = TypeVar("OutputT_co", covariant=True)
OutputT = TypeVar("OutputT")
NextT = TypeVar("NextT")

_BUDGET: Final = Budget()
_SETTINGS: Final = ModelSettings()
_NO_MODELS: Final[Mapping[str, Model | str]] = MappingProxyType({})


@dataclass(frozen=True, init=False, eq=False)
class Agent(Fronts[OutputT_co]):
    """An agent: a prompt, a model, tools, and types of input and output. Frozen, and checked when it is built.

    `run` runs it in memory. ``await runner.serve(agent)`` registers it on the hub, where each request is a durable run:
    committed answers of the model and results of tools are never requested again, whatever happens to the process.

    Args:
        name: Its name, also on the hub.
        prompt: Its instructions. ``{field}`` stands for a field of the input; other braces are text, and ``{{field}}``
            is the text ``{field}``. Or a function, possibly async, that returns the text for each turn from a
            `PromptContext`; nothing in its text is replaced.
        model: The model that it asks, or its name, such as ``"openai/gpt-5-mini"``. Without one it asks the model of
            the agent that asks it.
        tools: What the model may call: tools made by `tool` and `handoff`, functions, toolsets, MCP servers, a
            `Memory`, tools of its provider.
        toolsets: More toolsets and tools of the provider, besides those among the tools.
        servers: More MCP servers, besides those among the tools.
        sub_agents: Agents that it may ask, or their names, which `Agents` resolves.
        input: Pydantic model of its requests; None if they are plain text.
        output: Type of its answers: any type that pydantic can check, such as a model, ``list[int]`` or ``A | B``; None
            for plain text. An answer that does not fit costs a turn and goes back to the model with the errors.
        output_mode: How the model is told: ``"tool"`` through the tools ``return`` and ``fail``, for all models that
            can call tools; ``"native"`` in the provider's own way (``response_format``), for agents without tools;
            ``"prompted"`` in the prompt.
        programs: The language of programs, such as ``PtcLisp()``: then each answer of the model is one program, which
            calls the tools and returns the result.
        budget: The limits of one run.
        approvals: Which calls need a person's approval, also those of agents below this one; a list of patterns is
            enough. A rule that matches no tool is logged as a warning, unless servers may have one.
        hooks: Code around each question to the model and each call of a tool, the first one outermost: objects with a
            method ``model_call``, ``tool_call``, or both.
        description: What other agents have to know to ask it.
        models: Models by name, for this agent and the agents below it.
        settings: Settings for its model; they override the model's own settings, and a run's settings override them.
            Agents below have their own.
        idle: Seconds (or a `timedelta`) without a message after which a conversation with it has ended; ``math.inf``
            for never. By default as the agent above says that asks it, and at the top 5 minutes.
        context: What its model sees of long results and long runs, also for agents below without a policy of their own.

    Raises:
        InvalidAgent: The parts do not fit together.
        InvalidTool: A plain function cannot be a tool.
        InvalidName: The name contains characters that are not allowed.
    """

    name: str
    prompt: str | PromptFunction
    model: Model | str | None = field(repr=False)
    tools: Sequence[Tool[..., object]]
    toolsets: Sequence[Toolset | ProviderTool] = field(repr=False)
    servers: Sequence[McpServer]
    sub_agents: "Sequence[Agent[object] | str]" = field(repr=False)
    input: type[BaseModel] | None
    output: "TypeForm[OutputT_co] | None"
    output_mode: OutputMode
    programs: "Language | None"
    budget: Budget
    approvals: Approvals
    hooks: Sequence[object] = field(repr=False)
    description: str
    models: Mapping[str, Model | str] = field(repr=False)
    settings: ModelSettings
    idle: float | None
    context: ContextPolicy | None

    @overload
    def __init__(
        self: "Agent[str]",
        name: str,
        prompt: str | PromptFunction,
        *,
        model: Model | str | None = None,
        tools: Iterable[ToolSource] = (),
        toolsets: Iterable[Toolset | ProviderTool] = (),
        servers: Iterable[McpServer] = (),
        sub_agents: "Iterable[Agent[object] | str]" = (),
        input: type[BaseModel] | None = None,
        output: None = None,
        output_mode: OutputMode = "tool",
        programs: "Language | None" = None,
        budget: Budget = ...,
        approvals: Approvals | Iterable[str] | None = None,
        hooks: Iterable[object] = (),
        description: str = "",
        models: Mapping[str, Model | str] = ...,
        settings: ModelSettings = ...,
        idle: Duration | None = None,
        context: ContextPolicy | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: "Agent[OutputT]",
        name: str,
        prompt: str | PromptFunction,
        *,
        model: Model | str | None = None,
        tools: Iterable[ToolSource] = (),
        toolsets: Iterable[Toolset | ProviderTool] = (),
        servers: Iterable[McpServer] = (),
        sub_agents: "Iterable[Agent[object] | str]" = (),
        input: type[BaseModel] | None = None,
        output: "TypeForm[OutputT]",
        output_mode: OutputMode = "tool",
        programs: "Language | None" = None,
        budget: Budget = ...,
        approvals: Approvals | Iterable[str] | None = None,
        hooks: Iterable[object] = (),
        description: str = "",
        models: Mapping[str, Model | str] = ...,
        settings: ModelSettings = ...,
        idle: Duration | None = None,
        context: ContextPolicy | None = None,
    ) -> None: ...
    def __init__(
        self,
        name: str,
        prompt: str | PromptFunction,
        *,
        model: Model | str | None = None,
        tools: Iterable[ToolSource] = (),
        toolsets: Iterable[Toolset | ProviderTool] = (),
        servers: Iterable[McpServer] = (),
        sub_agents: "Iterable[Agent[object] | str]" = (),
        input: type[BaseModel] | None = None,  # noqa: A002  # the word for it
        output: object = None,
        output_mode: OutputMode = "tool",
        programs: "Language | None" = None,
        budget: Budget = _BUDGET,
        approvals: Approvals | Iterable[str] | None = None,
        hooks: Iterable[object] = (),
        description: str = "",
        models: Mapping[str, Model | str] = _NO_MODELS,
        settings: ModelSettings = _SETTINGS,
        idle: Duration | None = None,
        context: ContextPolicy | None = None,
    ) -> None:
        check_name("agent name", name)
        vars(self).update(
            **read_tools(name, tools, servers, toolsets)._asdict(),
            name=name,
            prompt=prompt,
            model=model,
            sub_agents=listed(name, "sub_agents", sub_agents),
            input=input,
            output=output,
            output_mode=output_mode,
            programs=programs,
            budget=budget,
            approvals=read_approvals(name, approvals),
            hooks=listed(name, "hooks", hooks),
            description=read_text(name, "description", description),
            models=MappingProxyType(dict(read_models(name, models))),
            settings=settings,
            idle=read_idle(name, idle),
            context=context,
        )
        check_agent(self, Agent)

    def __eq__(self, other: object) -> bool:
        """Whether both are made of the same parts; names of models count as what they mean to each."""
        return same_agent(self, other) if isinstance(other, Agent) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.name)

    def _readied(
        self,
        model: Model | str | None,
        settings: ModelSettings | None,
        approve: Approve | None,
        override_model: Model | str | None,
    ) -> Readied:
        given = model_of_run(self, model, override_model)
        stronger = run_settings(self, settings)
        team = self._team if given is None else Team(self, given)
        note_team(team)
        return Readied(team.loop, team.open(approve, stronger, self._opened.connections))

    async def __aenter__(self) -> Self:
        """Keep the connections to MCP servers between runs in memory, until the block is left.

        Without it each such run connects again, and starts the programs of servers again. The task that enters the
        block must leave it.

        Raises:
            RuntimeError: It is open already.
            ModelMissing: It, or an agent below it, has no model.
            InvalidAgent: A sub-agent is only a name.
        """
        await self._opened.enter(self._team)
        return self

    async def __aexit__(self, *_raised: object) -> None:
        """Close them, and end the programs that were started."""
        await self._opened.leave()

    def then(
        self,
        agent: "Agent[NextT] | AgentChain[NextT]",
        *,
        request: Callable[[OutputT_co], object] | None = None,
        name: str | None = None,
    ) -> "AgentChain[NextT]":
        """Make a chain: another agent is asked with this one's answer.

        ::

            chain = research.then(write).then(translate, request=lambda text: f"Into French: {text}")
            result = await chain.run("The tides of Bergen.")

        Args:
            agent: The next agent. Its input is this one's output, or a base class of it; or both are texts. Or a chain.
            request: Computes the request from the answer, if they do not fit.
            name: The chain's name; by default the names of its agents with ``-then-`` between them.

        Raises:
            InvalidAgent: The agent does not take this one's answers, or is not an agent.
            InvalidName: The chain's name is too long, or contains characters that are not allowed: give `name`.
        """
        return chained((ChainLink(self),), agent, request, name)

    def as_workflow(self) -> Pattern:
        """The workflow that does its work, for ``runner.serve(agent)`` and ``Runner(workflows=[…])``; always the same.

        A runner opens what the agent and those below it need, and closes the connections to servers when it is left.
        Connections to models may be shared: close them with `LiteLLM.aclose` if you want.

        Raises:
            ModelMissing: It, or an agent below it, has no model.
            InvalidAgent: A sub-agent is only a name.
        """
        return self._team.loop

    def preview(self, request: object) -> PromptPreview:
        """What its model is sent first for a request: system prompt and user message, without asking a model.

        Tools of toolsets and servers, which depend on the run, are missing.

        Args:
            request: As for `run`.

        Raises:
            InvalidRequest: The agent does not take it.
        """
        return preview(self, request)

    def describe(self) -> dict[str, JsonValue]:
        """Describe the agent as JSON, for inspection and comparison.

        Tools, input and output have their schemas; agents below are nested. Prompt functions, models, hooks, and the
        variables and headers of servers, whose values may be secret, are only named.
        """
        return describe(self)

    @cached_property
    def _team(self) -> Team:
        return Team(self)

    @cached_property
    def _opened(self) -> Opened:
        return Opened(self.name)
