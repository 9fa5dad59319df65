"""Tools that ask an agent: what is called is data, so that whoever runs the calling agent can run the other one too."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Final, Protocol

from stagepost.hub import Duration, check_name, seconds

from .._definition._definition import AgentDefinition
from .._models._model import Model
from .._tools._arguments import Parameters
from .._tools._context import ToolContext
from .._tools._tool import Tool
from ._result import AgentResult

_LONGEST: Final = 60  # characters of a name in a key


class RunnableAgent(AgentDefinition, Protocol):
    """An agent that runs in memory by itself."""

    async def run(
        self,
        request: object,
        *,
        model: Model | str | None = None,
        deps: Any = None,
        secrets: Mapping[str, str] | None = None,
    ) -> AgentResult[object]:
        """Run, and give the result."""
        ...


class DelegateTool(Tool[..., object], ABC):
    """A tool whose calls are runs of an agent.

    Called by itself, through `function`, it runs the agent in memory. A run of an agent that has the tool makes a run
    below its own of each call instead: of `agent`, asked with `request`. It is not called again after an error that
    passes, because the agent's own models and tools have been by then.

    Args:
        agent: The agent.
        name: What the calling model calls it by.
        description: What the calling model has to know of it.
        model: What the agent asks if it has no model of its own; None for that of the agent that calls.
        parameters: What a call looks like.
        idempotent: Whether a call that was interrupted may simply be made again.
        timeout: Seconds (or a `timedelta`) that a call may take; None for no limit.
        needs_approval: Whether each call needs a person's approval.

    Attributes:
        agent: The agent.
        model: What it asks if it has no model of its own.

    Raises:
        InvalidName: The name contains characters that are not allowed.
    """

    brings_agent: ClassVar[bool] = True

    agent: AgentDefinition
    model: Model | str | None

    def __init__(
        self,
        agent: RunnableAgent,
        *,
        name: str,
        description: str,
        model: Model | str | None,
        parameters: Parameters,
        idempotent: bool,
        timeout: Duration | None,
        needs_approval: bool,
    ) -> None:
        check_name("tool name", name)

        async def function(context: ToolContext, **arguments: object) -> object:
            asked = None if agent.model is not None else model or context.model
            return (
                await agent.run(self.request(arguments), model=asked, deps=context.deps, secrets=context.secrets)
            ).output

        super().__init__(
            name=name,
            description=description,
            idempotent=idempotent,
            timeout=None if timeout is None else seconds(timeout, "timeout"),
            function=function,
            _arguments=parameters,
            needs_approval=needs_approval,
            retries=None,
        )
        vars(self).update(agent=agent, model=model)

    @property
    def takes_context(self) -> bool:
        """Always: it tells of the model of the agent that calls."""
        return True

    @abstractmethod
    def request(self, arguments: Mapping[str, object]) -> object:
        """What the agent is asked with.

        Args:
            arguments: Those of a call, as `parse` gives them.
        """


def delegate_key(tool: str, number: str) -> str:
    """The key of the run of a call, below the run that makes the call; no turn of a conversation has such a one.

    Args:
        tool: Name of the tool.
        number: Number of the call.
    """
    return f"{tool[:_LONGEST]}-{number}-tool"
