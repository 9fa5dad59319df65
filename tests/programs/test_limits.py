"""Programs that attack the host: each ends with the error of the limit that it hits, and says how to raise it."""

from typing import Any

import pytest

from stagepost.programs import Limits, run_sync

TWICE = "(reduce (fn [a _] [a a]) [1] (range 40))"

ATTACKS: dict[str, tuple[str, str, str]] = {
    "endless loop": ("(loop [i 0] (recur (inc i)))", "loop_limit_exceeded", "Limits(loops="),
    "endless recur": ("((fn [x] (recur x)) 1)", "loop_limit_exceeded", "Limits(loops="),
    "endless recursion": ("(defn f [x] (inc (f x))) (f 1)", "memory_exceeded", "Limits(depth="),
    "recursion of many arguments": ("(defn f [a b c] (f a b c)) (f 1 2 3)", "memory_exceeded", "Limits(depth="),
    "recursion with patterns": ("(defn f [[a]] (f [a])) (f [1])", "memory_exceeded", "Limits(depth="),
    "recursion through map": ("(defn f [x] (map f [x])) (f 1)", "memory_exceeded", "Limits(depth="),
    "recursion of two arguments": ("(defn f [x y] (f y x)) (f 1 2)", "memory_exceeded", "Limits(depth="),
    "many steps": ("(count (for [a (range 900) b (range 900)] a))", "loop_limit_exceeded", "Limits(steps="),
    "huge range": ("(range 1000000000)", "memory_exceeded", "Limits(memory="),
    "range of floats": ("(range 0 1e300 0.1)", "memory_exceeded", "Limits(memory="),
    "combinations": ("(combinations (range 60) 30)", "memory_exceeded", "Limits(memory="),
    "doubled text": ('(reduce (fn [s _] (str s s)) "abc" (range 60))', "memory_exceeded", "Limits(memory="),
    "joined text": ('(join (join "x" (range 9000)) (range 9000))', "memory_exceeded", "Limits(memory="),
    "replaced text": ('(replace (join "a" (range 9000)) "a" (join (range 9000)))', "memory_exceeded", "Limits(memory="),
    "doubled vector": ("(reduce (fn [v _] (concat v v)) [1] (range 60))", "memory_exceeded", "Limits(memory="),
    "mapcat": ("(reduce (fn [v _] (mapcat (fn [x] [x x]) v)) [1] (range 60))", "memory_exceeded", "Limits(memory="),
    "squared integer": ("(reduce (fn [a _] (* a a)) 3 (range 100))", "memory_exceeded", "Limits(integer_digits="),
    "power": ("(pow 10 100000000)", "memory_exceeded", "Limits(integer_digits="),
    "many sums": ("(reduce (fn [a _] (+ a a)) 1 (range 9000))", "memory_exceeded", "Limits(integer_digits="),
    "long number": ("1" * 101, "parse_error", "Limits(digits="),
    "deep forms": ("[" * 65 + "]" * 65, "parse_error", "Limits(nesting="),
    "long program": ("1 " * 60_000, "parse_error", "Limits(source="),
    "many names": (" ".join(f":k{n}" for n in range(10_001)), "parse_error", "Limits(names="),
    "long pattern": (f'#"{"a" * 300}"', "analysis_error", "Limits(pattern="),
    "repetitions": ('#"((a{100}){100}){100}"', "analysis_error", "not a regular expression"),
    "lookahead": ('#"(?=a)"', "analysis_error", "no lookahead"),
    "reference": (r'#"(a)\1"', "analysis_error", "not a regular expression"),
    "placeholder": ("#(+ %999999999 1)", "analysis_error", "no placeholder"),
    "stored": ("(def x (join (range 9000))) (def y x)",
               "memory_limit_exceeded", "Limits(stored="),
    "deep value": ("(reduce (fn [a _] [a]) 1 (range 500))", "memory_exceeded", "nested too deep"),
    "result that is twice itself": (TWICE, "memory_exceeded", "Limits(memory="),
    "printed": (f"(str {TWICE})", "loop_limit_exceeded", "Limits(steps="),
    "compared": (f"(= {TWICE} {TWICE})", "memory_exceeded", "cannot be compared"),
    "hashed": (f"(set [{TWICE}])", "memory_exceeded", "used as a key"),
    "sorted keys": (f"(keys (assoc {{}} {TWICE} 1))", "memory_exceeded", "used as a key"),
    "flattened": (f"(flatten {TWICE})", "memory_exceeded", "Limits(memory="),
    "walked": (f"(postwalk identity {TWICE})", "memory_exceeded", "Limits(memory="),
    "tree": ("(tree-seq some? (fn [x] [x x]) 1)", "memory_exceeded", "Limits(memory="),
    "threads": (f"(-> 1 {'inc ' * 3000})", "memory_exceeded", "Limits(depth="),
    "branches": ("(defn f [x] (pmap f [x])) (f 1)", "memory_exceeded", "Limits(depth="),
    "graphemes": ('(map identity (join "é" (range 90000)))', "memory_exceeded", "Limits(memory="),
}  # fmt: skip


@pytest.mark.parametrize(("program", "kind", "told"), ATTACKS.values(), ids=ATTACKS)
def test_an_attack_ends_with_the_error_of_its_limit(program: str, kind: str, told: str) -> None:
    outcome = run_sync(program, limits=Limits(seconds=None, steps=300_000, memory=3_000_000, stored=50_000))
    assert outcome.error is not None
    assert (outcome.error.kind, told in outcome.error.text) == (kind, True), str(outcome.error)
    assert outcome.value is None


def test_time_is_a_limit() -> None:
    outcome = run_sync("(reduce + (map inc (range 100000)))", limits=Limits(seconds=0.0, memory=None))
    assert str(outcome.error).startswith("timeout: the program takes longer than 0 ms; Limits(seconds=…) raises it")


def test_memory_that_is_free_again_is_not_counted() -> None:
    program = "(reduce (fn [m i] (assoc m i 1)) {} (range 2000))"
    assert run_sync(program, limits=Limits(memory=1_000_000, seconds=None)).error is None
    program = "(reduce (fn [v i] (conj v i)) [] (range 2000))"
    assert run_sync(program, limits=Limits(memory=1_000_000, seconds=None)).error is None


def test_no_limits_are_no_limits() -> None:
    free = Limits(seconds=None, memory=None, steps=None, loops=None, stored=None)
    assert run_sync("(def x 1) (loop [i 0] (if (< i 3000) (recur (inc i)) i))", limits=free).value == 3000


def test_a_long_line_is_cut_when_it_is_printed() -> None:
    (printed,) = run_sync("(println (join (range 9000)))").prints
    assert len(printed) == 2001
    assert printed.endswith("…")


@pytest.mark.parametrize("program", [row[0] for row in ATTACKS.values()], ids=ATTACKS)
def test_the_same_program_gives_the_same_error(program: str) -> None:
    limits: dict[str, Any] = {"seconds": None, "steps": 20_000, "memory": 300_000}
    first = run_sync(program, limits=Limits(**limits))
    assert first.error == run_sync(program, limits=Limits(**limits)).error
