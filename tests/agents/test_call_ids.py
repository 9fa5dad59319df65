"""Names of calls are told apart, whatever a model makes of them."""

import pytest

from stagepost.agents import ToolCall
from stagepost.agents._loop._call_ids import distinct


def named(*ids: str) -> list[ToolCall]:
    return [ToolCall(id=own, name="t", arguments="{}") for own in ids]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        pytest.param(("a", "b"), ("a", "b"), id="as they are"),
        pytest.param(("a", "a"), ("a", "call-3-1"), id="one twice"),
        pytest.param(("", ""), ("call-3-0", "call-3-1"), id="none"),
        pytest.param(("call-3-1", "a", "a"), ("call-3-1", "a", "call-3-2"), id="one that looks like ours"),
        pytest.param(("a", "call-3-2", "a"), ("a", "call-3-2", "call-3-2-"), id="one that is ours"),
        pytest.param((), (), id="no calls"),
    ],
)
def test_ids_of_an_answer_differ(given: tuple[str, ...], kept: tuple[str, ...]) -> None:
    assert tuple(call.id for call in distinct(named(*given), 3)) == kept
