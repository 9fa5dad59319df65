"""Agreement with Clojure, where nbb (ClojureScript on Node) is installed: both give equal values for a program."""

import os
import shutil
import subprocess
from typing import Any

import pytest
from tests.programs.test_examples import TABLE

from stagepost.programs import Keyword, run_sync, show
from stagepost.programs._values._key import dec

NBB = os.environ.get("NBB") or shutil.which("nbb")
COMMON = [row[0] for row in TABLE if row[2] == "clj"]
ADDED = [
    "(map (fn [x] (if (even? x) (* x x) (- x))) (range -3 6))",
    "(reduce (fn [m [k v]] (update m k (fnil + 0) v)) {} [[:a 1] [:b 2] [:a 3]])",
    "(->> [3 1 2] (sort >) (map-indexed (fn [i x] [i x])) (into {}))",
    "(let [{:keys [a b] :or {b 5} :as all} {:a 1}] [a b (count all)])",
    "(loop [n 10 acc 1] (if (zero? n) acc (recur (dec n) (* acc n))))",
    "(for [x (range 4) y (range x) :when (odd? (+ x y)) :let [z (* x y)]] [x y z])",
    "(-> {:a {:b [1 2 3]}} (assoc-in [:a :c] 4) (update-in [:a :b 1] inc) (get-in [:a :b]))",
    '(group-by count ["a" "bb" "c" "dd" ""])',
    "(frequencies [1 1 2 :a :a nil])",
    "(partition 2 1 [0] (range 5))",
    "(interleave [1 2 3] [:a :b])",
    "(take-while pos? [3 2 0 5])",
    "((juxt first last count) [1 2 3])",
    "(apply max (map count [[1] [1 2] []]))",
    "(some #{3 4} [1 2 3])",
    "(every? keyword? [:a :b])",
    "[(quot -7 2) (rem -7 2) (mod -7 2)]",
    "(distinct [1 2 1 3 2])",
    "(mapcat (fn [x] [x (inc x)]) [1 5])",
    "(merge {:a 1} {:b 2} nil {:a 3})",
    "(select-keys {:a 1 :b 2} [:a :z])",
    '[(subs "hello" 1 3) (count "hello")]',
    "(cond (> 1 2) :a (= 1 1) :b :else :c)",
    "(when-let [x (seq [])] x)",
    "(sort-by (fn [x] (- x)) [1 3 2])",
    "(reduce (fn [a x] (conj a (* 2 x))) [] [1 2])",
    "(let [f (fn [& xs] (count xs))] [(f) (f 1) (f 1 2 3)])",
    "(nth [1 2 3] 1)",
    "(butlast [1 2 3])",
    "(drop-last 2 [1 2 3])",
    '(compare "a" "b")',
]
ASKED = """
(require '[clojure.string :refer [join split split-lines trim replace upper-case lower-case starts-with? ends-with?
                                  includes? index-of last-index-of]]
         '[clojure.walk :refer [walk prewalk postwalk]] '[clojure.set :refer [union intersection difference]])
(defn plain [x]
  (cond (map? x) (into [:map] (sort-by (comp pr-str first) (map (fn [[k v]] [(plain k) (plain v)]) x)))
        (set? x) (set (map plain x))
        (sequential? x) (mapv plain x)
        :else x))
"""
ONE = '(println (try (pr-str (plain (do %s))) (catch :default e (str "error " e))))'
if NBB is None:
    pytest.skip("nbb is not installed: npm install nbb, or give its path as NBB", allow_module_level=True)


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What Clojure gives, by program; one process answers all."""
    programs = [*COMMON, *ADDED]
    script = tmp_path_factory.mktemp("nbb") / "asked.cljs"
    script.write_text("\n".join([ASKED, *(ONE % program for program in programs)]))
    done = subprocess.run([str(NBB), str(script)], capture_output=True, text=True, check=True)
    return dict(zip(programs, done.stdout.splitlines(), strict=True))


@pytest.mark.parametrize("program", [*COMMON, *ADDED])
def test_a_program_gives_what_clojure_gives(program: str, answers: dict[str, str]) -> None:
    expected = answers[program]
    outcome = run_sync(program)
    if expected.startswith("error "):
        assert outcome.error is not None
    else:
        assert show(flat(outcome.value)) == show(run_sync(expected).value)


def flat(value: Any) -> Any:
    """A value without maps, whose keys could not be read back."""
    if isinstance(value, dict):
        pairs = [[flat(dec(key)), flat(of)] for key, of in value.items()]
        return [Keyword("map"), *sorted(pairs, key=lambda pair: show(pair[0]))]
    return [flat(each) for each in value] if isinstance(value, list) else value
