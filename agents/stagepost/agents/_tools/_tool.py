"""Functions that a model may call."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import cached_property, partial
from typing import ClassVar, Final, Generic, Literal, ParamSpec, TypeAlias, TypeVar, get_args, overload

from stagepost._dataclasses import dataclass
from stagepost.hub import Duration, check_name, seconds

from .._models._model import ToolSchema
from .._retries import Retries
from ..errors import InvalidTool
from ._arguments import Parameters, read_arguments
from ._docstring import parse_docstring

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)

OnUnknown: TypeAlias = Literal["tell", "park"]
"""What becomes of a call that nobody knows the outcome of: the model is told, or the run parks until a person says."""

TOOL_RETRIES: Final = Retries(attempts=3, first=1, most=10)


@dataclass(frozen=True, eq=False)
class Tool(Generic[P, R_co]):
    """A function that a model may call, made by `tool`. It can be called like the function itself.

    Attributes:
        name: Its name for the model.
        description: Its description for the model.
        idempotent: Whether a call that was interrupted may simply be made again.
        timeout: Seconds that a call may take; None for no limit.
        function: The function.
        needs_approval: Whether each call needs a person's approval.
        on_unknown: What happens to a call that a crash has interrupted, if the tool is not idempotent: ``"tell"`` tells
            the model that the outcome is unknown, ``"park"`` parks the run until a person decides.
        retries: When a call is retried after a transient error; None for never. Unless the tool is idempotent, only if
            the error says that nothing was called.
        brings_agent: Whether it comes with an agent, which has to be known before a run begins.

    Raises:
        InvalidTool: The options contradict each other.
    """

    brings_agent: ClassVar[bool] = False

    name: str
    description: str
    idempotent: bool
    timeout: float | None
    function: Callable[P, R_co] = field(repr=False)
    _arguments: Parameters = field(repr=False)
    needs_approval: bool = False
    on_unknown: OnUnknown = "tell"
    retries: Retries | None = TOOL_RETRIES

    def __post_init__(self) -> None:
        if self.on_unknown not in get_args(OnUnknown):
            raise InvalidTool(self.name, f"on_unknown={self.on_unknown!r}: give 'tell' or 'park'")
        if self.idempotent and self.on_unknown == "park":
            why = "on_unknown='park' makes no sense with idempotent=True, whose calls are made again: leave one out"
            raise InvalidTool(self.name, why)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        return self.function(*args, **kwargs)

    @property
    def schema(self) -> ToolSchema:
        """The tool as the model sees it."""
        return ToolSchema(self.name, self.description, self._arguments.schema)

    @cached_property
    def is_async(self) -> bool:
        """Whether the function runs in the event loop rather than in a thread."""
        function: object = self.function
        while isinstance(function, partial):
            function = function.func
        called = getattr(function, "__call__", None)  # noqa: B004  # its kind, not its presence
        return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)

    @cached_property
    def takes_context(self) -> bool:
        """Whether the function wants a `ToolContext`."""
        return self._arguments.takes_context

    def parse(self, arguments: str) -> Mapping[str, object]:
        """The arguments of a call, checked, by name.

        Raises:
            InvalidArguments: They are not a JSON object, or do not fit.
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
    on_unknown: OnUnknown = "tell",
    retries: Retries | None = TOOL_RETRIES,
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
    on_unknown: OnUnknown = "tell",
    retries: Retries | None = TOOL_RETRIES,
) -> Tool[P, R_co] | Callable[[Callable[P, R_co]], Tool[P, R_co]]:
    """Make a tool from a function, as ``@tool`` or ``@tool(idempotent=True)``.

    The model sees the function's docstring, and its parameters with their types, defaults and descriptions from the
    docstring, in the style of Google, NumPy or Sphinx. A parameter named ``context`` is hidden from it and gets a
    `ToolContext`. Sync functions run in a thread. The result needs a JSON form, like text, numbers, lists, dicts and
    pydantic models; errors are told to the model.

    If a call of an idempotent tool ends with a `ConnectionError` or a `TimeoutError`, including the tool's own time
    limit and `ToolUnavailable`, it is retried as `retries` says. That needs the extra ``retry`` (tenacity).

    Args:
        function: The function.
        name: Its name for the model; by default the function's name.
        description: Replaces the docstring's text.
        idempotent: A call that a crash or a transient error has interrupted is made again. Without it nothing is ever
            called twice, and after a crash `on_unknown` decides.
        timeout: Seconds (or a `timedelta`) that one attempt may take. A thread cannot be stopped: it runs on, possibly
            during the next attempt, and its result is ignored.
        needs_approval: Whether each call needs a person's approval.
        on_unknown: What happens to a call that a crash has interrupted and that must not be repeated: ``"tell"`` tells
            the model that the outcome is unknown, ``"park"`` parks the run until a person decides.
        retries: When calls of an idempotent tool are retried; None for never.

    Raises:
        InvalidTool: The function has no name, or a parameter that cannot be described to the model; or the options
            contradict each other.
        InvalidName: The name contains characters that are not allowed.
    """

    def make(function: Callable[P, R_co]) -> Tool[P, R_co]:
        own = _name(function) if name is None else name
        check_name("tool name", own)
        _check_retries(own, retries, idempotent=idempotent)
        said = parse_docstring(function.__doc__)
        return Tool(
            name=own,
            description=said.description if description is None else description,
            idempotent=idempotent,
            timeout=None if timeout is None else seconds(timeout),
            function=function,
            needs_approval=needs_approval,
            on_unknown=on_unknown,
            retries=retries,
            _arguments=read_arguments(own, function, said.parameters),
        )

    return make if function is None else make(function)


def as_tool(made: ToolLike) -> Tool[..., object]:
    """A tool of a plain function; a tool as it is."""
    return made if isinstance(made, Tool) else tool(made)


def _check_retries(name: str, retries: Retries | None, *, idempotent: bool) -> None:
    if not idempotent and retries not in (None, TOOL_RETRIES):
        why = "retries= is for tools that may be called again: add idempotent=True if it may, or leave it out"
        raise InvalidTool(name, why)


def _name(function: Callable[..., object]) -> str:
    name = getattr(function, "__name__", "<lambda>")
    if name == "<lambda>":
        raise InvalidTool(repr(function), "it has no name of its own: use tool(name=…)")
    return str(name)
