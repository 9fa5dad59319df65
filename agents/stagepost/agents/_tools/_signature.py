"""What a function takes, as its author has written it."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from inspect import Parameter
from types import SimpleNamespace
from typing import Any, Final, NamedTuple, get_type_hints

from pydantic.fields import FieldInfo

from ..errors import InvalidTool

_CONTEXT: Final = "context"
_NAMED: Final = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
_UNREADABLE: Final = (NameError, AttributeError, SyntaxError, TypeError)  # what annotations that are texts may come to


class Taken(NamedTuple):
    """A parameter that the model gives.

    Attributes:
        name: Its name.
        type: Its annotation.
        default: Its default; `Parameter.empty` if it has none.
    """

    name: str
    type: Any
    default: object

    @property
    def has_default(self) -> bool:
        """Whether it may be left out."""
        return self.default is not Parameter.empty


class Signature(NamedTuple):
    """The parameters of a function.

    Attributes:
        taken: Those that the model gives.
        takes_context: Whether there is one named ``context``.
    """

    taken: Sequence[Taken]
    takes_context: bool


def read_signature(tool: str, function: Callable[..., object]) -> Signature:
    """Read a function's parameters. What a `partial` has bound is not among them: its values may be secrets.

    Args:
        tool: The tool's name, for errors.
        function: The function.

    Raises:
        InvalidTool: A parameter has no type, or cannot be given by name.
    """
    bound = frozenset(_bound(function))
    open_ = [parameter for parameter in _parameters(tool, function) if parameter.name not in bound]
    for parameter in open_:
        if parameter.kind not in _NAMED:
            raise InvalidTool(tool, f"its parameter {parameter} cannot be given by name: write each one out")
    given = [parameter for parameter in open_ if parameter.name != _CONTEXT]
    for parameter in given:
        _check(tool, parameter)
    types = _types(tool, function, given)
    taken = [Taken(parameter.name, types[parameter.name], parameter.default) for parameter in given]
    return Signature(taken, takes_context=len(given) < len(open_))


def _parameters(tool: str, function: Callable[..., object]) -> Sequence[Parameter]:
    try:
        return tuple(inspect.signature(function).parameters.values())
    except (TypeError, ValueError) as error:
        raise InvalidTool(tool, f"its parameters cannot be read ({error}): write a function around it") from None


def _bound(function: Callable[..., object]) -> Iterator[str]:
    while isinstance(function, partial):
        yield from function.keywords
        function = function.func


def _check(tool: str, parameter: Parameter) -> None:
    if parameter.annotation is Parameter.empty:
        raise InvalidTool(tool, f"its parameter {parameter.name!r} has no type: annotate it")
    if isinstance(parameter.default, FieldInfo):  # the function would get the field where the model gives nothing
        raise InvalidTool(tool, f"its parameter {parameter.name!r} has a field as default: use Annotated[…, Field(…)]")


def _types(tool: str, function: Callable[..., object], given: Sequence[Parameter]) -> dict[str, Any]:
    """The parameters' annotations as objects. That of `context` is not looked at: it may be for type checkers only."""
    annotations = {parameter.name: parameter.annotation for parameter in given}
    try:
        return get_type_hints(SimpleNamespace(__annotations__=annotations), _scope(function), include_extras=True)
    except _UNREADABLE as error:
        raise InvalidTool(
            tool, f"an annotation cannot be read at run time ({error}): define the type at module level"
        ) from None


def _scope(function: Callable[..., object]) -> dict[str, object]:
    """The names that the function's annotations may use."""
    while isinstance(function, partial):
        function = function.func
    plain = inspect.unwrap(function)
    called = plain if hasattr(plain, "__globals__") else type(plain).__call__
    scope: dict[str, object] = getattr(called, "__globals__", {})
    return scope
