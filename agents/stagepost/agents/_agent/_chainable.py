"""What a chain needs of its agents."""

from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

from pydantic import SecretStr

from stagepost.hub import Observer
from stagepost.workflows import Pattern, TracerFactory

from .._definition._definition import AgentDefinition
from .._delegation._result import AgentResult
from .._loop._session import Approve
from .._models._model import Model
from .._stream._stream import TaskStream

OutputT_co = TypeVar("OutputT_co", covariant=True)


class Chainable(AgentDefinition, Protocol[OutputT_co]):
    """An agent as a chain needs it; `Agent` is one."""

    async def run(
        self,
        request: object,
        *,
        model: Model | str | None = None,
        approve: Approve | None = None,
        deps: Any = None,
        secrets: Mapping[str, str | SecretStr] | None = None,
        observer: Observer | None = None,
        override_model: Model | str | None = None,
        tracing: TracerFactory | None = None,
        trace: str | None = None,
    ) -> AgentResult[OutputT_co]:
        """Run in memory."""
        ...

    def stream(
        self,
        request: object,
        *,
        model: Model | str | None = None,
        approve: Approve | None = None,
        deps: Any = None,
        secrets: Mapping[str, str | SecretStr] | None = None,
        observer: Observer | None = None,
        override_model: Model | str | None = None,
        tracing: TracerFactory | None = None,
        trace: str | None = None,
        include_thinking: bool = True,
        include_tool_events: bool = True,
        below: bool = True,
        partial: bool = False,
        buffer: int = 1000,
    ) -> TaskStream[OutputT_co]:
        """Run in memory, heard while it works."""
        ...

    def as_workflow(self) -> Pattern:
        """The workflow that does its work."""
        ...
