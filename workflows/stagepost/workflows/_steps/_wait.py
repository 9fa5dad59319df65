"""Steps that wait: for somebody's answer, for a signal, for the time."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

import anyio

from stagepost.checkpoint import PLAIN, Codec, StoredWait, WaitKind, WaitStatus
from stagepost.hub import Duration, check_name, seconds

from .._arguments import state_key
from .._execution._signals import Parks
from .._values._expected import expected
from .._values._types import item_types
from .._values._unawaited import refuse_unawaited
from ..errors import DefinitionError, WaitExpired
from ._answered import shown
from ._context import StepContext, execution_of
from ._due import moment
from ._guards import Call
from ._receives import Receives
from ._step import Step, caller, step

_NONE: Any = object()  # stands for "not given" where None is a value


def Wait(  # noqa: N802  # read as the noun that it makes: a step among patterns
    name: str,
    *,
    expect: Any = None,
    show: Callable[..., Any] | None = None,
    within: Duration | None = None,
    otherwise: Any = _NONE,
    into: str | None = None,
) -> Step:
    """A step that parks its run until somebody answers, for days if need be, and stores the answer.

    While it waits the run is not in memory, and no process need be there. `Runner.waits` lists it, `Runner.answer`
    answers it.

    Args:
        name: The step's name.
        expect: Type of the answer, checked when it is given; None for plain JSON.
        show: Makes what is shown to whoever answers: ``(state)`` or ``(state, context)``; in a worker, of the item.
        within: How long to wait, counted from when the run gets here and kept over restarts; None for no limit.
        otherwise: The answer if nobody has given one by then; without it that is a failure, `WaitExpired`.
        into: Key of the state for the answer; by default the step's name.

    Raises:
        DefinitionError: `otherwise` without `within`, or an otherwise that is no valid answer.
    """
    takes = None if show is None else item_types(show)[0]
    prompt = None if show is None else caller(f"{name}.show", show, inline=True)
    state_key(f"step {name!r}", "into", into)
    answer = _Answer(name, expected(expect), within, otherwise)

    async def wait(value: Any, context: StepContext) -> Any:
        return await answer.get(WaitKind.ANSWER, name, prompt, value, context)

    return replace(
        step(name, wait),
        takes=takes,
        gives=expect,
        into=name if into is None else into,
        receives=Receives(WaitKind.ANSWER, name, answer.codec, only=True),
    )


def Receive(  # noqa: N802  # likewise
    name: str,
    *,
    signal: str | None = None,
    expect: Any = None,
    within: Duration | None = None,
    otherwise: Any = _NONE,
    into: str | None = None,
) -> Step:
    """A step that takes the oldest signal of a name that was sent to the run, or parks until one is sent.

    Args:
        name: The step's name.
        signal: The signal's name; by default the step's.
        expect: Type of its value, checked when it is sent; None for plain JSON.
        within: How long to wait; None for no limit.
        otherwise: The value if none was sent by then; without it that is a failure, `WaitExpired`.
        into: Key of the state for the value; by default the step's name.

    Raises:
        DefinitionError: `otherwise` without `within`, or an otherwise that is no valid value.
    """
    wanted = check_name("signal name", name if signal is None else signal)
    state_key(f"step {name!r}", "into", into)
    answer = _Answer(name, expected(expect), within, otherwise)

    async def receive(value: Any, context: StepContext) -> Any:
        return await answer.get(WaitKind.SIGNAL, wanted, None, value, context)

    return replace(
        step(name, receive),
        gives=expect,
        into=name if into is None else into,
        receives=Receives(WaitKind.SIGNAL, wanted, answer.codec, only=True),
    )


def Sleep(  # noqa: N802  # likewise
    name: str,
    duration: Duration | None = None,
    *,
    until: Callable[..., Any] | None = None,
) -> Step:
    """A step that parks its run for some time; a process that starts later lets overdue ones go on.

    Args:
        name: The step's name.
        duration: How long, counted from when the run gets here.
        until: Or the time at which it goes on: ``(state)`` or ``(state, context)``, returning an aware `datetime`.

    Raises:
        DefinitionError: Both or none of them are given.
    """
    if (duration is None) == (until is None):
        raise DefinitionError(f"sleep {name!r}", "say how long or until when: give a duration, or until=")
    length = None if duration is None else seconds(duration, "duration")
    when = None if until is None else caller(f"{name}.until", until, inline=True)

    async def sleep(value: Any, context: StepContext) -> None:
        if _ended(WaitKind.TIMER, context) is not None:
            return
        now = context.clock()
        due_at = _aware(name, await when(value, context)) if when is not None else moment(now + (length or 0))
        if context.is_durable:
            raise Parks(WaitKind.TIMER, name, due_at=due_at)
        await anyio.sleep(max(0, due_at.timestamp() - now))

    return replace(step(name, sleep), receives=Receives(WaitKind.TIMER, name, PLAIN, only=True))


class _Answer:
    """What a wait is for, and what becomes of it.

    Args:
        step: The step's name.
        codec: Of the answer.
        within: How long to wait.
        otherwise: The answer if there is none by then.
    """

    def __init__(self, step: str, codec: Codec[Any], within: Duration | None, otherwise: Any) -> None:
        where = f"wait {step!r}"
        if otherwise is not _NONE:
            if within is None:
                raise DefinitionError(where, "otherwise= is for when the time is up: give within= too")
            otherwise = codec.convert(otherwise, f"otherwise of {where}")
            codec.dump(otherwise, f"otherwise of {where}")
        self.codec = codec
        self._step = step
        self._limit = None if within is None else seconds(within, "within")
        self._otherwise = otherwise

    async def get(self, kind: WaitKind, name: str, prompt: Call | None, value: Any, context: StepContext) -> Any:
        """The answer, or what stands for it.

        Raises:
            Parks: There is none yet.
            WaitExpired: There was none in time.
        """
        ended = _ended(kind, context)
        if ended is None:
            prompted = (
                None if prompt is None else shown(await prompt(value, context), execution_of(context), context.path)
            )
            raise Parks(kind, name, prompt=prompted, due_at=self._due_at(context))
        if ended.status is WaitStatus.ANSWERED:
            return self.codec.load(ended.value or b"null")
        if self._otherwise is _NONE:
            raise WaitExpired(self._step, ended.due_at)
        return self._otherwise

    def _due_at(self, context: StepContext) -> datetime | None:
        return None if self._limit is None else moment(context.clock() + self._limit)


def _ended(kind: WaitKind, context: StepContext) -> StoredWait | None:
    """The wait of a step, if it has ended; one of another kind was that of the step that stood here before a deploy."""
    ended = execution_of(context).ledger.ended(context.place)
    return None if ended is None or ended.kind is not kind else ended


def _aware(name: str, moment: object) -> datetime:
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        refuse_unawaited(moment, f"until= of sleep {name!r}")
        raise TypeError(f"until= of sleep {name!r} must give a datetime with a time zone, and gave {moment!r}")
    return moment
