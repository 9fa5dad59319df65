import pytest

from stagepost.agents import Budget, BudgetExceeded
from stagepost.agents._definition._budget import Spent


@pytest.mark.parametrize(
    ("budget", "last"),
    [(Budget(turns=3), True), (Budget(turns=4), False), (Budget(turns=None), False), (Budget(turns=1), True)],
    ids=["now", "later", "never", "over"],
)
def test_the_last_turn_is_known_before_it_begins(budget: Budget, last: bool) -> None:  # noqa: FBT001  # a table's column
    assert budget.is_last_turn(Spent(turns=2)) is last


@pytest.mark.parametrize(
    ("budget", "spent"),
    [
        (Budget(turns=2), Spent(turns=2)),
        (Budget(tokens=10), Spent(input_tokens=9, output_tokens=1)),
    ],
    ids=["turns", "tokens"],
)
def test_a_turn_beyond_the_budget_is_refused(budget: Budget, spent: Spent) -> None:
    with pytest.raises(BudgetExceeded):
        budget.check_turn("lead", spent)


def test_calls_may_use_the_budget_to_its_end_and_no_further() -> None:
    budget = Budget(tool_calls=2)
    budget.check_calls("lead", Spent(turns=1, tool_calls=2))
    with pytest.raises(BudgetExceeded, match=r"agent 'lead' .* budget of 2 tool calls \(3 so far\)") as caught:
        budget.check_calls("lead", Spent(turns=1, tool_calls=3))
    error = caught.value
    assert (error.agent, error.budget, error.limit, error.used) == ("lead", "tool_calls", 2, 3)


def test_calls_need_a_turn_to_read_their_results() -> None:
    with pytest.raises(BudgetExceeded, match="2 turns"):
        Budget(turns=2).check_calls("lead", Spent(turns=2, tool_calls=1))


def test_no_limit_is_no_limit() -> None:
    lots = Spent(turns=10**6, tool_calls=10**6, input_tokens=10**9)
    free = Budget(turns=None, tool_calls=None, tokens=None)
    free.check_turn("lead", lots)
    free.check_calls("lead", lots)


@pytest.mark.parametrize("limits", [{"turns": 0}, {"tool_calls": -1}, {"tokens": 0}], ids=str)
def test_a_budget_of_nothing_is_refused(limits: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="None for no limit"):
        Budget(**limits)
