"""Agents as tools of other agents."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import BaseModel, ValidationError

from stagepost.hub import Duration, check_name, seconds

from ._agent import Agent
from ._arguments import InvalidArguments, Parameters, read_arguments
from ._context import ToolContext
from ._model import JsonSchema
from ._tool import Tool
from ._validation import problems


@dataclass(frozen=True, slots=True)
class _Request:
    """The parameters of a tool that takes a model's fields, and hands them on as one."""

    model: type[BaseModel]

    @property
    def schema(self) -> JsonSchema:
        return self.model.model_json_schema()

    @property
    def takes_context(self) -> bool:
        return True

    def parse(self, text: str) -> Mapping[str, object]:
        try:
            return {"request": self.model.model_validate_json(text)}
        except ValidationError as error:
            raise InvalidArguments(problems(error)) from error


class AgentTool(Tool[..., object]):
    """A tool that is an agent: each call is a run of its own, in memory, and its answer is the tool's result.

    The tool takes what the agent takes: the fields of its input, or a text. It has the model of the agent that calls,
    unless it has one of its own, and the same ``deps``. It is idempotent if all of the agent's tools are. What it costs
    counts against the agent's own budget.

    Args:
        agent: The agent.
        description: What the calling model has to know of it.
        name: What the calling model calls it by; by default the agent's name.
        timeout: Seconds (or a `timedelta`) that a run may take.
        needs_approval: A person has to allow each call.

    Raises:
        InvalidName: The name holds characters that are not allowed.
    """

    def __init__(
        self,
        agent: Agent[object],
        *,
        description: str,
        name: str | None = None,
        timeout: Duration | None = None,
        needs_approval: bool = False,
    ) -> None:
        own = agent.name if name is None else name
        check_name("tool name", own)

        async def function(request: object, context: ToolContext) -> object:
            result = await agent.run(request, model=agent.model or context.model, deps=context.deps)
            return result.output

        super().__init__(
            name=own,
            description=description,
            idempotent=all(tool.idempotent for tool in agent.tools),
            timeout=None if timeout is None else seconds(timeout),
            function=function,
            _arguments=_parameters(own, agent),
            needs_approval=needs_approval,
        )


def _parameters(name: str, agent: Agent[object]) -> Parameters:
    if agent.input is not None:
        return _Request(agent.input)

    def takes(request: str, context: ToolContext) -> None:
        """What a call looks like."""

    return read_arguments(name, takes, {"request": "What the agent is asked to do, with all that it has to know."})
