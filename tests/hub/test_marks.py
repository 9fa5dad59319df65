"""Which methods `handles` marks, and that none of them is dropped."""

import contextlib
import types
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from functools import cached_property, lru_cache, partial, partialmethod, update_wrapper, wraps
from typing import Any, NewType, Protocol, TypeVar

import pytest
from anyio import fail_after
from tests.hub._agents import Ping, Pong

from stagepost.hub import Context, HandlerFailed, Hub, InvalidHandler, StreamedReply, handles
from stagepost.hub._handlers import HandlerReader, Handlers


def read(source: object) -> Handlers:
    return HandlerReader().read(source)[0]


def named(function: Callable[..., Any]) -> Any:
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return call


def nameless(function: Callable[..., Any]) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return call


class Wrapper:
    """A decorator that is a class and binds nothing."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


class Endpoint:
    @handles
    @staticmethod
    async def above_static(ping: Ping) -> str:
        return f"static {ping.number}"

    @staticmethod
    @handles
    async def below_static(number: int) -> str:
        return f"static {number}"

    @handles
    @classmethod
    async def above_class(cls, text: str) -> str:
        return f"{cls.__name__} {text}"

    @classmethod
    @handles
    async def below_class(cls, pong: Pong, context: Context) -> str:
        return f"{cls.__name__} {pong.number} {context.agent}"

    @handles
    @named
    async def above_named(self, data: bytes) -> str:
        return f"{type(self).__name__} {data!r}"

    @named
    @handles
    async def below_named(self, numbers: tuple[int, ...]) -> str:
        return f"{type(self).__name__} {numbers}"

    @handles(list)
    @nameless
    async def above_nameless(self, numbers: list[int]) -> str:
        return f"{type(self).__name__} {numbers}"

    async def _add(self, more: str, number: float) -> str:
        return f"{type(self).__name__} {number} {more}"

    add = handles(float)(partialmethod(_add, "more"))  # type: ignore[type-var]  # it is a method all the same

    @handles(dict[str, int] | set[int], None)
    @nameless
    def several(self, payload: object) -> str:
        return type(payload).__name__


class Below(Endpoint):
    pass


@pytest.mark.parametrize(
    "source", [Endpoint, Endpoint(), Below, Below()], ids=["class", "object", "subclass", "its object"]
)
async def test_every_marked_method_works(source: object) -> None:
    name = getattr(source, "__name__", type(source).__name__)
    with fail_after(5):
        async with Hub() as hub:
            hub.register("endpoint", source)
            for payload, reply in (
                (Ping(1), "static 1"),
                (2, "static 2"),
                ("three", f"{name} three"),
                (Pong(4), f"{name} 4 endpoint"),
                (b"5", f"{name} b'5'"),
                ((6,), f"{name} (6,)"),
                ([7], f"{name} [7]"),
                (8.0, f"{name} 8.0 more"),
                ({}, "dict"),
                (set(), "set"),
                (None, "NoneType"),
            ):
                assert await hub.request("endpoint", payload) == reply


class OfFunction:
    @nameless
    @handles
    async def hidden(self, ping: Ping) -> None: ...

    @handles
    async def other(self, pong: Pong) -> None: ...


class OfClass:
    @Wrapper
    @handles
    async def hidden(self, ping: Ping) -> None: ...


class OfPartial:
    @staticmethod
    @nameless
    @nameless
    @handles
    async def hidden(ping: Ping) -> None: ...


class OfDefault:
    @handles
    async def hidden(self, ping: Ping) -> None: ...

    def hidden(self, ping: Ping, call: Any = hidden) -> None: ...  # type: ignore[no-redef,name-defined]  # the point


class OfKeyword:
    @handles
    async def hidden(self, ping: Ping) -> None: ...

    def hidden(self, ping: Ping, *, call: Any = hidden) -> None: ...  # type: ignore[no-redef,name-defined]  # the point


@pytest.mark.parametrize("cls", [OfFunction, OfClass, OfPartial, OfDefault, OfKeyword])
def test_a_decorator_that_hides_the_mark_is_refused(cls: type) -> None:
    with pytest.raises(
        InvalidHandler, match=f"{cls.__name__}.hidden is marked by @handles below a decorator that hides"
    ):
        read(cls())


def test_a_mark_of_somebody_else_is_no_mark_of_a_class() -> None:
    loop: Any

    def look(self: object, ping: Ping) -> object:
        return loop, OfFunction.other, never

    class Free:
        see = look

        @handles
        async def pong(self, pong: Pong) -> None: ...

    loop = look
    assert set(read(Free()).exact) == {Pong}
    never = None


def test_a_function_that_is_marked_on_an_object_is_refused() -> None:
    @handles
    async def loose(ping: Ping) -> None: ...

    class Holder:
        @handles
        async def pong(self, pong: Pong) -> None: ...

    holder: Any = Holder()
    holder.bound = holder.pong
    assert set(read(holder).exact) == {Pong}
    holder.loose = loose
    with pytest.raises(
        InvalidHandler, match=r"loose is marked, but only an attribute \('loose'\) of an instance: make it"
    ):
        read(holder)


def test_what_is_no_method_is_refused() -> None:
    class Cached:
        @handles(Ping)  # type: ignore[prop-decorator]  # the point
        @cached_property
        def value(self) -> int:
            return 1

    with pytest.raises(InvalidHandler, match=r"Cached.value is not a method: make it a plain method"):
        read(Cached)
    with pytest.raises(InvalidHandler, match="is not a function that can be marked: use @handles on a method"):

        class Property:
            @handles  # type: ignore[prop-decorator]  # the point
            @property
            def value(self) -> int:
                return 1

    class Above:
        @property
        @handles
        def value(self) -> int:
            return 1

    with pytest.raises(InvalidHandler, match=r"Above.value is not a method"):
        read(Above())


UserId = NewType("UserId", int)
AnyT = TypeVar("AnyT")


@pytest.mark.parametrize("payload", ["text", UserId, AnyT], ids=["text", "newtype", "variable"])
def test_what_names_no_class_cannot_be_handled(payload: Any) -> None:
    with pytest.raises(InvalidHandler, match="is marked with what is not a class: use @handles on a method, or"):
        handles(payload)
    with pytest.raises(InvalidHandler, match="is marked with what is not a class"):
        handles(Ping, payload)


@pytest.mark.parametrize("thing", [5, len, Endpoint().above_named], ids=["number", "builtin", "bound method"])
def test_what_cannot_be_marked_is_refused(thing: Any) -> None:
    with pytest.raises(InvalidHandler, match="is not a function that can be marked"):
        handles(thing)


def of_functions(ping: Ping) -> Iterator[int]:
    yield ping.number


async def of_async(ping: Ping) -> AsyncIterator[int]:
    yield ping.number


class Streams:
    async def method(self, ping: Ping) -> AsyncIterator[int]:
        yield ping.number

    async def __call__(self, ping: Ping) -> AsyncIterator[int]:
        yield ping.number


class Marked:
    @handles
    async def method(self, ping: Ping) -> AsyncIterator[int]:
        yield ping.number


class MarkedStatic:
    @handles
    @staticmethod
    def method(ping: Ping) -> Iterator[int]:
        yield ping.number


class Updated:
    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self.function = function

    def __call__(self, ping: Ping) -> object:
        return self.function(ping)


GENERATORS = {
    "generator": of_functions,
    "async generator": of_async,
    "bound method": Streams().method,
    "callable": Streams(),
    "partial": partial(of_async),
    "partial of partial": partial(partial(of_functions)),
    "decorated": named(of_async),
    "decorated twice": named(named(of_functions)),
    "decorated by an object": Updated(of_async),
    "marked method": Marked(),
    "marked class": Marked,
    "marked static method": MarkedStatic,
    "static method": staticmethod(of_async),
}


@pytest.mark.parametrize("source", GENERATORS.values(), ids=GENERATORS)
async def test_a_generator_streams_its_reply_whatever_is_around_it(source: object) -> None:
    with fail_after(5):
        async with Hub() as hub:
            hub.register("stream", source)
            assert [part async for part in hub.stream("stream", Ping(3))] == [3]
            with pytest.raises((StreamedReply, HandlerFailed), match="streams its reply"):
                await hub.request("stream", Ping(3))


@pytest.mark.parametrize(
    ("source", "what"),
    [
        (lru_cache(of_functions), "a function that returns the same generator again"),
        (contextlib.contextmanager(of_functions), "a context manager"),
        (contextlib.asynccontextmanager(of_async), "a context manager"),
    ],
    ids=["cached", "context manager", "async context manager"],
)
def test_what_a_decorator_has_made_of_a_generator_is_refused(source: object, what: str) -> None:
    hub = Hub()
    with pytest.raises(InvalidHandler, match=f"is a generator, turned into {what}: register the generator") as caught:
        hub.register("stream", source)
    assert "functools" not in caught.value.handler
    assert hub.agents == ()


async def test_a_wrapper_may_return_a_generator() -> None:
    @wraps(of_async)
    async def wrapped(ping: Ping) -> object:
        return of_async(ping)

    with fail_after(5):
        async with Hub() as hub:
            hub.register("wrapped", wrapped)
            assert [part async for part in hub.stream("wrapped", Ping(3))] == [3]


async def test_what_turns_a_generator_into_a_reply_is_a_handler() -> None:
    @wraps(of_async)
    async def collected(ping: Ping) -> list[int]:
        return [number async for number in of_async(ping)]

    @types.coroutine
    def awaited(ping: Ping) -> Generator[Any, Any, int]:
        yield from ()
        return ping.number

    with fail_after(5):
        async with Hub() as hub:
            hub.register("collected", collected)
            hub.register("awaited", awaited)
            assert await hub.request("collected", Ping(1)) == [1]
            assert await hub.request("awaited", Ping(2)) == 2


async def test_a_handler_that_was_called_already_is_refused() -> None:
    async def handler(ping: Ping) -> None: ...

    coroutine = handler(Ping())
    for called in (coroutine, of_functions(Ping()), of_async(Ping())):
        with pytest.raises(InvalidHandler, match="was called already: pass the function itself, without calling it"):
            Hub().register("called", called)
    coroutine.close()


def test_a_method_without_its_object_is_refused() -> None:
    class Plain:
        async def ping(self, ping: Ping) -> None: ...

    with pytest.raises(InvalidHandler, match=r"Plain\.ping is a method without its object"):
        Hub().register("method", Plain.ping)


def test_a_class_that_cannot_be_made_is_refused() -> None:
    class Half(ABC):
        @handles
        async def ping(self, ping: Ping) -> None:
            self.other(ping)

        @abstractmethod
        def other(self, ping: Ping) -> None: ...

    class Shape(Protocol):
        @handles
        async def ping(self, ping: Ping) -> None: ...

    with pytest.raises(InvalidHandler, match="Half is an abstract class: register one that has all of its methods"):
        Hub().register("half", Half)
    with pytest.raises(InvalidHandler, match="Shape is an abstract class"):
        Hub().register("shape", Shape)


def test_an_annotation_that_raises_is_refused() -> None:
    async def typo(ping: "Ping |") -> None: ...  # type: ignore[valid-type]  # noqa: F722  # the point

    async def missing(ping: "types.Missing") -> None: ...  # type: ignore[name-defined]  # the point

    for handler in (typo, missing):
        with pytest.raises(InvalidHandler, match="has an annotation that cannot be read at run time"):
            Hub().register("typo", handler)


def test_a_handler_behind_a_partial_is_named_by_its_function() -> None:
    with pytest.raises(InvalidHandler, match="of_functions is a generator"):
        Hub().register("partial", partial(lru_cache(of_functions)))


def test_a_mark_may_come_with_an_override() -> None:
    class Plain:
        async def ping(self, ping: Ping) -> None: ...

    class Marked(Plain):
        @handles
        async def ping(self, ping: Ping) -> None: ...

    assert set(read(Marked()).exact) == {Ping}


def test_very_many_decorators_are_looked_through_up_to_a_number() -> None:
    handler: Any = of_async
    for _ in range(40):
        handler = named(handler)
    handler.__wrapped__.__wrapped__ = handler  # it need not end at all
    with pytest.raises(InvalidHandler):
        Hub().register("deep", handler)
