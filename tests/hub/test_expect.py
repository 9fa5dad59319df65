from typing import Any, Literal, TypedDict

import pytest

from stagepost.hub._expect import fits


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
