from collections.abc import Mapping
from datetime import date
from functools import partial
from typing import Any, Literal, Optional, TypedDict

import pytest
from pydantic import BaseModel

from stagepost.checkpoint import CannotStore
from stagepost.workflows import State
from stagepost.workflows._values._types import codec_of, item_types


class Page(BaseModel):
    number: int


class Row(TypedDict):
    number: int


class Unknown:
    pass


PLAIN: list[Any] = [
    None,
    int,
    Any,
    dict,
    list,
    list[int],
    dict[str, list[float]],
    int | None,
    Optional[str],  # noqa: UP045  # the old spelling is another object
    State,
    Mapping,
    Mapping[str, list[Any]],
    Row,
]


@pytest.mark.parametrize("kind", PLAIN, ids=str)
def test_plain_json_needs_no_codec(kind: Any) -> None:
    assert codec_of(kind) is None


@pytest.mark.parametrize(
    "kind", [Page, list[Page], date, Page | None, dict[int, str], Mapping[str, Page], Literal["a"], tuple], ids=str
)
def test_what_json_cannot_say_needs_a_codec(kind: Any) -> None:
    codec = codec_of(kind)
    assert codec is not None
    assert codec.kind == kind


def test_types_that_pydantic_does_not_know_are_refused() -> None:
    with pytest.raises(CannotStore, match="pydantic has no schema"):
        codec_of(Unknown)


def annotated(page: Page, extra: int = 0) -> date: ...  # type: ignore[empty-body]  # never called
def bare(page): ...  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201  # that is the point
def nothing(page: Page) -> None: ...
def hidden(page: "OnlyForCheckers") -> Page: ...  # type: ignore[name-defined,empty-body]  # noqa: F821  # that is the point


class Reader:
    page: str

    def __call__(self, page: Page) -> date: ...  # type: ignore[empty-body]  # never called

    def method(self, page: Page) -> date: ...  # type: ignore[empty-body]  # never called


def second(extra: int, page: Page) -> date: ...  # type: ignore[empty-body]  # never called


@pytest.mark.parametrize(
    ("function", "types"),
    [
        (annotated, (Page, date)),
        (partial(annotated, extra=1), (Page, date)),
        (partial(second, 1), (Page, date)),
        (Reader(), (Page, date)),
        (Reader().method, (Page, date)),
        (nothing, (Page, type(None))),
        (bare, (None, None)),
        (hidden, (None, None)),
        (lambda page: page, (None, None)),
        (max, (None, None)),
    ],
    ids=["function", "partial", "bound", "object", "method", "none", "bare", "hidden", "lambda", "builtin"],
)
def test_annotations_of_workers(function: Any, types: tuple[Any, Any]) -> None:
    assert item_types(function) == types
