"""Steps: the functions that do the work, and what the engine needs to know of them."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import Codec, StoredWait, WaitKind
from stagepost.hub import Duration, check_name, seconds

from .._arguments import by_key, flag, state_key
from .._threads import in_thread
from .._values._expected import expected
from .._values._state import Types
from .._values._types import codec_of, item_types
from ..errors import DefinitionError
from ._guards import Call, Errors, caught, timed
from ._receives import Receives
from ._retry import Retry, retried

if TYPE_CHECKING:
    from ._context import StepContext

StepFunction: TypeAlias = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Step:
    """One unit of work: it runs as a whole, and its result is saved as a whole.

    Made by `step`, by `Ask`, or from a plain function where a pattern takes steps.

    Attributes:
        name: Unique among its siblings.
        call: Runs it on a state (or, as the worker of a fan-out, on an item) and the step's context.
        takes: Type of the items that it takes as a worker; None for plain JSON.
        gives: Type of the values that it makes as a worker; None for plain JSON.
        into: Key of the state that its result is stored under; None if the result is the update itself.
        caught_into: Key of the state for errors that are results; None if there are none.
        asks: Agents that it asks, so that a missing hub is noticed before the run starts.
        receives: What ends its wait, if it says that it waits.
        signals: The signals that it reads without waiting for them, and what each carries.
    """

    name: str
    call: Call
    takes: Any = None
    gives: Any = None
    into: str | None = None
    caught_into: str | None = None
    asks: tuple[str, ...] = ()
    receives: Receives | None = None
    signals: Mapping[str, Codec[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_name("step name", self.name)

    def fits(self, wait: StoredWait) -> bool:
        """Whether it can go on with a wait that is stored for its place: nothing that was sent to it would be lost."""
        if self.receives is None:
            return wait.kind not in (WaitKind.ANSWER, WaitKind.SIGNAL)
        return self.receives.fits(wait)

    @property
    def types(self) -> Types:
        """The typed keys that it adds to the state."""
        codec = None if self.into is None else codec_of(self.gives)
        return {} if self.into is None or codec is None else {self.into: codec}

    @property
    def stored_keys(self) -> frozenset[str]:
        """Keys of the state that it stores its result under."""
        return frozenset(key for key in (self.into, self.caught_into) if key is not None)


@overload
def step(
    name: str,
    function: StepFunction,
    /,
    *,
    inline: bool = False,
    timeout: Duration | None = None,
    retry: Retry | None = None,
    catch: Errors = (),
    into: str | None = None,
    answers: Any = None,
    signals: Mapping[str, Any] | None = None,
) -> Step: ...
@overload
def step(
    function: StepFunction,
    /,
    *,
    inline: bool = False,
    timeout: Duration | None = None,
    retry: Retry | None = None,
    catch: Errors = (),
    into: str | None = None,
    answers: Any = None,
    signals: Mapping[str, Any] | None = None,
) -> Step: ...
def step(
    name_or_function: str | StepFunction,
    function: StepFunction | None = None,
    /,
    *,
    inline: bool = False,
    timeout: Duration | None = None,
    retry: Retry | None = None,
    catch: Errors = (),
    into: str | None = None,
    answers: Any = None,
    signals: Mapping[str, Any] | None = None,
) -> Step:
    """Make a step of a function.

    The function takes ``(state)`` or ``(state, context)``: a parameter named ``context`` gets the `StepContext`. It
    returns None (no change), a mapping of updates, or a whole state. As the worker of a `Parallel` it takes an item
    instead and returns the item's value; its annotations then give the types of both.

    Args:
        name_or_function: The step's name, or the function, whose own name is then the step's.
        function: The function, if a name comes first.
        inline: Run a sync function on the event loop instead of in a thread. For functions that take microseconds.
        timeout: How long it may take; then it is cancelled and has failed with `StepTimeout`. Nothing can stop a
            thread: what a sync function still does then, it does unheeded.
        retry: When it is tried again after an error; each attempt has the `timeout` for itself.
        catch: Errors that are results: what is raised of them, with `retry` by the last attempt, is stored as
            ``{"error", "message"}``, its type and text, and the run goes on.
        into: Key of the state for them.
        answers: Type of the answers that it may wait for, see `StepContext.wait_for_answer`; `AnswerTypes` if the type
            depends on the question; None if it asks nobody.
        signals: Names of the signals that it reads, see `StepContext.signals`, with the type of what each carries; None
            for plain JSON.

    Raises:
        DefinitionError: The function has no usable name, takes other parameters, or the options do not go together.
    """
    options = _Options(
        inline=inline, timeout=timeout, retry=retry, catch=catch, into=into, answers=answers, signals=signals
    )
    if isinstance(name_or_function, str):
        if function is None:
            raise DefinitionError(f"step {name_or_function!r}", "give the function too: step(name, function)")
        return _make(name_or_function, function, options)
    return _make(own_name(name_or_function), name_or_function, options)


@dataclass(frozen=True, slots=True)
class _Options:
    """What else was said about a step."""

    inline: bool
    timeout: Duration | None
    retry: Retry | None
    catch: Errors
    into: str | None
    answers: Any
    signals: Mapping[str, Any] | None


def _make(name: str, function: StepFunction, options: _Options) -> Step:
    where = f"step {name!r}"
    flag(where, "inline", options.inline)
    state_key(where, "into", options.into)
    takes, gives = item_types(function)
    call = caller(name, function, inline=options.inline, may_leave=options.timeout is not None)
    if options.timeout is not None:
        if options.inline and not is_async(function):
            why = "an inline function holds up the event loop and with it every clock: leave inline= or timeout= away"
            raise DefinitionError(f"step {name!r}", why)
        call = timed(call, name, seconds(options.timeout, "timeout"))
    if options.retry is not None:
        call = retried(call, options.retry)
    if (options.into is None) != (options.catch == ()):
        raise DefinitionError(f"step {name!r}", "catch= and into= go together: which errors, and under which key")
    if options.into is not None:
        call = caught(call, options.catch, options.into)
    receives = None if options.answers is None else Receives.answers(name, options.answers)
    signals = {
        check_name("signal name", key): expected(kind)
        for key, kind in by_key(where, "signals=", options.signals).items()
    }
    return Step(name, call, takes=takes, gives=gives, caught_into=options.into, receives=receives, signals=signals)


def own_name(function: StepFunction) -> str:
    name = getattr(function, "__name__", None)
    if name is None or name == "<lambda>":
        raise DefinitionError(f"step {function!r}", 'it has no name of its own: use step("name", function)')
    return str(name)


def wants_context(name: str, function: StepFunction, *, takes: tuple[str, ...] = ("state",)) -> bool:
    """Whether a function has a parameter ``context`` beside its first ones.

    Args:
        name: The step's name, for errors.
        function: The function.
        takes: What its first parameters get.

    Raises:
        DefinitionError: It takes fewer arguments, or needs other ones.
    """
    parameters = _parameters(name, function)
    if not _takes(parameters, len(takes)):
        what = "the state (or, as a worker, the item)" if len(takes) == 1 else f"({', '.join(takes)})"
        raise DefinitionError(f"step {name!r}", f"its function must take {what}")
    others = [p for p in parameters[len(takes) :] if p.name != "context" and p.default is p.empty]
    others = [p for p in others if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if others:
        raise DefinitionError(
            f"step {name!r}", f"nothing is passed to its parameter {others[0].name!r}: {_wants(takes)}"
        )
    return any(p.name == "context" for p in parameters[len(takes) :])


def _wants(takes: tuple[str, ...]) -> str:
    if takes == ("item",):
        return "a worker takes (item) or (item, context)"
    if len(takes) > 1:
        return f"a step takes ({', '.join(takes)}) or ({', '.join((*takes, 'context'))})"
    return "a step takes (state) or (state, context), and the worker of a Parallel takes (item) or (item, context)"


def _takes(parameters: Sequence[inspect.Parameter], count: int) -> bool:
    """Whether so many values can be passed by position."""
    if any(p.kind is p.VAR_POSITIONAL for p in parameters[:count]):
        return True
    return len([p for p in parameters[:count] if p.kind is not p.KEYWORD_ONLY]) == count


def _parameters(name: str, function: StepFunction) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except ValueError as error:
        raise DefinitionError(
            f"step {name!r}", f"Python does not know what {function!r} takes: wrap it in a function of (state)"
        ) from error


def caller(name: str, function: StepFunction, *, inline: bool, may_leave: bool = False) -> Call:
    """The function as the engine calls it: always with a context, always awaited.

    Args:
        name: The step's name, for errors.
        function: What to call.
        inline: Not in a thread, if it is not async.
        may_leave: Whether a cancelled call may leave its thread behind instead of waiting for it.
    """
    if not callable(function):
        raise DefinitionError(f"step {name!r}", f"it needs a function, and {function!r:.80} is none")
    _check_kind(name, function)
    bound = _with_context(function) if wants_context(name, function) else _without_context(function)

    async def inlined(value: Any, context: "StepContext") -> Any:
        return bound(value, context)

    async def threaded(value: Any, context: "StepContext") -> Any:
        return await in_thread(bound, value, context, abandon=may_leave)

    if is_async(function):
        return bound
    return inlined if inline else threaded


def _check_kind(name: str, function: StepFunction) -> None:
    """See that calling a function does its work.

    Raises:
        DefinitionError: It is a generator function, whose body would never run.
    """
    while isinstance(function, partial):
        function = function.func
    called = (function, getattr(function, "__call__", None))  # noqa: B004  # its kind, not its presence
    if any(inspect.isgeneratorfunction(each) or inspect.isasyncgenfunction(each) for each in called):
        raise DefinitionError(
            f"step {name!r}", "its function is a generator, and nobody would run its body: return instead of yield"
        )


def _with_context(function: StepFunction) -> StepFunction:
    _, second, *_ = inspect.signature(function).parameters.values()
    if second.name == "context" and second.kind is not second.KEYWORD_ONLY:
        return function  # as most are written: nothing has to stand between
    return lambda value, context: function(value, context=context)


def _without_context(function: StepFunction) -> StepFunction:
    return lambda value, _context: function(value)


def is_async(function: StepFunction) -> bool:
    """Whether what a function returns is to be awaited."""
    while isinstance(function, partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004  # its kind, not its presence
