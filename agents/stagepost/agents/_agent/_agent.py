"""What an agent is: data, checked when it is built."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property, partial
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar, overload

from pydantic import BaseModel, JsonValue, SecretStr

from stagepost._dataclasses import dataclass
from stagepost.hub import Observer, check_name
from stagepost.workflows import Pattern

from .._definition._approvals import Approvals
from .._definition._budget import Budget
from .._definition._prompting import PromptFunction
from .._delegation._result import AgentResult
from .._loop._session import Approve
from .._loop._settings import run_settings
from .._mcp import McpServer
from .._models._model import Model
from .._models._settings import ModelSettings
from .._output._output import OutputMode
from .._tools._tool import Tool, ToolLike
from ._chain import AgentChain, chained
from ._chain_workflow import Link as ChainLink
from ._checks import check_agent
from ._describing import describe
from ._given import listed, read_approvals, read_servers, read_tools
from ._inheritance import model_of_run
from ._opened import Opened
from ._running import run_in_memory
from ._sync import note_team, run_alone
from ._team import Team

if TYPE_CHECKING:
    from typing_extensions import TypeForm  # of type checkers alone: what pydantic can check is no class in general

OutputT_co = TypeVar("OutputT_co", covariant=True)
OutputT = TypeVar("OutputT")
NextT = TypeVar("NextT")

_BUDGET: Final = Budget()
_SETTINGS: Final = ModelSettings()
_NO_MODELS: Final[Mapping[str, Model | str]] = MappingProxyType({})


@dataclass(frozen=True, init=False, eq=False)
class Agent(Generic[OutputT_co]):
    """An agent: a prompt, a model, tools, and what goes in and comes out. Frozen, and checked when it is built.

    `run` runs it in memory. ``await runner.serve(agent)`` puts it on the hub, where each request is a durable run: what
    the model has answered and what a tool has returned is never asked for again, whatever happens to the process.

    Args:
        name: Its name, also on the hub.
        prompt: What it is for. ``{field}`` stands for a field of the input; other braces are text, and ``{{field}}``
            is the text ``{field}``. Or a function that makes the text for each turn, of a `PromptContext`; it may be
            async. Nothing in what it makes is replaced.
        model: The model that it asks, or its name, such as ``"openai/gpt-5-mini"``. Without one it asks that of
            whoever asks it.
        tools: What the model may call: made by `tool`, plain functions, or MCP servers with all that they offer.
        servers: More MCP servers, beside those among the tools.
        sub_agents: Agents that it may ask. Names of agents will do until `Agents` puts the agents in their place.
        input: Pydantic model of its requests; None if they are plain text.
        output: What its answers are: any type that pydantic can check, such as a model, ``list[int]`` or ``A | B``;
            None for plain text. An answer that does not fit costs a turn and goes back to the model with what is wrong.
        output_mode: How the model is told: ``"tool"`` by the tools ``return`` and ``fail``, which all models take that
            take tools; ``"native"`` by the provider's own way (``response_format``), for agents without tools;
            ``"prompted"`` by the prompt.
        budget: What one run may use.
        approvals: Which calls a person has to allow, also those of agents below this one; patterns will do. A rule
            that no tool fits is logged as a warning, unless servers may have one.
        hooks: Stand round each question to the model and each call of a tool, the first one outermost: objects with a
            method ``model_call``, ``tool_call``, or both.
        description: What agents have to know of it to ask it.
        models: What names of models mean here, and to the agents below this one.
        settings: How its model is to answer; stronger than the model's own settings, weaker than those of a run. The
            agents below have their own.

    Raises:
        InvalidAgent: The parts do not fit together.
        InvalidTool: A plain function cannot be a tool.
        InvalidName: The name holds characters that are not allowed.
    """

    name: str
    prompt: str | PromptFunction
    model: Model | str | None = field(repr=False)
    tools: Sequence[Tool[..., object]]
    servers: Sequence[McpServer]
    sub_agents: "Sequence[Agent[object] | str]" = field(repr=False)
    input: type[BaseModel] | None
    output: "TypeForm[OutputT_co] | None"
    output_mode: OutputMode
    budget: Budget
    approvals: Approvals
    hooks: Sequence[object] = field(repr=False)
    description: str
    models: Mapping[str, Model | str] = field(repr=False)
    settings: ModelSettings

    @overload
    def __init__(
        self: "Agent[str]",
        name: str,
        prompt: str | PromptFunction,
        *,
        model: Model | str | None = None,
        tools: Iterable[ToolLike | McpServer] = (),
        servers: Iterable[McpServer] = (),
        sub_agents: "Iterable[Agent[object] | str]" = (),
        input: type[BaseModel] | None = None,
        output: None = None,
        output_mode: OutputMode = "tool",
        budget: Budget = ...,
        approvals: Approvals | Iterable[str] | None = None,
        hooks: Iterable[object] = (),
        description: str = "",
        models: Mapping[str, Model | str] = ...,
        settings: ModelSettings = ...,
    ) -> None: ...
    @overload
    def __init__(
        self: "Agent[OutputT]",
        name: str,
        prompt: str | PromptFunction,
        *,
        model: Model | str | None = None,
        tools: Iterable[ToolLike | McpServer] = (),
        servers: Iterable[McpServer] = (),
        sub_agents: "Iterable[Agent[object] | str]" = (),
        input: type[BaseModel] | None = None,
        output: "TypeForm[OutputT]",
        output_mode: OutputMode = "tool",
        budget: Budget = ...,
        approvals: Approvals | Iterable[str] | None = None,
        hooks: Iterable[object] = (),
        description: str = "",
        models: Mapping[str, Model | str] = ...,
        settings: ModelSettings = ...,
    ) -> None: ...
    def __init__(
        self,
        name: str,
        prompt: str | PromptFunction,
        *,
        model: Model | str | None = None,
        tools: Iterable[ToolLike | McpServer] = (),
        servers: Iterable[McpServer] = (),
        sub_agents: "Iterable[Agent[object] | str]" = (),
        input: type[BaseModel] | None = None,  # noqa: A002  # the word for it
        output: object = None,
        output_mode: OutputMode = "tool",
        budget: Budget = _BUDGET,
        approvals: Approvals | Iterable[str] | None = None,
        hooks: Iterable[object] = (),
        description: str = "",
        models: Mapping[str, Model | str] = _NO_MODELS,
        settings: ModelSettings = _SETTINGS,
    ) -> None:
        check_name("agent name", name)
        made, among = read_tools(name, tools)
        vars(self).update(
            name=name,
            prompt=prompt,
            model=model,
            tools=made,
            servers=(*among, *read_servers(name, servers)),
            sub_agents=listed(name, "sub_agents", sub_agents),
            input=input,
            output=output,
            output_mode=output_mode,
            budget=budget,
            approvals=read_approvals(name, approvals),
            hooks=listed(name, "hooks", hooks),
            description=description,
            models=MappingProxyType(dict(models)),
            settings=settings,
        )
        check_agent(self, Agent)

    async def run(
        self,
        request: object,
        *,
        after: AgentResult[object] | None = None,
        model: Model | str | None = None,
        settings: ModelSettings | None = None,
        approve: Approve | None = None,
        deps: Any = None,
        secrets: Mapping[str, str | SecretStr] | None = None,
        observer: Observer | None = None,
        override_model: Model | str | None = None,
    ) -> AgentResult[OutputT_co]:
        """Run in memory: nothing is stored, and a crash loses the run.

        Args:
            request: The input model, a mapping of its fields, a text, or a list of texts and parts (`Image`, `Audio`,
                `File`).
            after: Goes on where this run has ended: the model sees all that was said.
            model: What the agent asks, or its name, if it has no model of its own.
            settings: How its model is to answer, stronger than the agent's own settings. Agents below have their own.
            approve: Says whether a call may be made that a person has to allow: async, from a `ToolCall` to an `Allow`
                or a `Deny`. Without it such a call fails the run: there is nobody to ask.
            deps: Given to tools as ``context.deps``.
            secrets: Given to tools as ``context.secrets``, and masked in what they and the model tell.
            observer: Gets the run's events.
            override_model: Stands in for the agent's own model, in tests above all. Agents below that have no model of
                their own ask it too.

        Raises:
            ModelMissing: It, or an agent below it, has no model.
            InvalidAgent: A sub-agent is only a name.
            InvalidRequest: The request is not what the agent takes, or the agent has a model of its own and is given
                another one as `model`.
            CannotStore: The request holds what a run cannot keep, such as a secret.
            BudgetExceeded: The run needs more than its budget.
            CostUnknown: The budget limits the cost, and nobody knows it.
            AgentFailed: Something else went wrong, such as the model; the cause says what.
        """
        given = model_of_run(self, model, override_model)
        stronger = run_settings(self, settings)
        team = self._team if given is None else Team(self, given)
        note_team(team)
        opened = team.open(approve, stronger, self._opened.connections)
        return await run_in_memory(
            team.loop, opened, request, after=after, deps=deps, secrets=secrets, observer=observer
        )

    async def __aenter__(self) -> Self:
        """Keep the connections to MCP servers between runs in memory, until the block is left.

        Without it each such run connects anew, and starts the programs that are servers. It is left by the task that
        has entered it.

        Raises:
            RuntimeError: It is open already.
            ModelMissing: It, or an agent below it, has no model.
            InvalidAgent: A sub-agent is only a name.
        """
        await self._opened.enter(self._team)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close them, and end the programs that were started."""
        await self._opened.leave()

    def run_sync(
        self,
        request: object,
        *,
        after: AgentResult[object] | None = None,
        model: Model | str | None = None,
        settings: ModelSettings | None = None,
        approve: Approve | None = None,
        deps: Any = None,
        secrets: Mapping[str, str | SecretStr] | None = None,
        observer: Observer | None = None,
        override_model: Model | str | None = None,
    ) -> AgentResult[OutputT_co]:
        """`run` for code that is not async: in an event loop of its own, which ends with it.

        Args:
            request: As for `run`, and so are the others.
            after: As for `run`.
            model: As for `run`.
            settings: As for `run`.
            approve: As for `run`.
            deps: As for `run`.
            secrets: As for `run`.
            observer: As for `run`.
            override_model: As for `run`.

        Raises:
            EventLoopRunning: An event loop runs in this thread already.
            AgentError: As for `run`.
        """
        run = partial(
            self.run,
            request,
            after=after,
            model=model,
            settings=settings,
            approve=approve,
            deps=deps,
            secrets=secrets,
            observer=observer,
            override_model=override_model,
        )
        return run_alone(self.name, run)

    def then(
        self,
        agent: "Agent[NextT] | AgentChain[NextT]",
        *,
        request: Callable[[OutputT_co], object] | None = None,
        name: str | None = None,
    ) -> "AgentChain[NextT]":
        """A chain: another agent is asked with what this one has answered.

        ::

            chain = research.then(write).then(translate, request=lambda text: f"Into French: {text}")
            result = await chain.run("The tides of Bergen.")

        Args:
            agent: The next agent. Its input is this one's output, or a class above that; or both are texts. Or a chain.
            request: Makes the request of the answer, where they do not fit.
            name: The chain's name; by default the names of its agents with ``-then-`` between them.

        Raises:
            InvalidAgent: The agent does not take what this one answers, or is no agent.
            InvalidName: The chain's name is too long, or holds characters that are not allowed: give `name`.
        """
        return chained((ChainLink(self),), agent, request, name)

    def as_workflow(self) -> Pattern:
        """The workflow that does its work, for ``runner.serve(agent)`` and ``Runner(workflows=[…])``; always the same.

        A runner opens what the agent and those below it need, and closes the connections to servers when it is left.
        Those to models may be shared with others: they are closed by whoever wants that, with `LiteLLM.aclose`.

        Raises:
            ModelMissing: It, or an agent below it, has no model.
            InvalidAgent: A sub-agent is only a name.
        """
        return self._team.loop

    def describe(self) -> dict[str, JsonValue]:
        """What it is made of, as JSON: to look at, to compare, and to show.

        Tools, input and output with their schemas, agents below it nested. A prompt that is a function is only named,
        and so are models, hooks, and of servers the variables and headers, whose values may be secret.
        """
        return describe(self)

    @cached_property
    def _team(self) -> Team:
        return Team(self)

    @cached_property
    def _opened(self) -> Opened:
        return Opened(self.name)
