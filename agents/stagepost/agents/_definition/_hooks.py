"""Hooks: code around the calls of models and tools, such as guardrails, caches and logs.

Hooks are layers: the first in the list is the outermost. They surround the work of a step of the run: the step starts
with the outermost hook, and that hook's result is saved. So hooks

- run again, from the outermost one on, if a crash has interrupted the step and it is repeated;
- do not run again for a saved answer or result;
- run after the approval, if the call needs one, and before the tool is called.

A hook with an attribute ``inherited = True`` also applies to all agents below its agent, outside their own hooks.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from inspect import isawaitable, signature
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeGuard, runtime_checkable

from typing_extensions import TypeVar

from stagepost._dataclasses import dataclass
from stagepost.hub import get_logger
from stagepost.workflows import OutcomeUnknown, own_failure

from .._models._messages import ToolCall
from .._models._model import ModelRequest, ModelResponse
from .._tools._context import ToolContext
from .._tools._invoking import ToolResult, error_result
from ..errors import AgentError, InvalidHook

GivenT = TypeVar("GivenT")
DepsT_co = TypeVar("DepsT_co", covariant=True, default=Any)

_TAKEN: Final = {
    "model_call": "request, context, call",
    "tool_call": "call, context, proceed",
    "tool_progress": "progress, context",
}

AnswerModel: TypeAlias = Callable[[ModelRequest], Awaitable[ModelResponse]]
"""Asks a model."""

MakeCall: TypeAlias = Callable[[ToolCall, ToolContext], Awaitable[ToolResult]]
"""Makes a tool call."""


@dataclass(frozen=True)  # no slots: frozen, they would refuse ModelContext[Pool](…)
class ModelContext(Generic[DepsT_co]):
    """Tells a hook which question to a model it surrounds.

    Annotate the parameter as ``ModelContext[Pool]`` if deps are a ``Pool``.

    Attributes:
        run_id: The run of the agent that asks. Runs in memory have one too.
        agent: Name of the agent.
        path: Names of the agents from the root to this one.
        turn: Number of the answer, from 1. If a run continues another one, so does the number.
        deps: What the process passed to the runner or to ``run``; never stored.
        is_summary: Whether a summary is asked for, see `Summarize`, and no answer of the agent.
    """

    run_id: str
    agent: str
    path: Sequence[str]
    turn: int
    deps: DepsT_co
    is_summary: bool = False


@runtime_checkable
class ModelHook(Protocol):
    """Surrounds each question to the model: an object with ``model_call``, in ``Agent(hooks=[…])``.

    With an attribute ``inherited = True`` it also applies to all agents below.
    """

    async def model_call(self, request: ModelRequest, context: ModelContext, call: AnswerModel) -> ModelResponse:
        """Answer a request with ``await call(request)``, possibly a changed request, or without calling the model.

        The result counts as the model's answer, even if tokens of another answer were emitted; its usage counts as the
        turn's, so a hook that asks more than once adds it up. An exception fails the run, which can then be resumed.
        After a crash an unanswered question is asked again, through all hooks.

        Args:
            request: The request.
            context: Which agent asks, in which run and turn.
            call: Asks the next hook, or the model.
        """
        ...


@runtime_checkable
class ToolHook(Protocol):
    """Surrounds each call of a tool: an object with ``tool_call``, in ``Agent(hooks=[…])``.

    With an attribute ``inherited = True`` it also applies to all agents below.
    """

    async def tool_call(
        self, call: ToolCall, context: ToolContext, proceed: Callable[[ToolCall], Awaitable[ToolResult]]
    ) -> ToolResult:
        """Make a call with ``await proceed(call)``, possibly with changed arguments, or without calling the tool.

        To refuse the call, return ``ToolResult("why", is_error=True)``: the model reads it. If the hook raises an
        `AgentError`, the run fails; any other error is logged and told to the model, like a tool's. `proceed` raises
        only `AgentError`: other errors inside come as a result. A tool that is not idempotent is called once, however
        often a hook proceeds. Hooks run after the approval, if the call needs one, and again if a crash has interrupted
        them or the call.

        Args:
            call: The call. Its tool cannot be changed, since a person may have approved it.
            context: The tool's context: which agent calls, in which run and turn.
            proceed: Calls the next hook, or the tool.
        """
        ...


def all_hooks(above: Iterable[object], own: Iterable[object]) -> Sequence[object]:
    """The hooks of an agent, the outermost first, each once: inherited ones, then its own."""
    return tuple({id(hook): hook for hook in (*above, *own)}.values())


def inherited(hooks: Iterable[object]) -> Sequence[object]:
    """The hooks of an agent that agents below it inherit."""
    return tuple(hook for hook in hooks if getattr(hook, "inherited", False) is True)


def hook_problem(hook: object) -> str | None:
    """What is wrong with a hook, as far as the signatures of its methods say."""
    for name, taken in _TAKEN.items():
        method = getattr(hook, name, None)
        if callable(method) and not _takes(method, taken.count(",") + 1):
            given = ", ".join(["self", *signature(method).parameters])
            return f"{type(hook).__name__}.{name}({given}) is to be `async def {name}(self, {taken})`"
    if not isinstance(getattr(hook, "inherited", False), bool):
        return f"{type(hook).__name__}.inherited is to be True or False"
    return None


def _takes(method: Callable[..., object], count: int) -> bool:
    try:
        signature(method).bind(*[None] * count)
    except TypeError:
        return False
    except ValueError:  # it does not tell
        return True
    return True


def is_model_hook(hook: object) -> TypeGuard[ModelHook]:
    """Whether a hook surrounds questions to models; ``isinstance`` would look at all attributes of the protocol."""
    return callable(getattr(hook, "model_call", None))


def is_tool_hook(hook: object) -> TypeGuard[ToolHook]:
    """Whether a hook surrounds calls of tools."""
    return callable(getattr(hook, "tool_call", None))


def model_chain(hooks: Iterable[object], answer: AnswerModel, context: ModelContext) -> AnswerModel:
    """Asking a model, with hooks around it.

    Args:
        hooks: The outermost one first; those that have nothing to do with models are left out.
        answer: Asks the model itself.
        context: What the hooks are told.
    """
    chain = answer
    for hook in reversed([hook for hook in hooks if is_model_hook(hook)]):
        chain = partial(_answered, hook, chain, context)
    return chain


def tool_chain(hooks: Iterable[object], make: MakeCall) -> MakeCall:
    """Making a tool call, with hooks around it.

    Args:
        hooks: The outermost one first; those that have nothing to do with tools are left out.
        make: Makes the call itself. It may be asked more than once, and then must not repeat what may not be repeated.
    """
    chain = make
    for hook in reversed([hook for hook in hooks if is_tool_hook(hook)]):
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
    except (AgentError, OutcomeUnknown):  # of the latter the hook is only told: the call is in doubt, and its run waits
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
