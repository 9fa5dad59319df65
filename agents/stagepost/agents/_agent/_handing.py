"""Whether what one agent answers is what the next one takes."""

from collections.abc import Callable, Mapping
from inspect import iscoroutinefunction, signature
from typing import Any, get_type_hints

from .._definition._definition import AgentDefinition
from .._output._output import type_name

_WAY_OUT = "or give then(…, request=…), a function that makes the request of the answer"


def handing_problem(
    first: AgentDefinition, second: AgentDefinition, request: Callable[[Any], object] | None
) -> str | None:
    """Why an agent cannot be asked with what another one has answered; None if it can, as far as types say.

    Args:
        first: The agent that answers.
        second: The agent that is asked.
        request: Makes the request of the answer; None if it is handed on as it is.
    """
    if request is not None:
        return _function_problem(first, second, request)
    if _fits(first.output, second.input):
        return None
    return (
        f"it answers with {_shown(first.output)}, and {second.name!r} takes {_shown(second.input)}: "
        f"make output= and input= agree, {_WAY_OUT}"
    )


def _function_problem(first: AgentDefinition, second: AgentDefinition, request: Callable[[Any], object]) -> str | None:
    """What is wrong with the function between, as far as it says what it takes and gives."""
    if iscoroutinefunction(request):
        return f"request={request!r:.80} is async: give a plain function from the answer to the request"
    if not _takes_one(request):
        return f"request={request!r:.80} does not take one argument: give a function from the answer to the request"
    taken, made = _hints(request)
    if taken is not None and not _fits(first.output, taken):
        return f"it answers with {_shown(first.output)}, and request= takes {_shown(taken)}: make them agree"
    if made is not None and not issubclass(made, str | Mapping) and not _fits(made, second.input):
        return f"request= gives {_shown(made)}, and {second.name!r} takes {_shown(second.input)}: make them agree"
    return None


def _fits(given: object, taken: object) -> bool:
    """Whether a value of one type is one of another; None stands for texts."""
    given, taken = given or str, taken or str
    if isinstance(given, type) and isinstance(taken, type):
        return issubclass(given, taken)
    return bool(given == taken)


def _takes_one(function: object) -> bool:
    if not callable(function):
        return False
    try:
        signature(function).bind(None)
    except TypeError:
        return False
    except ValueError:  # a builtin, for one, does not tell
        return True
    return True


def _hints(function: Callable[..., object]) -> tuple[type | None, type | None]:
    """The types of a function's argument and of what it returns, as far as they are said and are classes."""
    try:
        hints = get_type_hints(function)
        first = next(iter(signature(function).parameters))
    except (AttributeError, NameError, TypeError, ValueError):  # a builtin, or annotations for type checkers alone
        return None, None
    return _class(hints.get(first)), _class(hints.get("return"))


def _class(hint: object) -> type | None:
    return hint if isinstance(hint, type) and hint not in (object, type(None)) else None


def _shown(kind: object) -> str:
    return "a text" if kind in (None, str) else type_name(kind)
