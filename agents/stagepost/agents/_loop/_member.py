"""An agent in a team: its own parts, and those that it inherits."""

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from stagepost._dataclasses import dataclass
from stagepost.workflows.patterns import BeginTold

from .._context._policy import ContextPolicy
from .._definition._approvals import Approvals
from .._definition._budget import Budget
from .._definition._definition import AgentDefinition
from .._models._model import Model


@dataclass(frozen=True, slots=True)
class Member:
    """One agent of a team.

    Attributes:
        name: Its name with those of the agents above it: ``lead.weather``.
        path: The names of the agents from the root to it.
        agent: What it is.
        model: What it asks: its own model, or that of the nearest agent above it that has one.
        approvals: Its own rules, and all rules above it.
        hooks: Its own, after those of agents above that are inherited.
        context: What its model sees: its own policy, or that of the nearest agent above it that has one.
        writers: The models that write the summaries of each of the policy's compactions.
        root: Name and budget of the agent at the top.
        depth: The number of agents above it.
        is_alone: Whether it is asked by nobody and asks nobody.
        idle: After how many seconds without a message a conversation with it has ended; infinity for never.
        holder: Its own name, if runs come to it by handoffs only.
    """

    name: str
    path: Sequence[str]
    agent: AgentDefinition
    model: Model
    approvals: Approvals
    hooks: Sequence[object]
    context: ContextPolicy
    writers: Sequence[Model]
    root: tuple[str, Budget]
    depth: int
    is_alone: bool
    idle: float
    holder: str | None = None


class Team(Protocol):
    """What an agent belongs to; what it is knows this module."""

    @property
    def hidden(self) -> Collection[tuple[str, str]]:
        """What its runs may not keep of models and servers: each with what it is."""
        ...

    def told(self, runner: object, begin: BeginTold) -> AbstractAsyncContextManager[AsyncIterator[object]]:
        """The parts of a run of the agent at the top."""
        ...

    def lifespan(self) -> AbstractAsyncContextManager[object]:
        """Opens models and connections."""
        ...
