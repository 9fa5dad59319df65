import collections.abc
from typing import Annotated, Any, Literal, NewType, Optional, Protocol, TypedDict, TypeVar, Union

import pytest

from stagepost.hub._payloads import Unroutable, most_specific, payload_classes


class Base: ...


class Middle(Base): ...


class Leaf(Middle): ...


class Shape(Protocol):
    def area(self) -> float: ...


class Row(TypedDict):
    key: str


class Alias:
    __value__ = Base | int


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (Base, [Base]),
        (Base | int, [Base, int]),
        (Union[Base, int], [Base, int]),  # noqa: UP007 - the old spelling is the point
        (Optional[Base], [Base, type(None)]),  # noqa: UP045 - the old spelling is the point
        (list[int], [list]),
        (Annotated[Base, "note"], [Base]),
        (collections.abc.Mapping[str, int], [collections.abc.Mapping]),
        (Any, [object]),
        (None, [type(None)]),
        (Alias(), [Base, int]),
    ],
    ids=["class", "bar", "union", "optional", "alias", "annotated", "abstract", "any", "none", "type statement"],
)
def test_annotations_name_the_classes_to_route_by(annotation: object, expected: list[type]) -> None:
    assert list(payload_classes(annotation)) == expected


@pytest.mark.parametrize(
    ("annotation", "why"),
    [
        (Literal["a"], "is not a class"),
        (TypeVar("T"), "is not a class"),
        (NewType("Id", int), "is not a class"),
        (Row, "is a plain dict at run time"),
        (Shape, "is a protocol, not a class"),
    ],
    ids=["literal", "typevar", "newtype", "typeddict", "protocol"],
)
def test_annotations_without_a_class_are_refused(annotation: object, why: str) -> None:
    with pytest.raises(Unroutable) as caught:
        list(payload_classes(annotation))
    assert caught.value.why == why


@pytest.mark.parametrize(
    ("payload", "known", "expected"),
    [
        (Leaf, [Base, Middle], Middle),
        (Leaf, [Middle, Base], Middle),
        (Base, [Leaf], None),
        (Leaf, [object], object),
        (Leaf, [object, Base], Base),
        (dict, [collections.abc.Mapping, object], collections.abc.Mapping),
        (dict, [collections.abc.Iterable, collections.abc.Mapping], collections.abc.Mapping),
        (bool, [int], int),
        (Leaf, [], None),
    ],
    ids=[
        "nearest",
        "any order",
        "no descent",
        "catch-all",
        "class before catch-all",
        "abstract before catch-all",
        "nearest abstract",
        "bool",
        "nothing",
    ],
)
def test_the_most_specific_class_wins(payload: type, known: list[type], expected: type | None) -> None:
    assert most_specific(payload, known) is expected
