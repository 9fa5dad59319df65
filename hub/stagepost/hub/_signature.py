"""Parsing of handler signatures: which payloads a handler takes and how to call it."""

from collections.abc import Callable
from inspect import Parameter, signature
from types import SimpleNamespace
from typing import Final, get_args, get_origin, get_type_hints

from stagepost._dataclasses import dataclass

from ._layers import generates, is_coroutine_function, name_of, scope_of, turned
from ._message import Message
from ._payloads import Unroutable, payload_classes
from .errors import InvalidHandler

_POSITIONAL: Final = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_VARIADIC: Final = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Signature:
    """How to call a handler. It has no reference to the handler, so that it can be cached by a weak key.

    Attributes:
        name: The handler's module and qualified name.
        payloads: The payload classes it takes.
        is_async: Whether its call always returns an awaitable.
        takes_message: Whether it takes the whole message instead of the payload.
        takes_context: Whether it has a parameter named ``context``.
        may_generate: Whether its result may be a generator, whose parts are streamed.
        streams: Whether it always is one.
    """

    name: str
    payloads: tuple[type, ...]
    is_async: bool
    takes_message: bool
    takes_context: bool
    may_generate: bool
    streams: bool


def read_signature(
    function: Callable[..., object], declared: tuple[type, ...] = (), *, method: bool = False
) -> Signature:
    """Read a handler's signature.

    Args:
        function: The handler, or the plain function of a method.
        declared: The payload classes given to `handles`; empty if the annotation names them.
        method: Whether the first parameter is ``self``.

    Raises:
        InvalidHandler: It has no payload parameter, wants more than a payload and a context, or its annotation names
            no class to route by.
    """
    name = name_of(function)
    is_async, is_generator = is_coroutine_function(function), generates(function)
    if is_generator and not is_async:
        check_fresh(function, name)
    payload, takes_context = _parameters(function, name, declared=bool(declared), method=method)
    annotation = payload.annotation if declared else _resolved(function, payload, name)
    takes_message = _is_message(annotation)
    if takes_message and not declared:
        annotation = get_args(annotation)[0] if get_args(annotation) else object
    return Signature(
        name=name,
        payloads=declared or _routed(annotation, name),
        is_async=is_async,
        takes_message=takes_message,
        takes_context=takes_context,
        may_generate=is_generator or not is_async,
        streams=is_generator and not is_async,
    )


def check_fresh(function: object, name: str) -> None:
    """Refuse a generator function that a decorator has turned into something else.

    Raises:
        InvalidHandler: A call does not return a generator, or returns the same one again.
    """
    changed = turned(function)
    if changed is not None:
        raise InvalidHandler(name, f"is a generator, turned into {changed}", "register the generator function itself")


def _parameters(function: Callable[..., object], name: str, *, declared: bool, method: bool) -> tuple[Parameter, bool]:
    """The payload parameter, and whether there is one for the context."""
    try:
        parameters = list(signature(function).parameters.values())
    except (TypeError, ValueError):
        raise InvalidHandler(name, "has no signature to read", "wrap it in a function of your own") from None
    if method and parameters and parameters[0].kind in _POSITIONAL:
        del parameters[0]
    kinds = (*_POSITIONAL, Parameter.VAR_POSITIONAL) if declared else _POSITIONAL  # a decorator may hide the names
    if not parameters or parameters[0].kind not in kinds or parameters[0].name == "context":
        raise InvalidHandler(
            name,
            "takes no payload",
            "its first parameter gets the payload, one named `context` the context; if a decorator hides them, let it "
            "use functools.wraps, or name the payload's class by @handles(ItsClass)",
        )
    payload, *others = parameters
    if payload.name == "self" and payload.annotation is Parameter.empty:
        raise InvalidHandler(name, "is a method without its object", "register the object, or its bound method")
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
    try:
        return get_type_hints(SimpleNamespace(__annotations__={"payload": annotation}), scope_of(function))["payload"]
    except Exception as error:  # noqa: BLE001 - evaluating it runs somebody else's code
        problem = f"has an annotation that cannot be read at run time ({annotation!r}: {error})"
        raise InvalidHandler(
            name, problem, "import or define the class at module level, or use @handles(ItsClass)"
        ) from None


def _is_message(annotation: object) -> bool:
    if isinstance(annotation, str):  # only together with @handles(…), which makes evaluating it unnecessary
        return annotation.partition("[")[0].rpartition(".")[2].strip() == Message.__name__
    return annotation is Message or get_origin(annotation) is Message


def _routed(annotation: object, name: str) -> tuple[type, ...]:
    try:
        return tuple(dict.fromkeys(payload_classes(annotation)))
    except Unroutable as error:
        problem = f"is annotated with {error.annotation!r}, which {error.why}"
        raise InvalidHandler(name, problem, "annotate the payload with a class or a union of classes") from None
