"""Values of programs as JSON: they come back as they were, functions too."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stagepost.programs import Keyword, Limits, PtcLisp, run_sync, show

LISP = PtcLisp()
PROGRAMS = [
    '(def a {:a 1 "b" [nil true 1.5] [1] #{2 :x} true "t" nil 0})',
    "(def a [##Inf ##-Inf 123456789012345678901234567890 -9007199254740993 2])",
    '(def a [(java.util.Date. 0) (LocalDate/parse "2024-02-29")])',
    '(def b 1) (def a [#\'b map #"[a-z]+" :k])',
    "(def a (fn [x & more] [x more]))",
    "(def n 3) (def a (let [m {:k 2} f #(* % (:k m))] (fn [x] (+ (f x) n))))",
    '(def a #(if (< %2 1e-20) (str %1 "\\n\\"") [%1 #{%2} {:x #"a\\d"} #\'inc]))',
    "(def a (where :n > 1))",
    "(def a (juxt :a (fnil inc 0)))",
    "(defn a [{:keys [x] :or {x 5}} [y]] (loop [i 0] (if (< i x) (recur (inc i)) (+ i y))))",
]


def again(memory: Mapping[str, Any]) -> dict[str, Any]:
    """Memory, stored as text and read again."""
    return LISP.load(json.loads(json.dumps(LISP.dump(memory))))


@pytest.mark.parametrize("program", PROGRAMS)
def test_memory_comes_back_as_it_was(program: str) -> None:
    memory = run_sync(program).memory
    loaded = again(memory)
    assert {name: show(value) for name, value in loaded.items()} == {name: show(of) for name, of in memory.items()}
    assert LISP.dump(loaded) == LISP.dump(memory)


@pytest.mark.parametrize(
    ("stored", "called", "value"),
    [
        (PROGRAMS[4], "(a 1 2 3)", "[1 [2 3]]"),
        (PROGRAMS[5], "(a 5)", "13"),
        (PROGRAMS[6], '(a "x" 1)', '["x" #{1} {:x #"a\\d"} #\'inc]'),
        (PROGRAMS[7], "(filter a [{:n 1} {:n 2}])", "[{:n 2}]"),
        (PROGRAMS[8], "((second [1 a]) {:a 4})", "error"),
        (PROGRAMS[9], "(a {} [1])", "6"),
        (PROGRAMS[3], '(re-find (nth a 2) "12ab")', '"ab"'),
        (PROGRAMS[3], "((second a) inc [1])", "[2]"),
    ],
)
def test_what_comes_back_works(stored: str, called: str, value: str) -> None:
    outcome = run_sync(called, memory=again(run_sync(stored).memory))
    assert (show(outcome.value) if outcome.error is None else "error") == value


def test_a_function_that_comes_back_can_be_stored_again_and_again() -> None:
    memory: Mapping[str, Any] = run_sync("(defn f [x] (* x 2)) (def g (let [k 2] (fn [x] (f (+ x k)))))").memory
    for _ in range(3):
        outcome = run_sync("(def made (g 3))", memory=again(memory))
        memory = outcome.memory
    assert memory["made"] == 10


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.from_regex(r"[a-z]{1,5}", fullmatch=True).map(Keyword),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_any_value_comes_back(value: Any) -> None:
    outcome = run_sync("(def a data/v)", data={"v": value}, limits=Limits(seconds=None))
    assert show(again(outcome.memory)["a"]) == show(outcome.memory["a"])


@pytest.mark.parametrize(
    ("program", "most", "shown"),
    [
        ("[1 2]", 512, "[1 2]"),
        ("(range 1000)", 40, "[0 1 2 3 4 5 6 7 8 9]"),
        ("(join (map str (range 1000)))", 40, None),
        ("{:a (range 100) :b (fn [x] x)}", 60, None),
        ('(map (fn [i] {:i i :t "a long text for each of them"}) (range 100))', 100, None),
        ("(set (range 1000))", 60, None),
        ("(fn [x] x)", 512, '"#fn[x]"'),
        ("(reduce (fn [a _] [a]) 1 (range 50))", 20, "[[[[[[]]]]]]"),
        ('{"a key that is far too long to be kept in the few bytes" 1}', 20, "{}"),
    ],
)
def test_long_values_are_shortened_as_results(program: str, most: int, shown: str | None) -> None:
    made = PtcLisp(history_max_bytes=most).shortened(run_sync(program).value)
    assert len(show(made).encode()) <= most
    assert shown is None or show(made) == shown
