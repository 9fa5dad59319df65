"""What stands round the calls of models and tools: guardrails, caches, logs of one's own.

Hooks are an onion: the first in the list is the outermost. They stand round what a step of the run does: the step
begins with the outermost hook, and what that returns is saved. So hooks

- run again, from the outermost one on, when a crash has interrupted the step and it is made again;
- do not run again for an answer or a result that is saved;
- run when a person has allowed the call, where one has to, and before the tool is called.

A hook with an attribute ``inherited = True`` also stands round the calls of all agents below its agent, outside of
theirs.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from inspect import isawaitable, signature
from typing import Any, Generic, Protocol, TypeAlias, runtime_checkable

from typing_extensions import TypeVar

from stagepost._dataclasses import dataclass
from stagepost.hub import get_logger
from stagepost.workflows import own_failure

from .._models._messages import ToolCall
from .._models._model import ModelRequest, ModelResponse
from .._tools._context import ToolContext
from .._tools._invoking import ToolResult, error_result
from ..errors import AgentError, InvalidHook

GivenT = TypeVar("GivenT")
DepsT_co = TypeVar("DepsT_co", covariant=True, default=Any)

AnswerModel: TypeAlias = Callable[[ModelRequest], Awaitable[ModelResponse]]
"""Asks a model."""

MakeCall: TypeAlias = Callable[[ToolCall, ToolContext], Awaitable[ToolResult]]
"""Makes a tool call."""


@dataclass(frozen=True)  # no slots: frozen, they would refuse ModelContext[Pool](…)
class ModelContext(Generic[DepsT_co]):
    """Which question to a model it is that a hook stands round.

    Annotate the parameter as ``ModelContext[Pool]`` where the process gives a ``Pool`` as deps.

    Attributes:
        run_id: The run of the agent that asks. Runs in memory have one too.
        agent: Name of the agent.
        path: Names of the agents from the one at the top to this one.
        turn: Number of the answer, from 1. Where a run goes on after the end of another one, so does the number.
        deps: What the process gave to the runner or to ``run``; never stored.
    """

    run_id: str
    agent: str
    path: Sequence[str]
    turn: int
    deps: DepsT_co


@runtime_checkable
class ModelHook(Protocol):
    """Stands round each question to the model: an object with ``model_call``, in ``Agent(hooks=[…])``.

    With an attribute ``inherited = True`` it also stands round those of all agents below.
    """

    async def model_call(self, request: ModelRequest, context: ModelContext, call: AnswerModel) -> ModelResponse:
        """Answer a request: by ``await call(request)``, changed or not, or without it.

        What it returns is what the model is taken to have said, though tokens of another answer may have been heard;
        its usage is what the turn has cost, so whoever asks more than once adds it up. What it raises fails the run,
        which can then be resumed. After a crash a question that was not answered is asked again, with all hooks.

        Args:
            request: What the model is to be asked.
            context: Which agent asks, in which run and turn.
            call: Asks the next hook, or the model.
        """
        ...


@runtime_checkable
class ToolHook(Protocol):
    """Stands round each call of a tool: an object with ``tool_call``, in ``Agent(hooks=[…])``.

    With an attribute ``inherited = True`` it also stands round those of all agents below.
    """

    async def tool_call(
        self, call: ToolCall, context: ToolContext, proceed: Callable[[ToolCall], Awaitable[ToolResult]]
    ) -> ToolResult:
        """Make a call: by ``await proceed(call)``, its arguments changed or not, or without it.

        To refuse it, return ``ToolResult("why", is_error=True)``: the model reads it. An `AgentError` that it raises
        fails the run; of any other error the model is told, as of a tool's, and the log. `proceed` never raises
        anything but an `AgentError`: what goes wrong behind it comes as a result. A tool that is not idempotent is
        called once, however often a hook proceeds. Hooks run when a person has allowed the call, where one has to, and
        again where a crash has interrupted them or the call.

        Args:
            call: What is to be called. Which tool it is cannot be changed: that is what a person may have allowed.
            context: What the tool gets: which agent calls, in which run and turn.
            proceed: Asks the next hook, or calls the tool.
        """
        ...


def all_hooks(above: Iterable[object], own: Iterable[object]) -> Sequence[object]:
    """The hooks of an agent, the outermost first, each once: those that it inherits, and its own."""
    return tuple({id(hook): hook for hook in (*above, *own)}.values())


def inherited(hooks: Iterable[object]) -> Sequence[object]:
    """Those of an agent's hooks that the agents below it have, too."""
    return tuple(hook for hook in hooks if getattr(hook, "inherited", False) is True)


def hook_problem(hook: object) -> str | None:
    """What is wrong with a hook, as far as the signatures of its methods say."""
    for name, taken in (("model_call", "request, context, call"), ("tool_call", "call, context, proceed")):
        method = getattr(hook, name, None)
        if callable(method) and not _takes_three(method):
            given = ", ".join(["self", *signature(method).parameters])
            return f"{type(hook).__name__}.{name}({given}) is to be `async def {name}(self, {taken})`"
    if not isinstance(getattr(hook, "inherited", False), bool):
        return f"{type(hook).__name__}.inherited is to be True or False"
    return None


def _takes_three(method: Callable[..., object]) -> bool:
    try:
        signature(method).bind(None, None, None)
    except TypeError:
        return False
    except ValueError:  # it does not tell
        return True
    return True


def model_chain(hooks: Iterable[object], answer: AnswerModel, context: ModelContext) -> AnswerModel:
    """Asking a model, with hooks round it; without any, what was given.

    Args:
        hooks: The outermost one first; those that have nothing to do with models are left out.
        answer: Asks the model itself.
        context: What the hooks are told.
    """
    chain = answer
    for hook in reversed([hook for hook in hooks if isinstance(hook, ModelHook)]):
        chain = partial(_answered, hook, chain, context)
    return chain


def tool_chain(hooks: Iterable[object], make: MakeCall) -> MakeCall:
    """Making a tool call, with hooks round it; without any, what was given.

    Args:
        hooks: The outermost one first; those that have nothing to do with tools are left out.
        make: Makes the call itself. It may be asked more than once, and then must not repeat what may not be repeated.
    """
    chain = make
    for hook in reversed([hook for hook in hooks if isinstance(hook, ToolHook)]):
        chain = partial(_made, hook, chain)
    return chain


async def _answered(hook: ModelHook, inner: AnswerModel, context: ModelContext, request: ModelRequest) -> ModelResponse:
    name = f"{type(hook).__name__}.model_call"
    given = await _awaitable(name, hook.model_call(request, context, inner))
    _check_kind(name, given, ModelResponse, "what call(request) has given")
    return given


async def _made(hook: ToolHook, inner: MakeCall, call: ToolCall, context: ToolContext) -> ToolResult:
    name = f"{type(hook).__name__}.tool_call"

    async def proceed(changed: ToolCall) -> ToolResult:
        if (changed.id, changed.name) != (call.id, call.name):
            why = f"the call of {call.name!r} has become one of {changed.name!r}: change nothing but its arguments"
            raise InvalidHook(name, why)
        return await inner(changed, context)

    try:
        given = await _awaitable(name, hook.tool_call(call, context, proceed))
    except AgentError:
        raise
    except BaseException as error:  # noqa: BLE001  # as a tool's failure, it concerns this call only
        failure = own_failure(error)
        get_logger("agents").warning("tool_hook_failed", hook=name, tool=call.name, error=type(failure).__name__)
        return error_result(failure)
    _check_kind(name, given, ToolResult, "what proceed(call) has given")
    return given


def _awaitable(hook: str, given: Awaitable[GivenT]) -> Awaitable[GivenT]:
    if not isawaitable(given):
        raise InvalidHook(hook, "it is not async: define it with `async def`")
    return given


def _check_kind(hook: str, given: object, kind: type, usual: str) -> None:
    if not isinstance(given, kind):
        raise InvalidHook(
            hook, f"it has returned {type(given).__name__}: return a {kind.__name__}, {usual} or your own"
        )
