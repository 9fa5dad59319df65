"""Functions that a model may call."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, ParamSpec, TypeAlias, TypeVar, overload

from stagepost.hub import Duration, check_name, seconds

from ._arguments import Parameters, read_arguments
from ._docstring import parse_docstring
from ._model import ToolSchema
from .errors import InvalidTool

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


@dataclass(frozen=True, eq=False)
class Tool(Generic[P, R_co]):
    """A function that a model may call, made by `tool`. It can be called like the function itself.

    Attributes:
        name: What the model calls it by.
        description: What the model knows of it.
        idempotent: Whether a call that was interrupted may simply be made again.
        timeout: Seconds that a call may take; None for no limit.
        function: The function.
        needs_approval: Whether a person has to allow each call.
    """

    name: str
    description: str
    idempotent: bool
    timeout: float | None
    function: Callable[P, R_co] = field(repr=False)
    _arguments: Parameters = field(repr=False)
    needs_approval: bool = False

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        return self.function(*args, **kwargs)

    @property
    def schema(self) -> ToolSchema:
        """The tool as the model sees it."""
        return ToolSchema(self.name, self.description, self._arguments.schema)

    @property
    def is_async(self) -> bool:
        """Whether the function runs in the event loop rather than in a thread."""
        function: object = self.function
        while isinstance(function, partial):
            function = function.func
        called = getattr(function, "__call__", None)  # noqa: B004  # its kind, not its presence
        return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)

    @property
    def takes_context(self) -> bool:
        """Whether the function wants a `ToolContext`."""
        return self._arguments.takes_context

    def parse(self, arguments: str) -> Mapping[str, object]:
        """The arguments of a call, checked, by name.

        Raises:
            InvalidArguments: They are no JSON object, or do not fit.
        """
        return self._arguments.parse(arguments)


ToolLike: TypeAlias = Tool[..., object] | Callable[..., object]


@overload
def tool(function: Callable[P, R_co], /) -> Tool[P, R_co]: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    idempotent: bool = False,
    timeout: Duration | None = None,
    needs_approval: bool = False,
) -> Callable[[Callable[P, R_co]], Tool[P, R_co]]: ...
def tool(
    function: Callable[P, R_co] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    idempotent: bool = False,
    timeout: Duration | None = None,
    needs_approval: bool = False,
) -> Tool[P, R_co] | Callable[[Callable[P, R_co]], Tool[P, R_co]]:
    """Make a tool of a function, as ``@tool`` or ``@tool(idempotent=True)``.

    The model sees the function's docstring, and its parameters with their types, defaults and what the docstring's
    ``Args:`` says of them. A parameter named ``context`` is hidden from it and gets a `ToolContext`. The function is
    async, or runs in a thread. What it returns has to have a form in JSON, as text, numbers, lists, dicts and pydantic
    models do; what it raises is told to the model.

    Args:
        function: The function.
        name: What the model calls it by; by default the function's name.
        description: Instead of the docstring's text.
        idempotent: A call that a crash has interrupted is made again. Without it nothing is ever called twice, and the
            model is told that the outcome is unknown.
        timeout: Seconds (or a `timedelta`) that a call may take. A thread cannot be stopped: it goes on unheard.
        needs_approval: A person has to allow each call.

    Raises:
        InvalidTool: The function has no name, or a parameter that the model cannot be told of.
        InvalidName: The name holds characters that are not allowed.
    """

    def make(function: Callable[P, R_co]) -> Tool[P, R_co]:
        own = _name(function) if name is None else name
        check_name("tool name", own)
        said = parse_docstring(function.__doc__)
        return Tool(
            name=own,
            description=said.description if description is None else description,
            idempotent=idempotent,
            timeout=None if timeout is None else seconds(timeout),
            function=function,
            needs_approval=needs_approval,
            _arguments=read_arguments(own, function, said.parameters),
        )

    return make if function is None else make(function)


def as_tool(made: ToolLike) -> Tool[..., object]:
    """A tool of a plain function; a tool as it is."""
    return made if isinstance(made, Tool) else tool(made)


def _name(function: Callable[..., object]) -> str:
    name = getattr(function, "__name__", "<lambda>")
    if name == "<lambda>":
        raise InvalidTool(repr(function), "it has no name of its own: use tool(name=…)")
    return str(name)
