from abc import ABCMeta
from collections.abc import Callable
from enum import Enum
from typing import (
    Annotated,
    Any,
    Final,
    ForwardRef,
    Generic,
    Literal,
    LiteralString,
    Never,
    NewType,
    Optional,
    Protocol,
    TypeAlias,
    TypedDict,
    TypeVar,
    Union,
    runtime_checkable,
)

import pytest
from anyio import fail_after
from tests.hub._agents import Ping, Pong

from stagepost.hub import Context, HandlerFailed, Hub, InvalidArgument, UnexpectedReply
from stagepost.hub._expect import _known, expected, fits


class Row(TypedDict):
    key: str


@pytest.mark.parametrize(
    ("reply", "expected", "verdict"),
    [
        (1, int, True),
        (1, float, True),
        (1.5, int, False),
        ([1], list[int], True),
        ({}, list[int], False),
        (None, None, True),
        (1, None, False),
        (1, int | str, True),
        (1.0, int | None, False),
        ("a", Literal["a", "b"], True),
        ("c", Literal["a", "b"], False),
        (object(), Any, True),
        ({}, Row, True),
        (None, object, True),
    ],
)
def test_a_reply_fits_what_a_type_checker_would_let_pass(reply: object, expected: object, *, verdict: bool) -> None:
    assert fits(reply, expected) is verdict


def test_what_is_no_class_cannot_be_expected() -> None:
    with pytest.raises(TypeError):
        fits(1, "int")


UserId = NewType("UserId", int)
Alias: TypeAlias = int | str
AnyT = TypeVar("AnyT")
BoundT = TypeVar("BoundT", bound=int)
OneT = TypeVar("OneT", int, str)


class Box(Generic[AnyT]):
    pass


@runtime_checkable
class Sized(Protocol):
    def __len__(self) -> int: ...


class Unsized(Protocol):
    def size(self) -> int: ...


class Colour(Enum):
    RED = 1


class Later:
    """What a ``type`` statement of Python 3.12 makes."""

    def __init__(self, value: object) -> None:
        self.__value__ = value


LATER: Any = Later(int | list[Any])
LATER.__value__ = (LATER, int, LATER)  # it may name itself


@pytest.mark.parametrize(
    ("reply", "expect", "verdict"),
    [
        (1, UserId, True),
        ("a", UserId, False),
        (1, Annotated[int, "positive"], True),
        ("a", Annotated[int, "positive"], False),
        (1, Annotated[int | None, "x"] | str, True),
        (1, Alias, True),
        (1.0, Alias, False),
        (None, Optional[int], True),  # noqa: UP045 - the point
        (1, Union[str, UserId], True),  # noqa: UP007 - the point
        (True, BoundT, True),
        ("a", BoundT, False),
        ("a", OneT, True),
        (1.0, OneT, False),
        (Box[int](), Box[str], True),
        (Box, type[Box[int]], True),
        (len, Callable[[object], int], True),
        (1, Callable[..., object], False),
        ([], Sized, True),
        (1, Sized, False),
        (Colour.RED, Colour, True),
        (Colour.RED, Literal[Colour.RED], True),
        (True, Literal[1], False),
        ([1], Literal[1] | None, False),
        (1, (int, str), True),
        (1.0, (int, str), False),
        ("a", LiteralString, True),
        (1, complex, True),
        (Later(int), Later(Later), True),
        (1, Later(Annotated[UserId, 1]), True),
        ([Ping()], list[Pong], True),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Later | Box) else str(value),
)
async def test_what_can_be_expected(reply: object, expect: Any, *, verdict: bool) -> None:
    async def answer(ping: Ping) -> object:
        return reply

    with fail_after(5):
        async with Hub() as hub:
            hub.register("answer", answer)
            if verdict:
                assert await hub.request("answer", Ping(), expect=expect) is reply
            else:
                with pytest.raises(UnexpectedReply):
                    await hub.request("answer", Ping(), expect=expect)


@pytest.mark.parametrize(
    "expect",
    [
        "Pong",
        Pong(1),
        1,
        [],
        (),
        (int, "str"),
        ForwardRef("Pong"),
        AnyT,
        Never,
        Final[int],
        Unsized,
        int | Unsized,
        list["Pong"] | Annotated["Pong", 1],
        LATER,
    ],
    ids=lambda expect: "alias" if expect is LATER else str(expect),
)
async def test_what_cannot_be_compared_is_refused_before_the_request(expect: Any) -> None:
    asked: list[Ping] = []

    async def answer(ping: Ping, context: Context) -> None:
        asked.append(ping)
        if ping.number:
            await context.request("answer", Ping(0), expect=expect)

    with fail_after(5):
        async with Hub() as hub:
            hub.register("answer", answer)
            with pytest.raises(InvalidArgument, match=r"expect is .*: use a class, a union of classes, a Literal"):
                await hub.request("answer", Ping(), expect=expect)
            assert asked == []
            with pytest.raises(HandlerFailed) as caught:
                await hub.request("answer", Ping(1))
            assert isinstance(caught.value.cause, InvalidArgument)
            assert asked == [Ping(1)]


def test_the_classes_that_are_remembered_are_limited() -> None:
    kinds = [ABCMeta(f"Kind{number}", (), {}) for number in range(600)]
    assert all(expected(kind) is kind for kind in kinds)
    assert all(expected(kind) is kind for kind in kinds[-100:])
    assert len(_known) <= 256
