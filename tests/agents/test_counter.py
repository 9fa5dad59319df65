"""Budgets that runs below one root share."""

import pytest

from stagepost.agents import Budget, BudgetExceeded
from stagepost.agents._definition._budget import Spent
from stagepost.agents._delegation._calls import Aside
from stagepost.agents._delegation._state import RunState
from stagepost.agents._loop._counter import Allowance, Counter


def test_counter_adds_what_its_runs_have_used() -> None:
    counter = Counter()
    counter.note("root", Spent(turns=1, input_tokens=5))
    counter.note("root.a", Spent(turns=2, tool_calls=1))
    assert counter.spent == Spent(turns=3, tool_calls=1, input_tokens=5)


def test_turn_under_way_counts_until_it_has_ended() -> None:
    counter = Counter()
    with pytest.raises(ValueError, match="model"), counter.turn():  # noqa: PT012  # what counts inside is the matter
        assert counter.spent.turns == 1
        raise ValueError("the model fails")
    assert counter.spent.turns == 0


def test_total_of_a_run_takes_the_place_of_the_runs_below_it() -> None:
    counter = Counter()
    counter.note("root.a", Spent(turns=2))
    counter.note("root.a.b", Spent(turns=3))
    counter.note("root.ab", Spent(turns=7))
    for turns in (5, 6):
        counter.settle("root.a", Spent(turns=turns))
        assert counter.spent.turns == turns + 7, "told twice, counted once"


def test_total_is_a_runs_own_and_all_below_in_the_form_of_any_version() -> None:
    former = {"a": Spent(turns=5).stored(), "b": Spent(output_tokens=9).stored()}
    state = RunState({"messages": [], "spent": Spent(turns=1), "nested": former})
    assert state.total == Spent(turns=6, output_tokens=9)
    changes = state.with_results([], [Aside(nested={"c": Spent(tool_calls=2).stored()})])
    assert changes["nested"] == {"below": Spent(turns=5, output_tokens=9, tool_calls=2).stored()}
    assert RunState({"messages": [], "spent": Spent(turns=1)}).total == Spent(turns=1)


@pytest.mark.parametrize(
    ("depth", "shared", "is_last"),
    [
        pytest.param(0, 8, False, id="two left for the root"),
        pytest.param(0, 9, True, id="one left for the root"),
        pytest.param(1, 7, False, id="two left below it, and one for the root"),
        pytest.param(1, 8, True, id="one left below it, and one for the root"),
    ],
)
def test_agent_below_leaves_a_turn_to_each_agent_above(depth: int, shared: int, *, is_last: bool) -> None:
    allowance = Allowance("below", Budget(turns=None), ("root", Budget(turns=10), depth))
    allowance.check_turn(Spent(), Spent(turns=shared))
    assert allowance.is_last_turn(Spent(), Spent(turns=shared)) is is_last


def test_shared_budget_is_exceeded_by_all_together() -> None:
    allowance = Allowance("below", Budget(turns=5), ("root", Budget(turns=10), 1))
    with pytest.raises(BudgetExceeded) as raised:
        allowance.check_turn(Spent(turns=1), Spent(turns=9))
    assert (raised.value.agent, raised.value.limit) == ("root", 10)
    with pytest.raises(BudgetExceeded) as raised:
        allowance.check_turn(Spent(turns=5), Spent(turns=5))
    assert raised.value.agent == "below"
    assert allowance.is_last_turn(Spent(turns=4), Spent())
