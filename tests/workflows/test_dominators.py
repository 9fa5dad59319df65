"""Which places every way to a place leads through."""

from collections.abc import Mapping, Sequence

from hypothesis import given
from tests.workflows._meanings import WORKFLOWS, Meant
from tests.workflows._words import NOTHING
from tests.workflows.test_graph import loop
from tests.workflows.test_laws import QUICK, pattern_of

from stagepost.workflows import Chain, Conditional, State, step
from stagepost.workflows._plans._dominators import END, _ways, surely_passed

A, B, C, D = (step(name, lambda _: None) for name in "abcd")


def way(state: State) -> str:
    return "x"


def test_a_chain_leads_through_all_that_is_before() -> None:
    program = Chain("work", [A, Chain("inner", [B, C]), D]).plan
    assert surely_passed(program, "inner/c") == {"a", "inner/b"}
    assert surely_passed(program, "a") == set()
    assert surely_passed(program, END) == {"a", "inner/b", "inner/c", "d"}


def test_ways_that_meet_again_are_not_known() -> None:
    program = Chain("work", [A, Conditional("choice", way, {"x": B, "y": C}), D]).plan
    assert surely_passed(program, "d") == {"a", "choice"}
    assert surely_passed(program, "choice/x") == {"a", "choice"}


def test_a_cycle_leads_through_what_it_began_with() -> None:
    program = Chain("work", [A, loop(3, node=Chain("inner", [B, C]))]).plan
    steps = {path for path in surely_passed(program, "loop/done") if not path.endswith("->")}
    assert steps == {"a", "loop/work/b", "loop/work/c"}


def test_what_nothing_leads_to_has_passed_nothing() -> None:
    assert surely_passed(Chain("work", [NOTHING]).plan, "elsewhere") == set()


def reached(ways: Mapping[str, Sequence[str]], start: str, without: str) -> set[str]:
    seen, ahead = set[str](), [start]
    while ahead:
        path = ahead.pop()
        if path not in seen and path != without:
            seen.add(path)
            ahead += ways.get(path, ())
    return seen


@QUICK
@given(meant=WORKFLOWS)
def test_a_place_is_surely_passed_if_nothing_behind_is_reached_without_it(meant: Meant) -> None:
    program = pattern_of(meant).plan
    ways = {path: _ways(place) for path, place in program.places.items()}
    without = {path: reached(ways, program.start, path) for path in program.places}
    for goal in (*reached(ways, program.start, "no place"), END):
        expected = {path for path, found in without.items() if goal not in found and path != goal}
        assert surely_passed(program, goal) == expected
