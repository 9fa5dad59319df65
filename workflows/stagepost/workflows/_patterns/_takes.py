"""Whether a step's function is written for the state that it gets."""

from types import UnionType
from typing import Annotated, Any, get_origin

from pydantic import BaseModel

from .._steps._step import Step
from ..errors import DefinitionError


def check_takes(step: Step, takes: Any, state: type[BaseModel] | None) -> None:
    """See that a step's function is written for the kind of state that it gets.

    Only plain classes are judged: what a union, a protocol or a type variable means is left to type checkers.

    Args:
        step: The step.
        takes: Annotation of its first parameter; None if there is none.
        state: Model of the state; None for a plain `State`.

    Raises:
        DefinitionError: It is not.
    """
    plain = takes.__origin__ if get_origin(takes) is Annotated else takes
    kind = get_origin(plain) or plain
    if kind in (Any, UnionType) or not isinstance(kind, type) or getattr(kind, "_is_protocol", False):
        return
    if state is not None and not issubclass(state, kind):
        why = f"its function takes {kind.__name__}, and the state is {state.__name__}: annotate it so"
        raise DefinitionError(f"step {step.name!r}", why)
    if state is None and issubclass(kind, BaseModel):
        why = f"its function takes {kind.__name__}, and gets a State: give the outermost pattern state={kind.__name__}"
        raise DefinitionError(f"step {step.name!r}", why)
