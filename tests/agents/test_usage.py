import pytest

from stagepost.agents import Usage

KNOWN, UNKNOWN = Usage(input_tokens=5, cost=0.25), Usage(input_tokens=7)


@pytest.mark.parametrize(
    ("one", "other", "cost"),
    [
        (KNOWN, KNOWN, 0.5),
        (KNOWN, Usage(), 0.25),
        (Usage(), KNOWN, 0.25),
        (KNOWN, UNKNOWN, None),
        (UNKNOWN, UNKNOWN, None),
        (Usage(), Usage(), None),
        (Usage(cost=0), KNOWN, 0.25),
    ],
    ids=["known", "nothing-after", "nothing-before", "one-unknown", "unknown", "nothing", "free"],
)
def test_a_cost_that_is_not_known_is_not_0(one: Usage, other: Usage, cost: float | None) -> None:
    assert (one + other).cost == cost
