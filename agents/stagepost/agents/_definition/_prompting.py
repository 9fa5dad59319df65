"""Prompt functions, called for each turn."""

import inspect
from collections.abc import Awaitable, Callable
from functools import partial
from types import UnionType
from typing import Any, Generic, TypeAlias, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from typing_extensions import TypeVar

from stagepost._dataclasses import dataclass
from stagepost.hub import describe_error
from stagepost.workflows import own_failure

from .._models._filled_prompt import FilledPrompt
from ..errors import PromptFailed

FieldsT_co = TypeVar("FieldsT_co", bound=BaseModel, covariant=True, default=BaseModel)
DepsT_co = TypeVar("DepsT_co", covariant=True, default=Any)


@dataclass(frozen=True)  # no slots: frozen, they would refuse PromptContext[Query](…)
class PromptContext(Generic[FieldsT_co, DepsT_co]):
    """The context of a prompt function.

    Annotate the parameter as ``PromptContext[Query]`` if the agent has ``input=Query``, and as
    ``PromptContext[Query, Pool]`` if deps are a ``Pool``.

    Attributes:
        agent: Name of the agent.
        run_id: The run. Runs in memory have one too.
        fields: The fields of the request; None if it was a text.
        deps: What the process passed to the runner or to ``run``; never stored.
        model: Name of the agent's model.
    """

    agent: str
    run_id: str
    fields: FieldsT_co | None
    deps: DepsT_co
    model: str = ""


PromptFunction: TypeAlias = Callable[[PromptContext[Any, Any]], str | FilledPrompt | Awaitable[str | FilledPrompt]]
"""A prompt as a function, sync or async. A sync one runs in the event loop and must not block."""


async def ask_prompt(function: PromptFunction, context: PromptContext[BaseModel]) -> str | FilledPrompt:
    """The prompt for one turn.

    Raises:
        PromptFailed: The function has raised, or returned no text.
    """
    try:
        given = function(context)
        text: object = await given if inspect.isawaitable(given) else given
    except BaseException as error:  # noqa: BLE001  # what is no failure is raised again
        failure = own_failure(error)
        raise PromptFailed(context.agent, describe_error(failure)) from failure
    if not isinstance(text, str | FilledPrompt):
        raise PromptFailed(context.agent, f"it returned {type(text).__name__}, not a text")
    return text


def prompt_name(function: PromptFunction) -> str:
    """What a prompt function is called."""
    return getattr(function, "__qualname__", type(function).__qualname__)


def prompt_problem(function: PromptFunction, fields: type[BaseModel] | None) -> str | None:
    """What is wrong with a prompt function, as far as its signature says.

    Args:
        function: The function.
        fields: Model of what the agent is asked with; None if that is always a text.
    """
    try:
        parameters = inspect.signature(function)
        parameters.bind(None)
    except ValueError:  # a builtin, for one, does not tell
        return None
    except TypeError:
        return f"{prompt_name(function)}{parameters} takes one argument: make it (context: PromptContext) -> str"
    expected = _expected(function, next(iter(parameters.parameters)))
    if not expected or (fields is not None and issubclass(fields, expected)):
        return None
    names = " or ".join(each.__name__ for each in expected)
    given = "no input" if fields is None else f"input={fields.__name__}"
    return f"{prompt_name(function)} takes PromptContext[{names}], and the agent has {given}: make them agree"


def _expected(function: PromptFunction, parameter: str) -> tuple[type[BaseModel], ...]:
    """The models that a function's context may have as fields; none if it does not say."""
    plain: Callable[..., object] = function
    while isinstance(plain, partial):
        plain = plain.func
    plain = inspect.unwrap(plain)
    called = plain if inspect.isroutine(plain) else type(plain).__call__
    try:
        annotation = get_type_hints(called).get(parameter)
    except (AttributeError, NameError, TypeError):  # annotations for type checkers alone
        return ()
    if get_origin(annotation) is not PromptContext:
        return ()
    fields = get_args(annotation)[0]
    models = get_args(fields) if get_origin(fields) in (Union, UnionType) else (fields,)
    return tuple(
        each for each in models if isinstance(each, type) and issubclass(each, BaseModel) and each != BaseModel
    )
