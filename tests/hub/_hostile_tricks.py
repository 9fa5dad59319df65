"""Hostile behaviour: what a callable of somebody else's may do to whoever calls it."""

import asyncio
import builtins
import sys
import time
import warnings
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, TypeAlias

from anyio import sleep_forever
from tests.hub import _hostile_tasks as tasks
from tests.hub._hostile_errors import (
    Cancelled,
    ClasslessError,
    ClosedError,
    FrozenError,
    MuteError,
    NamelessError,
    NumberError,
    Odd,
    OddBase,
    OddlyDerived,
    RudeError,
    SplitlessGroup,
    UnequalError,
    builtin_errors,
    circular,
    deep_group,
    lying,
    made,
    mixed_group,
)

from stagepost.hub import AgentStopped, HandlerFailed, HubStopped, MailboxFull, RequestTimeout

Result: TypeAlias = Literal["raises", "returns", "either", "hangs"]


@dataclass(frozen=True)
class Trick:
    """One hostile behaviour: as a plain function, as an async one, or both, and what it comes to."""

    id: str
    now: Callable[[], object] | None
    later: Callable[[], Awaitable[object]] | None
    result: Result
    loops: tuple[str, ...] = ("asyncio", "trio")

    @property
    def is_builtin(self) -> bool:
        """Whether it raises an error that comes with Python, as it is."""
        return self.id in vars(builtins)


def _raising(name: str, error: Callable[[], BaseException]) -> Trick:
    def now() -> NoReturn:
        raise error()

    async def later() -> NoReturn:
        raise error()

    return Trick(name, now, later, "raises")


def _plain(name: str, now: Callable[[], object], result: Result) -> Trick:
    async def later() -> object:
        return now()

    return Trick(name, now, later, result)


def _recursion() -> int:
    return _recursion() + 1


def _warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.warn("as an error", UserWarning, stacklevel=1)


async def _block() -> None:
    time.sleep(0.05)  # noqa: ASYNC251 - that is the trick


def _exit() -> NoReturn:
    sys.exit("as argparse does")


class Awkward:
    """A value that lets nobody near it."""

    @property  # type: ignore[misc]  # `object` lets it be set
    def __class__(self) -> Any:
        raise Odd("no class")

    def __eq__(self, other: object) -> bool:
        raise Odd("no eq")

    def __hash__(self) -> int:
        raise Odd("no hash")

    def __bool__(self) -> bool:
        raise Odd("no bool")

    def __repr__(self) -> str:
        raise Odd("no repr")

    def __len__(self) -> int:
        raise Odd("no len")


class RaisingAwaitable:
    def __await__(self) -> Generator[object, None, None]:
        raise Odd("no await")


class NoIteratorAwaitable:
    def __await__(self) -> Any:
        return 42


class OddlyYielding:
    def __await__(self) -> Generator[object, None, None]:
        yield 42


class Closing:
    """Raises when it is closed or thrown at."""

    def __await__(self) -> Generator[object, None, None]:
        try:
            yield from sleep_forever().__await__()
        except BaseException:  # noqa: BLE001 - that is the trick
            raise Odd("closed") from None


def _awaiting(name: str, awaitable: Callable[[], Awaitable[object]]) -> Trick:
    async def later() -> None:
        await awaitable()

    return Trick(name, None, later, "raises")


async def _await(awaitable: Awaitable[object]) -> object:
    return await awaitable


_ASYNCIO = ("asyncio",)
_TRIO = ("trio",)

TRICKS: tuple[Trick, ...] = (
    *(_raising(cls.__name__, lambda cls=cls: made(cls)) for cls in builtin_errors()),  # type: ignore[misc]  # a default
    _raising("custom BaseException", OddBase),
    _raising("custom Cancelled", Cancelled),
    _raising("asyncio.CancelledError made up", asyncio.CancelledError),
    *(
        _raising(f"hub's {error.__class__.__name__}", lambda error=error: error)  # type: ignore[misc]  # a default
        for error in (
            *(HubStopped("a", "hub"), AgentStopped("a"), MailboxFull("a", 1), RequestTimeout("a", 1, "turn")),
            HandlerFailed("a", "b", KeyError()),
        )
    ),
    _raising("mute error", MuteError),
    _raising("error whose str exits", RudeError),
    _raising("error whose str is a number", NumberError),
    _raising("error that lies to be a KeyboardInterrupt", lambda: lying(KeyboardInterrupt)),
    _raising("error that lies to be a cancellation", lambda: lying(asyncio.CancelledError)),
    _raising("error without class", ClasslessError),
    _raising("error without eq, hash, bool", UnequalError),
    _raising("error without attributes", ClosedError),
    _raising("error that is frozen", FrozenError),
    _raising("error without name", NamelessError),
    _raising("errors that cause each other", circular),
    _raising("mixed group", mixed_group),
    _raising("deep group", deep_group),
    _raising("group that does not split", lambda: SplitlessGroup("s", [Odd()])),
    _raising("group that derives nonsense", lambda: OddlyDerived("d", [Odd(), SystemExit(), asyncio.CancelledError()])),
    _plain("endless recursion", _recursion, "raises"),
    _plain("sys.exit", _exit, "raises"),
    _plain("warning as error", _warn, "raises"),
    Trick("blocks the loop", lambda: time.sleep(0.005), _block, "returns"),
    _plain("returns an awkward value", Awkward, "either"),
    _plain("returns NotImplemented", lambda: NotImplemented, "returns"),
    _plain("returns an error", lambda: SystemExit(1), "returns"),
    _plain("returns a class", lambda: Awkward, "returns"),
    Trick("returns an awaitable that raises", RaisingAwaitable, None, "raises"),
    Trick("returns an awaitable without iterator", NoIteratorAwaitable, None, "raises"),
    Trick("returns an awaitable that yields nonsense", OddlyYielding, None, "raises"),
    _awaiting("awaits what raises", RaisingAwaitable),
    _awaiting("awaits what has no iterator", NoIteratorAwaitable),
    _awaiting("awaits what yields nonsense", OddlyYielding),
    Trick("caught cancellation", None, tasks.raise_caught, "raises"),
    Trick("caught cancellations in a group", None, tasks.raise_caught_in_group, "raises"),
    Trick("awaits a cancelled task", None, tasks.await_cancelled, "raises", _ASYNCIO),
    Trick("cancels itself", None, tasks.cancel_self, "either", _ASYNCIO),
    Trick("cancels itself twice", None, tasks.cancel_self_twice, "either", _ASYNCIO),
    Trick("cancels itself and waits", None, tasks.cancel_self_and_wait, "raises", _ASYNCIO),
    Trick("cancels itself and swallows it", None, tasks.cancel_self_and_swallow, "either", _ASYNCIO),
    Trick("cancels itself and fails", None, tasks.cancel_self_and_fail, "raises", _ASYNCIO),
    Trick("failing asyncio.TaskGroup", None, tasks.failing_asyncio_group, "raises", _ASYNCIO),
    Trick("cancels itself, failing asyncio.TaskGroup", None, tasks.cancel_self_and_failing_group, "raises", _ASYNCIO),
    Trick("failing task group", None, tasks.failing_group, "raises"),
    Trick("times out", None, tasks.timed_out, "raises"),
    Trick("hangs", None, sleep_forever, "hangs"),
    Trick("hangs and swallows cancellation", None, tasks.swallow_cancellation, "hangs"),
    Trick("hangs and resists cancellation", None, tasks.resist_cancellation, "hangs"),
    Trick("hangs and fails when cancelled", None, tasks.fail_when_cancelled, "hangs"),
    Trick("hangs and raises when closed", None, lambda: _await(Closing()), "hangs"),
    Trick("leaves a scope open", None, tasks.leave_scope, "either"),
    Trick("leaves a cancelled scope open", None, tasks.leave_cancelled_scope, "either"),
    Trick("leaves a shield open", None, tasks.leave_shield, "either"),
    Trick("leaves a deadline open", None, tasks.leave_deadline(0.01), "either"),
    Trick("leaves a past deadline open", None, tasks.leave_deadline(0), "either"),
    Trick("leaves a long deadline open", None, tasks.leave_deadline(1000), "either"),
    Trick("leaves a task group open", None, tasks.leave_group, "either"),
    Trick("leaves a busy task group open", None, tasks.leave_busy_group, "either"),
    Trick("leaves a failing task group open", None, tasks.leave_failing_group, "either"),
    Trick("leaves asyncio.timeout open", None, tasks.leave_asyncio_timeout, "either", _ASYNCIO),
    Trick("leaves asyncio.TaskGroup open", None, tasks.leave_asyncio_group, "either", _ASYNCIO),
    Trick("leaves a nursery open", None, tasks.leave_nursery, "either", _TRIO),
)
