"""Agents as tools of other agents."""

from collections.abc import Mapping

from stagepost._dataclasses import dataclass
from stagepost.hub import Duration

from .._definition._definition import AgentDefinition
from .._delegation._delegate_tool import DelegateTool
from .._delegation._handoff import group_of
from .._models._model import JsonSchema, Model
from .._output._fitting import Unsendable
from .._output._output import Complaint, Output
from .._tools._arguments import InvalidArguments, Parameters, read_arguments
from ..errors import InvalidTool
from ._agent import Agent


@dataclass(frozen=True, slots=True)
class _Request:
    """The parameters of a tool that takes a model's fields, and passes them on as one request."""

    taken: Output

    @property
    def schema(self) -> JsonSchema:
        return self.taken.to_show.schema

    @property
    def takes_context(self) -> bool:
        return False

    def parse(self, text: str) -> Mapping[str, object]:
        found = self.taken.read_arguments(text)
        if isinstance(found, Complaint):
            raise InvalidArguments(found.why)
        return {"request": found}


class AgentTool(DelegateTool):
    """An agent as a tool: each call is a run of its own, and its answer is the tool's result.

    The tool takes what the agent takes: the fields of its input, or a text. The agent gets the same ``deps`` as the
    calling one. Under a runner each call is a durable child run: a crash repeats nothing that was committed. Its turns,
    calls and tokens count against its own budget and against that of the root run.

    Args:
        agent: The agent.
        description: Its description for the calling model; by default the agent's description.
        name: The tool's name; by default the agent's name.
        model: The model for an agent without one of its own; by default the model of the calling agent.
        timeout: Seconds (or a `timedelta`) that a call may take.
        needs_approval: Whether each call needs a person's approval.

    Raises:
        InvalidTool: The agent's input has no schema that every provider takes.
        InvalidName: The name contains characters that are not allowed.
    """

    def __init__(
        self,
        agent: Agent[object],
        *,
        description: str | None = None,
        name: str | None = None,
        model: Model | str | None = None,
        timeout: Duration | None = None,
        needs_approval: bool = False,
    ) -> None:
        own = agent.name if name is None else name
        super().__init__(
            agent,
            name=own,
            description=agent.description if description is None else description,
            model=model,
            parameters=_parameters(own, agent),
            idempotent=_may_be_repeated(agent),
            timeout=timeout,
            needs_approval=needs_approval,
        )

    def request(self, arguments: Mapping[str, object]) -> object:
        """The agent's input, or the text."""
        return arguments["request"]


def _parameters(name: str, agent: AgentDefinition) -> Parameters:
    if agent.input is not None:
        try:
            return _Request(Output.of(agent.input))
        except Unsendable as error:
            raise InvalidTool(name, f"input={agent.input!r} of agent {agent.name!r}: {error}") from error

    def takes(request: str) -> None:
        """The parameters of a call."""

    return read_arguments(name, takes, {"request": "What the agent is asked to do, with all that it has to know."})


def _may_be_repeated(agent: AgentDefinition) -> bool:
    """Whether no tool that it or an agent below it may call has effects; unknown for servers before they are asked."""
    return all(map(_is_harmless, group_of(agent, is_whole=False).values()))


def _is_harmless(agent: AgentDefinition) -> bool:
    return (
        not agent.servers
        and all(tool.idempotent for tool in agent.tools)
        and all(not isinstance(below, str) and _may_be_repeated(below) for below in agent.sub_agents)
    )
