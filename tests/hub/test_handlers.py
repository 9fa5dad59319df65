import gc
import weakref
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, TypedDict

import pytest
from tests.hub._agents import LoudPing, Ping, Pong, echo

from stagepost.hub import Context, InvalidHandler, Message, NoHandler, handles
from stagepost.hub._handlers import HandlerReader, Handlers

if TYPE_CHECKING:
    from tests.hub._nowhere import OnlyForCheckers  # type: ignore[import-not-found]  # the point of one test


class Row(TypedDict):
    key: str


class Desk:
    @handles
    async def ping(self, ping: Ping) -> None: ...

    @handles
    async def pong(self, message: Message[Pong], context: Context) -> None: ...

    @handles(str, bytes)
    async def text(self, text) -> None: ...  # type: ignore[no-untyped-def]  # noqa: ANN001 - @handles says it

    async def other(self, ping: Ping) -> None: ...


class Quiet(Desk):
    async def ping(self, ping: Ping) -> None: ...


class Caller:
    async def __call__(self, ping: Ping) -> None: ...


class Nothing: ...


class Needy(Desk):
    def __init__(self, room: int, *more: int, size: int, name: str = "") -> None: ...


def read(source: object) -> Handlers:
    return HandlerReader().read(source)[0]


def test_methods_are_found_by_their_mark() -> None:
    handlers = read(Desk())
    assert set(handlers.exact) == {Ping, Pong, str, bytes}
    assert handlers.exact[Pong].takes_message
    assert handlers.exact[Pong].takes_context
    assert handlers.exact[Ping].is_plain


def test_an_override_of_a_marked_method_needs_no_mark() -> None:
    quiet = Quiet()
    assert read(quiet).exact[Ping].call == quiet.ping


def test_functions_methods_callables_and_partials_are_handlers() -> None:
    desk = Desk()
    for source in (echo, desk.other, Caller(), partial(echo)):
        assert set(read(source).exact) == {Ping}


def test_a_function_that_is_not_async_is_a_handler() -> None:
    def now(ping: Ping) -> None: ...

    assert not read(now).exact[Ping].is_async


def test_a_union_registers_one_handler_for_all_its_members() -> None:
    async def both(payload: Ping | Pong) -> None: ...

    handlers = read(both)
    assert handlers.exact[Ping] is handlers.exact[Pong]


def test_the_bare_message_takes_every_payload() -> None:
    async def everything(message: Message) -> None: ...  # type: ignore[type-arg]  # the point of the test

    handlers = read(everything)
    assert handlers.find("agent", Ping).takes_message


def test_annotations_as_text_are_read() -> None:
    async def quoted(message: "Message[Ping]", context: "Context") -> None: ...

    handler = read(quoted).exact[Ping]
    assert handler.takes_message
    assert handler.takes_context


def test_only_the_annotation_of_the_payload_is_evaluated() -> None:
    async def checked(ping: Ping) -> "OnlyForCheckers": ...

    assert set(read(checked).exact) == {Ping}


def test_declared_classes_make_unreadable_annotations_unnecessary() -> None:
    @handles(Ping)
    async def plain(ping: "OnlyForCheckers") -> None: ...

    @handles(Ping)
    async def wrapped(message: "Message[OnlyForCheckers]") -> None: ...

    assert not read(plain).exact[Ping].takes_message
    assert read(wrapped).exact[Ping].takes_message


def test_the_nearest_ancestor_handles_a_subclass() -> None:
    handlers = read(echo)
    assert handlers.find("agent", LoudPing) is handlers.exact[Ping]
    assert handlers.find("agent", LoudPing) is handlers.exact[Ping]


def test_found_ancestors_are_remembered_within_bounds() -> None:
    async def everything(payload: object) -> None: ...

    handlers = read(everything)
    for number in range(1000):
        handlers.find("agent", type(f"Class{number}", (), {}))
    assert handlers._found is not None
    assert len(handlers._found) <= 256


def test_a_class_without_a_handler_is_an_error_that_says_what_there_is() -> None:
    with pytest.raises(NoHandler, match="agent 'agent' has no handler for int, it takes Ping") as caught:
        read(echo).find("agent", int)
    assert caught.value.handled == ("Ping",)


async def nothing() -> None: ...
async def context_only(context: Context) -> None: ...
async def many(*pings: Ping) -> None: ...
async def by_keyword(*, ping: Ping) -> None: ...
async def greedy(ping: Ping, database: object, cache: object) -> None: ...
async def bare(ping) -> None: ...  # type: ignore[no-untyped-def]  # noqa: ANN001 - the point of the test
async def nowhere(ping: "OnlyForCheckers") -> None: ...
async def row(row: Row) -> None: ...
async def hidden(ping: Ping, context: Context, /) -> None: ...


class Twice:
    @handles
    async def one(self, ping: Ping) -> None: ...

    @handles
    async def two(self, ping: Ping | Pong) -> None: ...


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (nothing, r"nothing takes no payload: its first parameter gets the payload"),
        (context_only, "takes no payload"),
        (many, "takes no payload"),
        (by_keyword, "takes no payload"),
        (greedy, r"has parameters that nothing fills \(database, cache\): .*give others a default"),
        (hidden, r"has parameters that nothing fills \(context\)"),
        (bare, "has no annotation for 'ping': annotate it .* or use @handles"),
        (nowhere, "cannot be read at run time .*OnlyForCheckers.*: import or define the class at module level, or use"),
        (row, "which is a plain dict at run time: annotate the payload with a class or a union"),
        (Twice(), r"Twice.two handles Ping, as .*Twice.one does: leave one handler for each"),
        (Nothing, "Nothing is a class without handlers: mark its methods with @handles"),
        (Needy, "Needy is a class whose constructor needs room, size: give them defaults, or register an instance"),
        (object(), "builtins.object has nothing that handles messages: mark methods"),
        (max, "builtins.max has no signature to read: wrap it"),
    ],
    ids=lambda value: "" if isinstance(value, str) else getattr(value, "__name__", type(value).__name__),
)
def test_what_cannot_be_a_handler_is_named_with_a_way_out(source: object, problem: str) -> None:
    with pytest.raises(InvalidHandler, match=problem) as caught:
        read(source)
    assert isinstance(caught.value, TypeError)


def test_a_parameter_with_a_default_is_left_alone() -> None:
    async def tuned(ping: Ping, depth: int = 3, *rest: int, **more: int) -> None: ...

    assert read(tuned).exact[Ping].is_plain


def test_a_mapping_handler_takes_dicts() -> None:
    async def mapped(data: Mapping[str, object]) -> None: ...

    handlers = read(mapped)
    assert handlers.find("agent", dict) is handlers.exact[Mapping]


def test_what_was_read_is_forgotten_with_its_function() -> None:
    reader = HandlerReader()

    def make() -> weakref.ref[object]:
        async def local(ping: Ping) -> None: ...

        reader.read(local)
        return weakref.ref(local)

    gone = make()
    gc.collect()
    assert gone() is None
    assert len(reader._functions) == 0


def test_a_class_is_read_once() -> None:
    reader = HandlerReader()
    reader.read(Desk())
    signatures = reader._classes[Desk]
    reader.read(Desk())
    assert reader._classes[Desk] is signatures
