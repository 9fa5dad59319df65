"""What functions of users may do that nobody expects, and where workflows call such functions."""

import asyncio
import builtins
import sys
import time
from argparse import ArgumentParser
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import anyio
from pydantic import BaseModel, model_validator

from stagepost.workflows import (
    Ask,
    Chain,
    Conditional,
    Graph,
    Parallel,
    Pattern,
    Retry,
    Sleep,
    Step,
    StepContext,
    Wait,
    step,
)

Hostile = Callable[..., Any]


class UnreadableError(Exception):
    """Cannot say what it is."""

    def __str__(self) -> str:
        raise SystemExit("no text")

    __repr__ = __str__


class OddTextError(Exception):
    """Says something that is no text."""

    def __str__(self) -> str:
        return 7  # type: ignore[return-value]  # noqa: PLE0307  # on purpose


class LostError(BaseException):
    """Somebody's own class beside `Exception`."""


class BrokenText(str):
    """A text that breaks whoever encodes it."""

    __slots__ = ()

    def encode(self, *_: Any, **__: Any) -> bytes:
        raise SystemExit("no bytes")


class BrokenTextError(Exception):
    """Says something that is a text of a kind."""

    def __str__(self) -> str:
        return BrokenText("it is broken")


def _instance(cls: type[BaseException]) -> BaseException:
    if issubclass(cls, UnicodeDecodeError):
        return cls("utf-8", b"x", 0, 1, "why")
    if issubclass(cls, UnicodeEncodeError):
        return cls("utf-8", "x", 0, 1, "why")
    if issubclass(cls, UnicodeTranslateError):
        return cls("x", 0, 1, "why")
    if issubclass(cls, BaseExceptionGroup):
        return cls("group", [ValueError("inside")])
    return cls("why")


BUILTIN: Mapping[str, Callable[[], BaseException]] = {
    name: lambda cls=cls: _instance(cls)  # type: ignore[misc]  # one for each class
    for name, cls in vars(builtins).items()
    if isinstance(cls, type) and issubclass(cls, BaseException) and not issubclass(cls, KeyboardInterrupt)
}

ODD: Mapping[str, Callable[[], BaseException]] = {
    "SystemExit": lambda: SystemExit(2),
    "GeneratorExit": GeneratorExit,
    "StopIteration": StopIteration,
    "StopAsyncIteration": StopAsyncIteration,
    "CancelledError": asyncio.CancelledError,
    "own BaseException": lambda: LostError("lost"),
    "MemoryError": MemoryError,
    "group": lambda: BaseExceptionGroup("group", [SystemExit(1), ValueError("x")]),
    "nested group": lambda: BaseExceptionGroup("a", [BaseExceptionGroup("b", [GeneratorExit()]), SystemExit(1)]),
    "group of cancellations": lambda: BaseExceptionGroup("group", [asyncio.CancelledError(), asyncio.CancelledError()]),
    "no text": UnreadableError,
    "odd text": OddTextError,
    "broken text": BrokenTextError,
    "surrogates": lambda: ValueError("caf\udce9"),
}


def raising(make: Callable[[], BaseException]) -> Hostile:
    """A sync function that raises."""

    def hostile(*_: Any, **__: Any) -> Any:
        raise make()

    return hostile


def parse(*_: Any) -> None:
    """What a tool does with a model's argument."""
    ArgumentParser(exit_on_error=True).parse_args(["--no-such-option"])


async def cancel_itself(*_: Any) -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()


async def cancel_itself_and_take_it_back(*_: Any) -> None:
    """Before Python 3.13 the cancellation arrives at the next await all the same."""
    await cancel_itself()
    task = asyncio.current_task()
    assert task is not None
    task.uncancel()
    if sys.version_info >= (3, 13):
        raise ValueError("nothing is left")


async def cancel_itself_and_wait(*_: Any) -> None:
    await cancel_itself()
    await asyncio.sleep(1)


async def await_cancelled(*_: Any) -> None:
    task = asyncio.create_task(asyncio.sleep(10))
    task.cancel()
    await task


async def fail_in_a_group(*_: Any) -> None:
    async def fails() -> None:
        raise ValueError("inside")

    async with asyncio.TaskGroup() as group:
        group.create_task(fails())
        group.create_task(asyncio.sleep(10))


async def fail_in_an_anyio_group(*_: Any) -> None:
    async def fails() -> None:
        raise LostError("inside")

    async with anyio.create_task_group() as group:
        group.start_soon(fails)
        await anyio.sleep(10)


async def leak_a_scope(*_: Any) -> None:
    anyio.CancelScope().__enter__()


async def leak_a_deadline(*_: Any) -> None:
    KEPT.append(scope := anyio.fail_after(0.01))
    scope.__enter__()


async def leak_a_cancelled_scope(*_: Any) -> None:
    anyio.CancelScope().__enter__().cancel()


async def leak_a_group(*_: Any) -> None:
    group = await anyio.create_task_group().__aenter__()
    group.start_soon(anyio.sleep, 10)


async def leak_a_generator(*_: Any) -> None:
    async def numbers() -> Any:
        with anyio.fail_after(0.01):
            yield 1

    KEPT.append(made := numbers())
    await anext(made)


KEPT: list[Any] = []


async def leak_and_fail(*_: Any) -> None:
    anyio.CancelScope().__enter__()
    raise ValueError("it fails as well")


async def block(*_: Any) -> Any:
    time.sleep(0.05)  # noqa: ASYNC251  # on purpose
    raise ValueError("late")


def generate(*_: Any) -> Any:
    return (number for number in range(3))


async def asynchronous() -> int:
    return 1


def give_coroutine(*_: Any) -> Any:
    return asynchronous()


def give_inside(*_: Any) -> Any:
    return {"a": [1, {"b": asynchronous()}]}


class Odd:
    """Breaks whoever looks at it."""

    def __eq__(self, other: object) -> bool:
        raise SystemExit("eq")

    def __bool__(self) -> bool:
        raise SystemExit("bool")

    def __repr__(self) -> str:
        raise SystemExit("repr")

    __str__ = __repr__

    def __hash__(self) -> int:
        raise SystemExit("hash")

    def __len__(self) -> int:
        raise SystemExit("len")

    def __iter__(self) -> Any:
        raise SystemExit("iter")


def give_odd(*_: Any) -> Any:
    return Odd()


ASYNC: Mapping[str, Callable[..., Awaitable[Any]]] = {
    "anyio group": fail_in_an_anyio_group,
    "scope": leak_a_scope,
    "deadline": leak_a_deadline,
    "cancelled scope": leak_a_cancelled_scope,
    "open group": leak_a_group,
    "generator": leak_a_generator,
    "scope and error": leak_and_fail,
    "blocks": block,
}
ASYNCIO: Mapping[str, Callable[..., Awaitable[Any]]] = {
    "cancels itself": cancel_itself,
    "cancels itself and takes it back": cancel_itself_and_take_it_back,
    "cancels itself and waits": cancel_itself_and_wait,
    "awaits cancelled": await_cancelled,
    "failing TaskGroup": fail_in_a_group,
}
SYNC: Mapping[str, Hostile] = {
    **{name: raising(make) for name, make in ODD.items()},
    "argparse": parse,
    "sys.exit": lambda *_: sys.exit(3),
    "odd object": give_odd,
    "generator": generate,
    "coroutine": give_coroutine,
}


# places


@dataclass(frozen=True)
class Place:
    """A place where a function of a user is called.

    Attributes:
        make: A workflow that calls it there.
        names: What the run's error names.
        state: What the run starts with.
    """

    make: Callable[[Hostile], Pattern]
    names: str
    state: Mapping[str, object] | None = None
    takes_any: bool = False  # whatever it returns is an answer, so only what it raises is a failure


def later(hostile: Hostile) -> Hostile:
    """The same as an async function."""

    async def hostile_step(state: Any) -> Any:
        return hostile(state)

    return hostile_step


def nothing(state: Any) -> None:
    """Change nothing."""


NOTHING = step("nothing", nothing, inline=True)


def _graph(hostile: Hostile) -> Graph:
    graph = Graph("graph")
    graph.add("node", NOTHING)
    graph.add("other", NOTHING)
    graph.edge("node", "other", when=hostile)
    graph.start("node")
    graph.finish("other")
    return graph


def _one_node(node: Step) -> Graph:
    graph = Graph("graph")
    graph.add("bad", node)
    graph.start("bad")
    graph.finish("bad")
    return graph


def _validated(hostile: Hostile) -> Chain:
    begun: list[bool] = []

    class Model(BaseModel):
        number: int = 0

        @model_validator(mode="after")
        def _check(self) -> "Model":
            if begun:
                hostile(self)
            return self

    def begin(state: Any) -> None:
        begun.append(True)

    return Chain("chain", [step("begin", begin, inline=True), step("next", nothing, inline=True)], state=Model)


def _typed_item(hostile: Hostile) -> Parallel:
    begun: list[bool] = []

    class Item(BaseModel):
        number: int

        @model_validator(mode="after")
        def _check(self) -> "Item":
            if begun:
                hostile(self)
            begun.append(True)
            return self

    async def work(item: Item) -> int:
        return item.number

    return Parallel("fan", work, over="items")


def _once(hostile: Hostile) -> Chain:
    async def pay(state: Any, context: StepContext) -> None:
        await context.child(Chain("child", [NOTHING]), "below", lambda: hostile(None))

    return Chain("chain", [pay], companions=[Chain("child", [NOTHING])])


def _emit(hostile: Hostile) -> Chain:
    async def tell(state: Any, context: StepContext) -> None:
        context.emit(hostile)  # type: ignore[arg-type]  # on purpose

    return Chain("chain", [tell])


ITEMS = {"items": [1, 2, 3]}

PLACES: Mapping[str, Place] = {
    "step": Place(lambda f: Chain("chain", [step("bad", later(f))]), "'bad'"),
    "step in a thread": Place(lambda f: Chain("chain", [step("bad", f)]), "'bad'"),
    "inline step": Place(lambda f: Chain("chain", [step("bad", f, inline=True)]), "'bad'"),
    "step with options": Place(
        lambda f: Chain("chain", [step("bad", later(f), timeout=5, retry=Retry(attempts=2, first=0, jitter=0))]),
        "'bad'",
    ),
    "inner chain": Place(lambda f: Chain("chain", [Chain("inner", [step("bad", f, inline=True)])]), "'inner'.*'bad'"),
    "retry predicate": Place(
        lambda f: Chain("chain", [step("bad", raising(ValueError), inline=True, retry=Retry(first=0, jitter=0, on=f))]),
        "'bad'",
        takes_any=True,
    ),
    "route": Place(lambda f: Conditional("choice", f, {"a": NOTHING}), "'choice' failed at its route"),
    "async route": Place(lambda f: Conditional("choice", later(f), {"a": NOTHING}), "'choice' failed at its route"),
    "route's step": Place(
        lambda f: Conditional("choice", lambda _: "a", {"a": step("bad", f, inline=True)}), "on route 'a'"
    ),
    "edge": Place(_graph, "'node': the predicate of its edge to 'other'"),
    "graph's node": Place(
        lambda f: _one_node(step("bad", f, inline=True)),
        "at node 'bad'",
    ),
    "over": Place(lambda f: Parallel("fan", NOTHING, over=f), "'fan' failed: its items could not be had"),
    "worker": Place(lambda f: Parallel("fan", step("bad", later(f)), over="items"), "'fan' failed: .* failed", ITEMS),
    "single worker": Place(
        lambda f: Parallel("fan", step("bad", later(f)), over="items", workers=1), "'fan' failed: .* failed", ITEMS
    ),
    "worker in a thread": Place(
        lambda f: Parallel("fan", step("bad", f), over="items"), "'fan' failed: .* failed", ITEMS
    ),
    "worker's step": Place(
        lambda f: Parallel("fan", Chain("inner", [step("bad", later(f))]), over="items"), "'bad'", ITEMS
    ),
    "branch": Place(lambda f: Parallel("both", {"good": NOTHING, "bad": step("bad", later(f))}), "branch 'bad' failed"),
    "key": Place(lambda f: Parallel("fan", NOTHING, over="items", key=f), "'fan' failed: its items", ITEMS),
    "merge": Place(
        lambda f: Parallel("fan", NOTHING, over="items", merge=f),
        "'fan' failed: its values could not be put together",
        ITEMS,
    ),
    "collected failures": Place(
        lambda f: Parallel("fan", step("bad", later(f)), over="items", failures="lost"), "3 of 3 items failed", ITEMS
    ),
    "fold": Place(
        lambda f: Chain("chain", [NOTHING]).fold("add", lambda state, _item: f(state), over="items", inline=True),
        "fold 'add' failed at item 0",
        ITEMS,
    ),
    "fold's items": Place(
        lambda f: Chain("chain", [NOTHING]).fold("add", lambda _state, _item: None, over=f),
        "fold 'add' failed: its items",
    ),
    "show": Place(lambda f: Chain("chain", [Wait("bad", show=f)]), "'bad'", takes_any=True),
    "until": Place(lambda f: Chain("chain", [Sleep("bad", until=f)]), "'bad'"),
    "build": Place(lambda f: Chain("chain", [Ask("nobody", f, name="bad")]), "'bad'"),
    "child's start": Place(_once, "'pay'"),
    "event": Place(_emit, "'tell'", takes_any=True),
    "validator of a model": Place(_validated, "'begin'|'next'", takes_any=True),
    "validator of an item": Place(_typed_item, "'fan'", {"items": [{"number": 1}]}, takes_any=True),
}
