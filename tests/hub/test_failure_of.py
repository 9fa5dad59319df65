"""The rule that says what an error of somebody else's code means."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import pytest
from anyio import CancelScope, create_task_group, fail_after, get_cancelled_exc_class, move_on_after, sleep_forever
from anyio.lowlevel import checkpoint

from stagepost.hub import describe_error, failure_of, is_fatal


class Odd(type):
    """A class of classes that refuse to say what they are."""

    def __getattribute__(cls, name: str) -> Any:
        if name in {"__name__", "__qualname__"}:
            raise ZeroDivisionError
        return super().__getattribute__(name)


class Mute(BaseException, metaclass=Odd):
    """An error that answers no question."""

    def __str__(self) -> NoReturn:
        raise SystemExit(3)

    __repr__ = __str__

    @property  # type: ignore[misc]  # that is the point
    def __class__(self) -> NoReturn:  # type: ignore[override]  # that is the point
        raise ZeroDivisionError

    @property
    def __traceback__(self) -> NoReturn:  # type: ignore[override]  # that is the point
        raise ZeroDivisionError


class OddGroup(BaseExceptionGroup[BaseException]):
    """A group that cannot be taken apart by its own methods."""

    def derive(self, _: object) -> NoReturn:
        raise ZeroDivisionError

    split = subgroup = derive

    @property
    def exceptions(self) -> NoReturn:
        raise ZeroDivisionError


@contextmanager
def cancelled() -> Iterator[None]:
    """A block whose task is being cancelled."""
    with CancelScope() as scope:
        scope.cancel()
        yield


@contextmanager
def shielded() -> Iterator[None]:
    """A block in it that is not."""
    with CancelScope(shield=True):
        yield


async def cancelled_error() -> BaseException:
    """What a cancelled scope raises."""
    with CancelScope() as scope:
        scope.cancel()
        try:
            await checkpoint()
        except get_cancelled_exc_class() as error:
            return error
    raise AssertionError("the checkpoint let it pass")


EVERY_CLASS = [ValueError, SystemExit, GeneratorExit, KeyboardInterrupt, asyncio.CancelledError, StopIteration]


@pytest.mark.parametrize("kind", EVERY_CLASS)
async def test_whatever_is_raised_while_nobody_cancels_is_the_codes_own(kind: type[BaseException]) -> None:
    error = kind()
    assert failure_of(error) is error
    group = BaseExceptionGroup("", [error, BaseExceptionGroup("", [error])])
    assert failure_of(group) is group


async def test_an_error_that_lies_about_its_class_is_judged_all_the_same() -> None:
    error = Mute()
    failure = failure_of(error)
    assert failure is error, "another one"
    with cancelled():
        assert (failure_of(error) is error, is_fatal(error)) == (True, False)


async def test_a_cancellation_error_is_the_codes_own_while_nobody_cancels() -> None:
    error = await cancelled_error()
    assert failure_of(error) is error


async def test_while_a_scope_is_cancelled_a_cancellation_error_is_not_the_codes_own() -> None:
    error = await cancelled_error()
    with cancelled():
        assert failure_of(error) is None
        assert failure_of(BaseExceptionGroup("", [error, OddGroup("", [error])])) is None
        assert failure_of(mistake := ValueError()) is mistake
        assert failure_of(leave := SystemExit()) is leave
        with shielded():
            assert failure_of(error) is error


async def test_a_group_of_both_keeps_what_is_the_codes_own() -> None:
    error = await cancelled_error()
    mistake, interrupt = ValueError(), KeyboardInterrupt()
    with cancelled():
        rest = failure_of(
            OddGroup("said", [error, BaseExceptionGroup("", [mistake, OddGroup("", [error, interrupt])])])
        )
    assert isinstance(rest, BaseExceptionGroup)
    assert (rest.message, rest.exceptions) == ("said", (mistake, interrupt))
    assert is_fatal(rest)


async def test_groups_may_be_deeper_than_the_stack() -> None:
    error = await cancelled_error()
    mistake = ValueError()
    deep: BaseExceptionGroup[BaseException] = BaseExceptionGroup("", [error, mistake])
    for _ in range(5_000):
        deep = BaseExceptionGroup("", [deep])
    assert failure_of(deep) is deep
    with cancelled():
        rest = failure_of(deep)
    assert isinstance(rest, ExceptionGroup)
    assert rest.exceptions == (mistake,)


async def judged(call: Callable[[], Awaitable[object]]) -> list[BaseException | None]:
    """The failure of a call that raises, by the rule."""
    try:
        await call()
    except BaseException as error:  # noqa: BLE001 - the rule is for all of them
        return [failure_of(error)]
    raise AssertionError("nothing was raised")


async def test_a_scope_that_the_code_opened_itself_does_not_count() -> None:
    async def own_timeout() -> None:
        with fail_after(0):
            await sleep_forever()

    async def group() -> None:
        with move_on_after(0):
            await sleep_forever()
        async with create_task_group() as tasks:
            tasks.cancel_scope.cancel()
            raise ValueError

    (late,) = await judged(own_timeout)
    assert isinstance(late, TimeoutError)
    (several,) = await judged(group)
    assert isinstance(several, ExceptionGroup)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_plain_cancel_from_outside_is_no_failure(anyio_backend: str) -> None:
    found: list[BaseException | None] = []

    async def run() -> None:
        found.extend(await judged(sleep_forever))

    task = asyncio.create_task(run())
    await asyncio.sleep(0)
    task.cancel()
    await task
    assert found == [None]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_timeout_of_asyncio_counts_outside_and_not_inside(anyio_backend: str) -> None:
    async def inside() -> None:
        async with asyncio.timeout(0):
            await sleep_forever()

    async def around() -> None:
        async with asyncio.timeout(0):
            assert await judged(sleep_forever) == [None]
            raise asyncio.CancelledError

    (late,) = await judged(inside)
    assert isinstance(late, TimeoutError)
    with pytest.raises(TimeoutError):
        await around()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_awaiting_a_cancelled_task_is_the_codes_own_failure(anyio_backend: str) -> None:
    async def unlucky() -> None:
        task = asyncio.ensure_future(sleep_forever())
        task.cancel()
        await task

    (failure,) = await judged(unlucky)
    assert isinstance(failure, asyncio.CancelledError)


def test_without_a_task_only_the_closing_of_a_coroutine_is_cancellation() -> None:
    assert failure_of(GeneratorExit()) is None
    assert failure_of(error := asyncio.CancelledError()) is error


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_callback_of_the_loop_runs_in_no_task(anyio_backend: str) -> None:
    found: list[BaseException | None] = []
    asyncio.get_running_loop().call_soon(lambda: found.append(failure_of(GeneratorExit())))
    await asyncio.sleep(0)
    assert found == [None]


@pytest.mark.parametrize("kind", EVERY_CLASS)
def test_only_an_interrupt_from_the_keyboard_is_fatal(kind: type[BaseException]) -> None:
    for error in (kind(), OddGroup("", [ValueError(), OddGroup("", [kind()])])):
        assert is_fatal(error) == (kind is KeyboardInterrupt)


class TextOf(ValueError):
    """An error whose text is made by a function."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def __str__(self) -> Any:
        return self._make()


class Formatted(str):
    """A text that cannot be formatted."""

    __slots__ = ()

    def __format__(self, _: str) -> NoReturn:
        raise ZeroDivisionError

    __str__ = __format__  # type: ignore[assignment]  # that is the point


def stop() -> NoReturn:
    raise SystemExit


def circle() -> str:
    return circle()


@pytest.mark.parametrize(
    ("error", "text"),
    [
        pytest.param(ValueError("no"), "ValueError: no", id="text"),
        pytest.param(ValueError(), "ValueError", id="none"),
        pytest.param(TextOf(lambda: Formatted("no")), "TextOf: no", id="odd text"),
        pytest.param(TextOf(lambda: None), "TextOf (its text cannot be read: str() raised TypeError)", id="no text"),
        pytest.param(TextOf(stop), "TextOf (its text cannot be read: str() raised SystemExit)", id="exit"),
        pytest.param(TextOf(circle), "TextOf (its text cannot be read: str() raised RecursionError)", id="circle"),
        pytest.param(Mute(), "Mute (its text cannot be read: str() raised SystemExit)", id="mute"),
        pytest.param(ExceptionGroup("both", [ValueError()]), "ExceptionGroup: both (1 sub-exception)", id="group"),
    ],
)
def test_every_error_can_be_described(error: BaseException, text: str) -> None:
    assert describe_error(error) == text


def test_an_interrupt_from_the_keyboard_passes_while_an_error_is_described() -> None:
    def interrupt() -> NoReturn:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        describe_error(TextOf(interrupt))
