"""Runs that the steps of a run start: their ids, what they begin with, who starts them."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

from pydantic import BaseModel

from stagepost.hub import check_name

Input: TypeAlias = Mapping[str, object] | BaseModel
Beginning: TypeAlias = Input | Callable[[], Any]

_DOT = "."  # in no name, so that no other run has such an id


class Startable(Protocol):
    """Whatever a step can start runs of: a pattern, or an agent."""

    def as_workflow(self) -> Any:
        """The pattern that does its work."""
        ...


class Children(Protocol):
    """Starts runs for steps, and finds them again; see `StepContext.child`.

    It stands below executions and patterns, which know it, and so does not name their types.
    """

    async def run(self, parent: Any, workflow: Any, key: str, start: Beginning, *, place: str) -> Any:
        """The final state of a child.

        Args:
            parent: The execution of the run whose step asks.
            workflow: The pattern that does the child's work.
            key: The child's name within the run.
            start: What it begins with.
            place: The step that asks.
        """
        ...

    async def begun(self, run_id: str) -> None:
        """Wait until all children that are about to begin have begun."""
        ...

    async def cancel(self, parent: Any, workflow: Any, key: str) -> None:
        """End a child for good, with those below it."""
        ...

    async def state(self, run_id: str, key: str) -> Any:
        """The final state of a child that has completed, or None."""
        ...


def child_id(run_id: str, key: str) -> str:
    """Id of a run's child.

    Raises:
        ValueError: The key is no name.
    """
    return f"{run_id}{_DOT}{check_name('key', key)}"


def is_child(run_id: str) -> bool:
    """Whether a step of another run has started the run."""
    return _DOT in run_id


def below(run_id: str) -> str:
    """What the ids of all runs begin with that the steps of a run have started, or the steps of those, and so on."""
    return f"{run_id}{_DOT}"


async def begun_with(start: Beginning) -> Input:
    """What a new child starts with."""
    if not callable(start):
        return start
    state: Any = start()
    if inspect.isawaitable(state):
        state = await state
    made: Input = state
    return made
