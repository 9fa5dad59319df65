"""Hostile behaviour: what a callable of somebody else's may do to whoever calls it."""

import asyncio
import builtins
import time
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, TypeAlias

import trio
from anyio import CancelScope, create_task_group, fail_after, get_cancelled_exc_class, sleep, sleep_forever
from anyio.lowlevel import checkpoint

from stagepost.hub import AgentStopped, HandlerFailed, HubStopped, MailboxFull, RequestTimeout

Result: TypeAlias = Literal["raises", "returns", "either", "hangs"]

kept: list[object] = []
"""What a trick has left open, so that no collector closes it; cleared after each test."""


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


# -- errors


class Odd(Exception):
    """An error of an application."""


class OddBase(BaseException):
    """One that is no `Exception`."""


class Cancelled(BaseException):
    """One that is only called like a cancellation."""


class MuteError(Exception):
    def __str__(self) -> str:
        raise Odd("no str")

    def __repr__(self) -> str:
        raise Odd("no repr")


class RudeError(Exception):
    def __str__(self) -> str:
        raise SystemExit("no str")

    __repr__ = __str__


class NumberError(Exception):
    def __str__(self) -> str:
        return 42  # type: ignore[return-value]  # that is the trick


def _lying(about: type[BaseException]) -> BaseException:
    class LyingError(Exception):
        @property
        def __class__(self) -> Any:
            return about

        @__class__.setter
        def __class__(self, value: Any) -> None:
            raise Odd

    return LyingError("lies")


class ClasslessError(Exception):
    @property
    def __class__(self) -> Any:
        raise Odd("no class")

    @__class__.setter
    def __class__(self, value: Any) -> None:
        raise Odd


class UnequalError(Exception):
    def __eq__(self, other: object) -> bool:
        raise Odd("no eq")

    def __hash__(self) -> int:
        raise Odd("no hash")

    def __bool__(self) -> bool:
        raise Odd("no bool")


class ClosedError(Exception):
    def __getattribute__(self, name: str) -> Any:
        raise Odd(f"no {name}")


class FrozenError(Exception):
    def __setattr__(self, name: str, value: object) -> None:
        raise Odd(f"{name} is not for you")


class SplitlessGroup(ExceptionGroup[Exception]):
    def split(self, *_: Any) -> NoReturn:
        raise Odd("no split")

    def subgroup(self, *_: Any) -> NoReturn:
        raise Odd("no subgroup")


class OddlyDerived(BaseExceptionGroup[BaseException]):
    def derive(self, _: Any) -> Any:
        return 42


class _NamelessMeta(type):
    def __getattribute__(cls, name: str) -> Any:
        if name in ("__qualname__", "__name__", "__module__"):
            raise Odd(f"no {name}")
        return super().__getattribute__(name)


class NamelessError(Exception, metaclass=_NamelessMeta):
    pass


def _circular() -> Exception:
    one, other = Odd("one"), Odd("other")
    one.__cause__, other.__cause__ = other, one
    one.__context__, other.__context__ = other, one
    return one


def _deep_group() -> BaseException:
    error: BaseException = SystemExit(1)
    for _ in range(3000):
        error = BaseExceptionGroup("deep", [error])
    return error


def _mixed_group() -> BaseException:
    return BaseExceptionGroup(
        "mixed",
        [Odd(), SystemExit(1), GeneratorExit(), ExceptionGroup("inner", [MuteError()]), asyncio.CancelledError()],
    )


def _builtin_errors() -> list[type[BaseException]]:
    """Every error that comes with Python but `KeyboardInterrupt`."""
    found = {cls for cls in vars(builtins).values() if isinstance(cls, type) and issubclass(cls, BaseException)}
    return sorted(found - {KeyboardInterrupt}, key=lambda cls: cls.__name__)


def _made(cls: type[BaseException]) -> BaseException:
    if issubclass(cls, BaseExceptionGroup):
        return cls("group", [ValueError()])
    if issubclass(cls, UnicodeDecodeError):
        return cls("utf-8", b"x", 0, 1, "no")
    if issubclass(cls, UnicodeEncodeError):
        return cls("utf-8", "x", 0, 1, "no")
    if issubclass(cls, UnicodeTranslateError):
        return cls("x", 0, 1, "no")
    return cls()


def _recursion() -> int:
    return _recursion() + 1


def _warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.warn("as an error", UserWarning, stacklevel=1)


def _exit() -> NoReturn:
    import sys

    sys.exit("as argparse does")


# -- odd results


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


# -- cancellations


async def caught_cancellation() -> BaseException:
    """A cancellation as the loop makes them, out of the scope that it belongs to."""
    with CancelScope() as scope:
        scope.cancel()
        try:
            await checkpoint()
        except get_cancelled_exc_class() as error:
            return error
    raise AssertionError


async def _raise_caught() -> NoReturn:
    raise await caught_cancellation()


async def _raise_caught_in_group() -> NoReturn:
    raise BaseExceptionGroup("g", [await caught_cancellation(), await caught_cancellation()])


async def _await_cancelled() -> None:
    task = asyncio.ensure_future(asyncio.sleep(60))
    task.cancel()
    await task


async def _cancel_self() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()


async def _cancel_self_twice() -> None:
    await _cancel_self()
    await _cancel_self()


async def _cancel_self_and_wait() -> None:
    await _cancel_self()
    await asyncio.sleep(0)


async def _cancel_self_and_swallow() -> None:
    await _cancel_self()
    try:
        await asyncio.sleep(0)
    except asyncio.CancelledError:
        return


async def _cancel_self_and_fail() -> None:
    await _cancel_self()
    raise Odd


async def _failing_asyncio_group() -> None:
    async def child() -> None:
        raise Odd

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(child())
        await asyncio.sleep(60)


async def _cancel_self_and_failing_group() -> None:
    await _cancel_self()
    await _failing_asyncio_group()


async def _failing_group() -> None:
    async def child() -> None:
        raise Odd

    async with create_task_group() as tasks:
        tasks.start_soon(child)
        await sleep_forever()


async def _timed_out() -> None:
    with fail_after(0.01):
        await sleep_forever()


async def _swallow_cancellation() -> None:
    try:
        await sleep_forever()
    except get_cancelled_exc_class():
        return


async def _resist_cancellation() -> None:
    try:
        await sleep_forever()
    finally:
        with CancelScope(shield=True):
            await sleep(0.3)


async def _fail_when_cancelled() -> None:
    try:
        await sleep_forever()
    finally:
        raise Odd


# -- what is left open


async def _leave_scope() -> None:
    scope = CancelScope()
    kept.append(scope)
    scope.__enter__()


async def _leave_cancelled_scope() -> None:
    await _leave_scope()
    scope = kept[-1]
    assert isinstance(scope, CancelScope)
    scope.cancel()


async def _leave_shield() -> None:
    scope = CancelScope(shield=True)
    kept.append(scope)
    scope.__enter__()


def _leave_deadline(seconds: float) -> Callable[[], Awaitable[None]]:
    async def numbers() -> AsyncIterator[int]:
        with fail_after(seconds):
            yield 1
            yield 2

    async def leave() -> None:
        stream = numbers()
        kept.append(stream)
        await anext(stream)

    return leave


async def _leave_group() -> None:
    kept.append(await create_task_group().__aenter__())


async def _leave_busy_group() -> None:
    group = await create_task_group().__aenter__()
    group.start_soon(sleep, 0.01)
    kept.append(group)


async def _leave_failing_group() -> None:
    async def fail() -> None:
        raise Odd

    group = await create_task_group().__aenter__()
    group.start_soon(fail)
    kept.append(group)


async def _leave_asyncio_timeout() -> None:
    kept.append(await asyncio.timeout(0.01).__aenter__())


async def _leave_asyncio_group() -> None:
    kept.append(await asyncio.TaskGroup().__aenter__())


async def _leave_nursery() -> None:
    manager = trio.open_nursery()
    kept.extend([manager, await manager.__aenter__()])


_ASYNCIO = ("asyncio",)
_TRIO = ("trio",)

TRICKS: tuple[Trick, ...] = (
    *(_raising(cls.__name__, lambda cls=cls: _made(cls)) for cls in _builtin_errors()),  # type: ignore[misc]  # a default
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
    _raising("error that lies to be a KeyboardInterrupt", lambda: _lying(KeyboardInterrupt)),
    _raising("error that lies to be a cancellation", lambda: _lying(asyncio.CancelledError)),
    _raising("error without class", ClasslessError),
    _raising("error without eq, hash, bool", UnequalError),
    _raising("error without attributes", ClosedError),
    _raising("error that is frozen", FrozenError),
    _raising("error without name", NamelessError),
    _raising("errors that cause each other", _circular),
    _raising("mixed group", _mixed_group),
    _raising("deep group", _deep_group),
    _raising("group that does not split", lambda: SplitlessGroup("s", [Odd()])),
    _raising("group that derives nonsense", lambda: OddlyDerived("d", [Odd(), SystemExit(), asyncio.CancelledError()])),
    _plain("endless recursion", _recursion, "raises"),
    _plain("sys.exit", _exit, "raises"),
    _plain("warning as error", _warn, "raises"),
    _plain("blocks for 50 ms", lambda: time.sleep(0.05), "returns"),
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
    Trick("caught cancellation", None, _raise_caught, "raises"),
    Trick("caught cancellations in a group", None, _raise_caught_in_group, "raises"),
    Trick("awaits a cancelled task", None, _await_cancelled, "raises", _ASYNCIO),
    Trick("cancels itself", None, _cancel_self, "either", _ASYNCIO),
    Trick("cancels itself twice", None, _cancel_self_twice, "either", _ASYNCIO),
    Trick("cancels itself and waits", None, _cancel_self_and_wait, "raises", _ASYNCIO),
    Trick("cancels itself and swallows it", None, _cancel_self_and_swallow, "either", _ASYNCIO),
    Trick("cancels itself and fails", None, _cancel_self_and_fail, "raises", _ASYNCIO),
    Trick("failing asyncio.TaskGroup", None, _failing_asyncio_group, "raises", _ASYNCIO),
    Trick("cancels itself, failing asyncio.TaskGroup", None, _cancel_self_and_failing_group, "raises", _ASYNCIO),
    Trick("failing task group", None, _failing_group, "raises"),
    Trick("times out", None, _timed_out, "raises"),
    Trick("hangs", None, sleep_forever, "hangs"),
    Trick("hangs and swallows cancellation", None, _swallow_cancellation, "hangs"),
    Trick("hangs and resists cancellation", None, _resist_cancellation, "hangs"),
    Trick("hangs and fails when cancelled", None, _fail_when_cancelled, "hangs"),
    Trick("hangs and raises when closed", None, lambda: _await(Closing()), "hangs"),
    Trick("leaves a scope open", None, _leave_scope, "either"),
    Trick("leaves a cancelled scope open", None, _leave_cancelled_scope, "either"),
    Trick("leaves a shield open", None, _leave_shield, "either"),
    Trick("leaves a deadline open", None, _leave_deadline(0.01), "either"),
    Trick("leaves a past deadline open", None, _leave_deadline(0), "either"),
    Trick("leaves a long deadline open", None, _leave_deadline(1000), "either"),
    Trick("leaves a task group open", None, _leave_group, "either"),
    Trick("leaves a busy task group open", None, _leave_busy_group, "either"),
    Trick("leaves a failing task group open", None, _leave_failing_group, "either"),
    Trick("leaves asyncio.timeout open", None, _leave_asyncio_timeout, "either", _ASYNCIO),
    Trick("leaves asyncio.TaskGroup open", None, _leave_asyncio_group, "either", _ASYNCIO),
    Trick("leaves a nursery open", None, _leave_nursery, "either", _TRIO),
)


async def _await(awaitable: Awaitable[object]) -> object:
    return await awaitable
