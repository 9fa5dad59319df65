"""Why items have failed: equal texts are one reason."""

import pytest

from stagepost.workflows import BranchError, ItemFailure, Parallel, ParallelError
from stagepost.workflows._engine._reasons import summary


def failures(texts: str) -> list[ItemFailure]:
    """One for each letter but dots."""
    return [ItemFailure(index, ValueError(text)) for index, text in enumerate(texts) if text != "."]


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ("x", "1 of 1 items failed: item 0: ValueError: x"),
        ("x.x", "2 of 3 items failed: 2 items (0, 2): ValueError: x"),
        ("yxxxx", "5 of 5 items failed: 4 items (1, 2, 3, …): ValueError: x; item 0: ValueError: y"),
        ("ab..", "2 of 4 items failed: item 0: ValueError: a; item 1: ValueError: b"),
        (
            "abcdedf",
            (
                "7 of 7 items failed: 2 items (3, 5): ValueError: d; item 0: ValueError: a; "
                "item 1: ValueError: b; and 3 more"
            ),
        ),
    ],
    ids=["one", "equal", "most frequent first", "different", "the rest"],
)
def test_equal_texts_are_one_reason_with_a_count(texts: str, said: str) -> None:
    assert summary(failures(texts), len(texts), branches=False) == said


def test_errors_of_branches_name_them_already() -> None:
    found = [ItemFailure(0, BranchError("left", ValueError("x"), state={}))]
    assert summary(found, 2, branches=True) == "1 of 2 branches failed: branch 'left' failed: ValueError: x"


def test_reasons_are_found_by_their_texts() -> None:
    error = ParallelError("p", "why", failures=failures("baa"), state={})
    assert error.reasons == {"ValueError: a": (1, 2), "ValueError: b": (0,)}


async def test_the_error_of_a_fan_out_groups_its_reasons() -> None:
    async def refuse(item: int) -> None:
        raise ConnectionError("refused")

    with pytest.raises(ParallelError) as caught:
        await Parallel("p", refuse, over=lambda _: range(3), workers=3).run()
    (indexes,) = caught.value.reasons.values()
    assert indexes == caught.value.accounts.failed
