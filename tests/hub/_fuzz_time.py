"""Event loops whose time jumps to the next timer when nothing is left to do: a test of ten seconds takes none.

Time passes a little with each turn of the loop and each look at the clock, so that code that works without waiting sees
its deadlines come, as it would on a real machine. On asyncio the same program mostly takes the same way each time. Trio
shuffles its tasks: by hypothesis' `random_module` if that is drawn, always alike in other tests of hypothesis, and
anyhow outside of them.
"""

import asyncio
import math
import os
import selectors
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Literal, TypeAlias, TypeVar

import anyio
import trio

Backend: TypeAlias = Literal["asyncio", "trio"]
ResultT = TypeVar("ResultT")

_LOOK = 1e-6
_TURN = 1e-5
_PATIENCE = float(os.environ.get("FUZZ_PATIENCE", "20"))

_CLOSED_ELSEWHERE = "asynchronous generator"  # one that a handler has left open, with a scope in it


class Endless(AssertionError):
    """A test did not end in real time."""


class Stuck(KeyboardInterrupt):
    """The time is up. It is a `KeyboardInterrupt` because nobody may contain those."""


class _Time:
    def __init__(self) -> None:
        self.now = 1000.0

    def look(self) -> float:
        self.now += _LOOK
        return self.now


class _Selector(selectors.DefaultSelector):
    """Looks for input and output, and instead of waiting for a timer lets the time pass."""

    time: _Time

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.time.now += _TURN
        events = super().select(None if timeout is None else 0)
        if not events and timeout is not None and timeout > 0:
            self.time.now += timeout
        return events


class VirtualLoop(asyncio.SelectorEventLoop):
    """An asyncio loop with such a time."""

    def __init__(self) -> None:
        self._virtual = _Time()
        selector = _Selector()
        selector.time = self._virtual
        super().__init__(selector)

    def time(self) -> float:
        return self._virtual.look()


class VirtualTrioClock(trio.abc.Clock):
    """A clock of trio with such a time."""

    def __init__(self) -> None:
        self._virtual = _Time()

    def start_clock(self) -> None:
        """Nothing has to be started."""

    def current_time(self) -> float:
        self._virtual.now += _TURN
        return self._virtual.now

    def deadline_to_sleep_time(self, deadline: float) -> float:
        """Trio asks when nothing can run: the deadline comes now, unless only another thread can go on."""
        if deadline == math.inf:
            return 1.0
        self._virtual.now = max(self._virtual.now, deadline)
        return 0.0


def run(backend: str, function: Callable[..., Awaitable[ResultT]], *args: Any) -> ResultT:
    """Run an async function in such a time.

    Raises:
        Endless: It takes too much real time.
    """
    options: dict[str, object] = (
        {"loop_factory": VirtualLoop} if backend == "asyncio" else {"clock": VirtualTrioClock()}
    )
    try:
        with _watched():
            return anyio.run(function, *args, backend=backend, backend_options=options)
    except Stuck as error:
        raise Endless(str(error)) from None


def collect_loop_errors() -> list[str]:
    """What reaches asyncio's handler of last resort, from now on, as text; nothing on trio, which has none."""
    errors: list[str] = []

    def note(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if _CLOSED_ELSEWHERE not in context["message"]:
            errors.append(f"{context['message']} {type(context.get('exception'))}")

    if anyio.get_cancelled_exc_class() is asyncio.CancelledError:
        asyncio.get_running_loop().set_exception_handler(note)
    return errors


@contextmanager
def _watched() -> Iterator[None]:
    def ring(number: int, frame: FrameType | None) -> None:
        raise Stuck(f"no end within {_PATIENCE:.0f} s of real time")

    previous = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, _PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
        _restore_interrupts()


def _restore_interrupts() -> None:
    """Asyncio fails to do so if the error that it ended by has no text, which is asked for here, too."""
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    except BaseException:  # noqa: BLE001 - by then it is done
        return
