"""Graphs laid out in ranks."""

import re
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stagepost.service._drawing._layered._columns import isotonic
from stagepost.service._drawing._layered._layout import layered
from stagepost.service._drawing._layered._values import Arc, Laid, Vertex


def boxes(keys: str) -> list[Vertex]:
    return [Vertex(key, 60 + 10 * number, 30) for number, key in enumerate(keys)]


def arcs(*pairs: str) -> list[Arc]:
    return [Arc(*pair) for pair in pairs]


def middle(laid: Laid, vertex: Vertex) -> float:
    return laid.corners[vertex.key].x + vertex.width / 2


def crossings(laid: Laid, vertices: list[Vertex], given: list[Arc]) -> int:
    at = {each.key: middle(laid, each) for each in vertices}
    pairs = [(at[arc.source], at[arc.target]) for arc in given]
    return sum((one[0] - other[0]) * (one[1] - other[1]) < 0 for one, other in combinations(pairs, 2))


def test_a_chain_stands_in_one_column_from_above() -> None:
    vertices = boxes("abc")
    laid = layered(vertices, arcs("ab", "bc"))
    assert len({round(middle(laid, each)) for each in vertices}) == 1
    tops = [laid.corners[key].y for key in "abc"]
    assert tops == sorted(tops)
    assert laid.height == tops[-1] + 30
    assert laid.width == 80


def test_nothing_has_no_size() -> None:
    assert layered([], []) == Laid({}, [], 0.0, 0.0)


def test_a_box_stands_below_the_longest_way_to_it() -> None:
    laid = layered(boxes("abcd"), arcs("ab", "bc", "cd", "ad"))
    assert laid.corners["d"].y > laid.corners["c"].y
    assert not any(route.leads_back for route in laid.routes)


def test_the_way_that_closes_a_cycle_leads_back_to_the_right_of_its_boxes() -> None:
    vertices = boxes("abc")
    laid = layered(vertices, arcs("ab", "bc", "ca"))
    back = laid.routes[2]
    assert [route.leads_back for route in laid.routes] == [False, False, True]
    assert back.tip.x == laid.corners["a"].x + vertices[0].width
    assert laid.corners["a"].y < back.tip.y < laid.corners["a"].y + 30
    assert laid.width > max(laid.corners[each.key].x + each.width for each in vertices)


def test_a_box_may_lead_to_itself() -> None:
    laid = layered(boxes("ab"), [Arc("a", "b"), Arc("b", "b", 40)])
    assert laid.routes[1].leads_back
    assert laid.routes[1].label.x > laid.corners["b"].x + 70


def test_ways_back_from_boxes_further_right_go_around_the_others() -> None:
    vertices = boxes("abcd")
    laid = layered(vertices, arcs("ab", "ac", "ad", "da", "ba", "ca", "aa"))
    rights = {}
    for arc, route in zip("dbca", laid.routes[3:], strict=True):
        rights[arc] = max(float(number) for number in re.findall(r"(?<=[HQ])[\d.]+", route.path))
    assert rights["a"] < rights["b"] < rights["c"] < rights["d"]


def test_a_label_has_room_between_its_boxes() -> None:
    plain, labelled = layered(boxes("ab"), arcs("ab")), layered(boxes("ab"), [Arc("a", "b", 120)])
    assert labelled.corners["b"].y > plain.corners["b"].y
    assert labelled.corners["a"].y + 30 < labelled.routes[0].label.y < labelled.corners["b"].y
    assert labelled.width == 120


def test_ways_that_need_not_cross_do_not() -> None:
    vertices, given = boxes("abcdef"), arcs("ad", "be", "cf", "af")
    crossed = [*arcs("ae", "bd", "cf")]
    assert crossings(layered(vertices, crossed), vertices, crossed) == 0
    assert crossings(layered(vertices, given), vertices, given) <= 2


def test_branches_stand_on_both_sides_of_what_they_leave_and_join() -> None:
    vertices = boxes("abcd")
    laid = layered(vertices, arcs("ab", "ac", "bd", "cd"))
    left, right = middle(laid, vertices[1]), middle(laid, vertices[2])
    assert left < middle(laid, vertices[0]) < right
    assert left < middle(laid, vertices[3]) < right


@pytest.mark.parametrize(
    ("values", "weights", "fitted"),
    [
        ([1, 2, 3], [1, 1, 1], [1, 2, 3]),
        ([3, 1], [1, 1], [2, 2]),
        ([4, 0, 5], [1, 3, 1], [1, 1, 5]),
        ([2, 3, 1], [1, 1, 1], [2, 2, 2]),
        ([], [], []),
    ],
)
def test_values_that_may_not_fall_are_pooled(values: list[float], weights: list[float], fitted: list[float]) -> None:
    assert isotonic(values, weights) == pytest.approx(fitted)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[Vertex], list[Arc]]:
    count = draw(st.integers(1, 12))
    sizes = st.tuples(st.floats(10, 200), st.floats(10, 80))
    vertices = [Vertex(str(number), *draw(sizes)) for number in range(count)]
    ends = st.integers(0, count - 1).map(str)
    pairs = draw(st.lists(st.tuples(ends, ends, st.sampled_from([0.0, 50.0])), max_size=20))
    return vertices, [Arc(*pair) for pair in pairs]


@settings(max_examples=60, deadline=None)
@given(graphs())
def test_no_boxes_overlap_and_all_is_within_the_picture(graph: tuple[list[Vertex], list[Arc]]) -> None:
    vertices, given = graph
    laid = layered(vertices, given)
    for one, other in combinations(vertices, 2):
        (x, y), (to_x, to_y) = laid.corners[one.key], laid.corners[other.key]
        apart = x + one.width <= to_x or to_x + other.width <= x or y + one.height <= to_y or to_y + other.height <= y
        assert apart
    for each in vertices:
        corner = laid.corners[each.key]
        assert corner.x >= -0.1
        assert corner.x + each.width <= laid.width + 0.1
        assert corner.y + each.height <= laid.height + 0.1


@settings(max_examples=60, deadline=None)
@given(graphs())
def test_ways_lead_down_or_back_and_the_same_graph_is_drawn_in_the_same_way(
    graph: tuple[list[Vertex], list[Arc]],
) -> None:
    vertices, given = graph
    laid = layered(vertices, given)
    assert len(laid.routes) == len(given)
    for arc, route in zip(given, laid.routes, strict=True):
        assert (laid.corners[arc.source].y < laid.corners[arc.target].y) is not route.leads_back
    assert layered(vertices, given) == laid


def test_500_boxes_in_a_row_and_a_thousand_ways_are_laid_out() -> None:
    vertices = [Vertex(str(number), 100, 30) for number in range(500)]
    given = [Arc(str(number), str(number + 1)) for number in range(499)]
    given += [Arc(str(number), str((number * 7) % 500)) for number in range(500)]
    assert len(layered(vertices, given).routes) == 999
