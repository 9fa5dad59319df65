"""What a handler's signature says: which payloads it takes and how it wants to be called."""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import Parameter, iscoroutinefunction, signature, unwrap
from types import SimpleNamespace
from typing import Final, TypeVar, get_args, get_origin, get_type_hints, overload

from ._message import Message
from ._payloads import Unroutable, payload_classes
from .errors import InvalidHandler

_MARK: Final = "__stagepost_handles__"
_POSITIONAL: Final = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_VARIADIC: Final = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)

FunctionT = TypeVar("FunctionT", bound=Callable[..., object])


@overload
def handles(payload: type, /, *more: type) -> Callable[[FunctionT], FunctionT]: ...
@overload
def handles(function: FunctionT, /) -> FunctionT: ...
def handles(first: type | FunctionT, /, *more: type) -> FunctionT | Callable[[FunctionT], FunctionT]:
    """Mark a method as the handler for the payloads that its first parameter is annotated with.

    As ``@handles(Question, Note)`` it names the payload classes itself, which also serves functions whose annotation is
    missing or cannot be read at run time.
    """
    if isinstance(first, type):
        payloads = (first, *more)
        return lambda function: _marked(function, payloads)
    return _marked(first, ())


def _marked(function: FunctionT, payloads: tuple[type, ...]) -> FunctionT:
    setattr(function, _MARK, payloads)
    return function


def mark_of(function: object) -> tuple[type, ...] | None:
    """The payload classes given to `handles`; empty if the annotation decides, None without a mark."""
    mark: tuple[type, ...] | None = getattr(function, _MARK, None)
    return mark


def name_of(function: object) -> str:
    """A handler's module and qualified name."""
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}.{named.__qualname__}"


@dataclass(frozen=True, slots=True)
class Shape:
    """How to call a handler. It holds no reference to the handler, so that it can be cached beside it weakly.

    Attributes:
        name: The handler's module and qualified name.
        payloads: The payload classes it takes.
        is_async: Whether its call always returns something to await.
        takes_message: Whether it wants the envelope instead of the payload.
        takes_context: Whether it has a parameter named ``context``.
    """

    name: str
    payloads: tuple[type, ...]
    is_async: bool
    takes_message: bool
    takes_context: bool


def read_shape(function: Callable[..., object], declared: tuple[type, ...] = (), *, method: bool = False) -> Shape:
    """Read a handler's signature.

    Args:
        function: The handler, or the plain function behind a method.
        declared: The payload classes given to `handles`; empty if the annotation says them.
        method: Whether the first parameter is ``self``.

    Raises:
        InvalidHandler: It has no payload parameter, wants more than a payload and a context, or its annotation names no
            class to route by.
    """
    name = name_of(function)
    payload, takes_context = _parameters(function, name, method=method)
    annotation = payload.annotation if declared else _resolved(function, payload, name)
    takes_message = _is_envelope(annotation)
    if takes_message and not declared:
        annotation = get_args(annotation)[0] if get_args(annotation) else object
    return Shape(
        name=name,
        payloads=declared or _routed(annotation, name),
        is_async=iscoroutinefunction(function),
        takes_message=takes_message,
        takes_context=takes_context,
    )


def _parameters(function: Callable[..., object], name: str, *, method: bool) -> tuple[Parameter, bool]:
    """The payload parameter, and whether there is one for the context."""
    try:
        parameters = list(signature(function).parameters.values())[1 if method else 0 :]
    except ValueError:
        raise InvalidHandler(name, "has no signature to read", "wrap it in a function of your own") from None
    if not parameters or parameters[0].kind not in _POSITIONAL or parameters[0].name == "context":
        raise InvalidHandler(
            name, "takes no payload", "its first parameter gets the payload, one named `context` the context"
        )
    payload, *others = parameters
    context = [other for other in others if other.name == "context" and other.kind is not Parameter.POSITIONAL_ONLY]
    strangers = [
        other.name
        for other in others
        if other not in context and other.default is Parameter.empty and other.kind not in _VARIADIC
    ]
    if strangers:
        problem = f"has parameters that nothing fills ({', '.join(strangers)})"
        raise InvalidHandler(name, problem, "take the payload and, if needed, `context`, and give others a default")
    return payload, bool(context)


def _resolved(function: Callable[..., object], payload: Parameter, name: str) -> object:
    """The payload's annotation as an object. Only this one is evaluated: others may exist for type checkers only."""
    annotation = payload.annotation
    if annotation is Parameter.empty:
        raise InvalidHandler(
            name,
            f"has no annotation for {payload.name!r}",
            "annotate it with the payload's class, or use @handles(ItsClass)",
        )
    if isinstance(annotation, type):
        return annotation
    scope = getattr(unwrap(function), "__globals__", {})
    try:
        return get_type_hints(SimpleNamespace(__annotations__={"payload": annotation}), scope)["payload"]
    except NameError as error:
        problem = f"has an annotation that cannot be read at run time ({annotation!r}: {error})"
        raise InvalidHandler(
            name, problem, "import or define the class at module level, or use @handles(ItsClass)"
        ) from None


def _is_envelope(annotation: object) -> bool:
    if isinstance(annotation, str):  # only beside @handles(…), which makes evaluating it unnecessary
        return annotation.partition("[")[0].rpartition(".")[2].strip() == Message.__name__
    return annotation is Message or get_origin(annotation) is Message


def _routed(annotation: object, name: str) -> tuple[type, ...]:
    try:
        return tuple(dict.fromkeys(payload_classes(annotation)))
    except Unroutable as error:
        problem = f"is annotated with {error.annotation!r}, which {error.why}"
        raise InvalidHandler(name, problem, "annotate the payload with a class or a union of classes") from None
