"""Differences of JSON values."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests._examples import law

from stagepost.service._drawing._difference import GONE, ChangeKind, Difference, difference
from stagepost.service._drawing._shown import shown, size

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


def lines(found: Difference) -> list[tuple[str, str, str | None, str | None]]:
    return [
        (line.kind.value, line.path, line.before and line.before.text, line.after and line.after.text)
        for line in found.lines
    ]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2, "b": None}, [("changed", "a", "1", "2"), ("added", "b", None, "null")]),
        ({"a": {"b": "x"}}, {"a": {}}, [("removed", "a.b", '"x"', None)]),
        ({"a": [1, 2]}, {"a": [1, 2, 3, 4]}, [("appended", "a[2]", None, "3"), ("appended", "a[3]", None, "4")]),
        ([1, 2, 3], [1, 9, 3], [("changed", "[1]", "2", "9")]),
        ([1, 2, 3], [1, 3], [("removed", "[1]", "2", None)]),
        ([1, 3], [1, 2, 3], [("added", "[1]", None, "2")]),
        ([{"a": 1}, 5], [{"a": 2}, 5], [("changed", "[0].a", "1", "2")]),
        ([1, 1], [1], [("removed", "[1]", "1", None)]),
        (1, True, [("changed", "", "1", "true")]),
        (1, 1.0, [("changed", "", "1", "1.0")]),
        ({"odd key": 1, "a-b": 1}, {}, [("removed", '["odd key"]', "1", None), ("removed", "a-b", "1", None)]),
        ("a", ["a"], [("changed", "", '"a"', '["a"]')]),
        (GONE, {"a": 1}, [("added", "", None, '{"a": 1}')]),
        (None, GONE, [("removed", "", "null", None)]),
        (GONE, GONE, []),
    ],
)
def test_values_differ_in_lines(before: Any, after: Any, expected: list[Any]) -> None:
    assert lines(difference(before, after)) == expected


def test_paths_begin_with_what_is_given() -> None:
    assert lines(difference([1], [1, 2], path="orders")) == [("appended", "orders[1]", None, "2")]


def test_huge_values_are_cut_and_their_size_told() -> None:
    (line,) = difference("a", "é" * 1_000_000).lines
    assert line.after is not None
    assert (len(line.after.text), line.after.size, line.after.is_cut) == (300, 2_000_002, True)
    assert size(line.after.size) == "2.0 MB"


def test_many_differences_are_cut() -> None:
    found = difference(list(range(5000)), [number + 1 for number in range(5000)], most=10)
    assert len(found.lines) == 10
    assert found.is_cut
    assert not difference([1] * 10, [2] * 10, most=10).is_cut


def test_deep_values_are_compared_as_a_whole_from_a_depth_on() -> None:
    one: Any = 1
    other: Any = 2
    for _ in range(100):
        one, other = [one], {"a": other}
        one, other = {"a": one}, {"a": [other["a"]]}
    assert len(difference(one, other).lines) == 1
    assert difference(one, copy.deepcopy(one)).lines == []


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 bytes"), (999, "999 bytes"), (1500, "1.5 KB"), (34_000, "34 KB"), (5e9, "5.0 GB")]
)
def test_sizes_are_short(count: int, text: str) -> None:
    assert size(count) == text


def test_what_is_short_is_shown_whole() -> None:
    assert shown({"a": "ü"}) == ('{"a": "ü"}', 11, False)


@law(60, 2000)
@given(JSON, JSON)
def test_only_what_differs_has_lines(one: Any, other: Any) -> None:
    assert not difference(one, copy.deepcopy(one)).lines
    found = difference(one, other).lines
    assert bool(found) is (repr(_sorted(one)) != repr(_sorted(other)))
    assert all(line.before != line.after for line in found)
    back = difference(other, one).lines
    turned = {ChangeKind.ADDED: ChangeKind.REMOVED, ChangeKind.APPENDED: ChangeKind.REMOVED}
    assert sorted(turned.get(line.kind, line.kind) for line in back if line.kind is not ChangeKind.REMOVED) == sorted(
        line.kind for line in found if line.kind in (ChangeKind.REMOVED, ChangeKind.CHANGED)
    )


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(each) for each in value] if isinstance(value, list) else value
