"""Arguments of another kind than was meant, refused where they are given."""

from collections.abc import Iterable, Mapping
from typing import Protocol, TypeVar

from pydantic import BaseModel

from ..errors import DefinitionError

T = TypeVar("T")
KeyT = TypeVar("KeyT")
WorkflowT_co = TypeVar("WorkflowT_co", covariant=True)


class Works(Protocol[WorkflowT_co]):
    """Whatever a workflow does the work of."""

    def as_workflow(self) -> WorkflowT_co:
        """The workflow."""
        ...


def workflow_of(given: Works[WorkflowT_co], where: str) -> WorkflowT_co:
    """The workflow that does the work of something.

    Raises:
        DefinitionError: It is neither a workflow nor an agent.
    """
    if not hasattr(given, "as_workflow") or isinstance(given, type):
        name = "; runner.workflow(name) gives the one of a name" if isinstance(given, str) else ""
        raise DefinitionError(where, f"a workflow or an agent is wanted, and not {given!r:.80}{name}")
    return given.as_workflow()


def listed(where: str, what: str, given: Iterable[T]) -> tuple[T, ...]:
    """What was given as a list.

    Raises:
        DefinitionError: It is a single thing, or a mapping.
    """
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise DefinitionError(where, f"{what} is a list, and not {_shown(given)}: write [ ] around it")
    return tuple(given)


def mapped(where: str, what: str, given: Mapping[KeyT, T]) -> Mapping[KeyT, T]:
    """What was given as a mapping of names.

    Raises:
        DefinitionError: It is something else.
    """
    if not isinstance(given, Mapping):
        raise DefinitionError(where, f'{what} is a mapping, and not {_shown(given)}: give each a name, {{"name": …}}')
    return given


def check_model(where: str, state: object) -> None:
    """See that a state is declared by a pydantic model.

    Raises:
        DefinitionError: It is by something else, such as an instance.
    """
    if state is None or (isinstance(state, type) and issubclass(state, BaseModel)):
        return
    hint = (
        f"give the class, state={type(state).__name__}"
        if isinstance(state, BaseModel)
        else ("give a subclass of pydantic's BaseModel, or leave it out: a state without a model is a mapping")
    )
    raise DefinitionError(where, f"state={_shown(state)} is no pydantic model: {hint}")


def _shown(given: object) -> str:
    name = getattr(given, "__name__", None)
    return (
        name if isinstance(name, str) else f"{given!r:.80}" if isinstance(given, str) else f"a {type(given).__name__}"
    )
