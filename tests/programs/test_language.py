"""What the table of examples does not say: errors with their hints, memory, tools, branches, the journal."""

from datetime import UTC, date, datetime
from typing import Any

import anyio
import pytest

from stagepost.programs import (
    AmbiguousKeys,
    End,
    InvalidValue,
    Keyword,
    Limits,
    Outcome,
    ProgramCall,
    PtcLisp,
    Surroundings,
    plain,
    run,
    run_sync,
    show,
)

REFUSED = [
    ("(foo 1)", "undefined_variable", "foo"),
    ("(filtr odd? [1])", "undefined_variable", "did you mean filter?"),
    ("(group_by :a [])", "undefined_variable", "names have hyphens: group-by"),
    ("let", "undefined_variable", "special form"),
    ("(zipmap [1] [2])", "undefined_variable", "(into {} (map vector keys vals))"),
    ('(slurp "x")', "undefined_variable", "no access to files"),
    ("(. obj method)", "undefined_variable", ".method"),
    ('(str/capitalize "a")', "analysis_error", "String functions: str"),
    ("data", "undefined_variable", "data/x"),
    ("%", "analysis_error", "inside #() only"),
    ("#()", "analysis_error", "empty"),
    ("(if true x (y))", "undefined_variable", "x"),
    ("(let [a 1 b] a)", "analysis_error", "a value for each name"),
    ("(let a 1)", "analysis_error", "in a vector"),
    ("(let [1 2] 1)", "analysis_error", "a pattern is"),
    ("(let [a/b 2] 1)", "analysis_error", "a local value"),
    ("(let [{:keys a} 2] 1)", "analysis_error", "{:keys [a b]}"),
    ('(let [{:keys ["a"]} 2] 1)', "analysis_error", "names of fields"),
    ("(let [{:keys [a]} 2] 1)", "type_error", "expected map or nil, got number"),
    ("(let [[a] 2] 1)", "type_error", "expected list or nil, got number"),
    ("(fn [x & y z] 1)", "analysis_error", "one pattern"),
    ("(fn [[x & y z]] 1)", "analysis_error", "one pattern"),
    ("(fn 1)", "analysis_error", "parameters in a vector"),
    ("(defn f)", "analysis_error", "(defn name [x]"),
    ("(defn f ([x] 1) ([x y] 2))", "analysis_error", "once"),
    ("(def x)", "analysis_error", "(def name value)"),
    ("(def [a] 1)", "analysis_error", "no pattern"),
    ("(def map 1)", "analysis_error", "cannot shadow builtin 'map'"),
    ("(def *x 1)", "analysis_error", "cannot be defined"),
    ("(def data 1)", "analysis_error", "data cannot be defined: names such as data/x belong to the language"),
    ("(defonce ctx 1)", "analysis_error", "ctx cannot be defined"),
    ("(defn tool [x] x)", "analysis_error", "tool cannot be defined"),
    ("(if)", "analysis_error", "a test"),
    ("(when)", "analysis_error", "a test"),
    ("(cond 1)", "analysis_error", "a value for each test"),
    ("(if-let [x 1 y 2] x)", "analysis_error", "one name"),
    ("(when-let [[a] 1] a)", "analysis_error", "one name"),
    ("(loop [x 1] (+ 1 (recur 2)))", "analysis_error", "tail position"),
    ("(loop [x 1] (recur 1 2))", "analysis_error", "recur takes 1"),
    ("(for [x [1] :foo 1] x)", "analysis_error", "Known: :when, :let, :while"),
    ("(for [x [1] :let 1] x)", "analysis_error", ":let [name value]"),
    ("(for [] 1)", "analysis_error", "begin with a name"),
    ("(->)", "analysis_error", "needs a value"),
    ("(-> 1 2)", "analysis_error", "calls, names and keywords"),
    ('(where :a "x")', "analysis_error", 'write (where :a = "x")'),
    ("(where :a like 1)", "analysis_error", "=, not=, >, <, >=, <=, includes, in"),
    ("(where 1)", "analysis_error", "a keyword, or a vector"),
    ("(where)", "analysis_error", "(where field)"),
    ("{1 2}", "analysis_error", "keywords or texts"),
    ("(:a 1 2 3)", "arity_error", "expects 1 or 2"),
    ("((fn [x] x))", "arity_error", "expected 1 argument(s), got 0"),
    ("(inc 1 2)", "arity_error", "inc expects 1 argument(s), got 2"),
    ("(map (fn [a b] a) [1])", "arity_error", "takes 2 argument(s)"),
    ("(map range [1])", None, ""),
    ("(map get [1])", "arity_error", "get expects 2 to 3"),
    ("(return 1 2)", "arity_error", "expects 1"),
    ("(pmap inc)", "arity_error", "pmap expects 2"),
    ("(budget/remaining 1)", "arity_error", "expects 0"),
    ("(5 5)", "not_callable", "number"),
    ("(filter {:a 1} [1])", "type_error", "a map is no function"),
    ('(filter "a" [1])', "type_error", "use a keyword"),
    ("(take [1] 2)", "type_error", "(take n coll)"),
    ("(sort [1 :a])", "type_error", "numbers are compared with numbers"),
    ("(sort-by :a [] 1)", "type_error", "(sort-by key comparator coll)"),
    ("(sort 1 [2 1])", "type_error", "a comparator is"),
    ('(sort (fn [a b] "x") [2 1])', "type_error", "a boolean or a number"),
    ("(group-by {:a 1} [])", "type_error", "(group-by :field coll)"),
    ("(first {:a 1})", "type_error", "(entries m)"),
    ("(first #{1})", "type_error", "(sort (vec s))"),
    ("(partition 0 [1])", "type_error", "positive integer"),
    ("(range 1 2 0)", "type_error", "the step is 0"),
    ("(assoc 1 2 3)", "type_error", "assoc"),
    ("(assoc {} :a 1 :b)", "arity_error", "a value for each key"),
    ("(assoc-in {} [] 1)", "type_error", "the path is empty"),
    ("(get-in {} :a)", "type_error", "the path is a vector"),
    ("(update {:n 1} :n (fn [] 1))", "arity_error", "wrap it with fnil"),
    ("(key 1)", "type_error", "[key value]"),
    ("(into {} [1])", "type_error", "[key value] pairs"),
    ("(flatten {:a 1})", "type_error", "vals and entries"),
    ("(conj 1 2)", "type_error", "(conj coll x)"),
    ('(contains? "abc" "a")', "type_error", "(includes? text part)"),
    ("(int ##Inf)", "arithmetic_error", "cannot convert Infinity to integer"),
    ("(quot ##Inf 2)", "arithmetic_error", "infinite"),
    ("(mod 1 0)", "arithmetic_error", "division by zero"),
    ("(even? 1.5)", "type_error", "integers"),
    ("(sum [1 :a])", "type_error", "sum"),
    ("(union [1])", "type_error", "(set coll)"),
    ("(re-find 1 2)", "type_error", "the expression comes first"),
    ('(re-find (re-pattern "[") "a")', "analysis_error", "not a regular expression"),
    ('(java.util.Date. "soon")', "type_error", "2024-05-31"),
    ('(LocalDate/parse "x")', "type_error", "2024-05-31"),
    ("(.getTime 1)", "type_error", "java.util.Date."),
    ("(tool/x {})", "tool_not_found", "No tools available."),
    ("(call x)", "analysis_error", '(call "name" {:key value})'),
    ("(task x 1)", "analysis_error", "written out"),
    ('(step-done "a")', "analysis_error", "an id and a text"),
    ("(pmap (fn [x] (return x)) [1])", "eval_error", "return called inside pmap"),
    ('(pmap (fn [x] (step-done "a" "b")) [1])', "eval_error", "step-done called inside pmap"),
    ('(pmap (fn [x] (task-reset "a")) [1])', "eval_error", "task-reset called inside pmap"),
    ("(pcalls (fn [] 1) (fn [] (quot 1 0)))", "arithmetic_error", "in branch 2"),
    ("(pcalls inc)", "arity_error", "inc expects 1"),
    ("(do (if false (def later 1)) later)", "undefined_variable", "has no value yet"),
    ("#'nothing", "undefined_variable", "nothing"),
    ("()", "parse_error", "use [] for an empty vector"),
    ("(+ 1", "parse_error", "1 unclosed"),
    ("1]", "parse_error", "extra ']'"),
    ("(]", "parse_error", "')' is expected"),
    ("{:a}", "parse_error", "a value for each key"),
    ('"abc', "parse_error", "no closing quote"),
    ("@x", "parse_error", "no atoms and refs"),
    ("#_ 1", "parse_error", "use ; for comments"),
    ("1/2", "parse_error", "no ratios"),
    ("a/b/c", "parse_error", "namespace"),
    ("{:a 1 :b/c 2}", "parse_error", "keyword"),
    ("§", "parse_error", "means nothing here"),
    ("(map inc 5)", "type_error", "a collection is expected"),
    ("(take :a [1])", "type_error", "expected to be an integer"),
    ("(combinations [1] -1)", "type_error", "(combinations coll n)"),
    ("(range :a)", "type_error", "range"),
    ("(apply + 1)", "type_error", "the last argument of apply is a collection"),
    ('(subs "a" :a)', "type_error", "subs"),
    ('(index-of "a" "a" :a)', "type_error", "index-of"),
    ('(last-index-of "a" "a" :a)', "type_error", "last-index-of"),
    ("(re-pattern 1)", "type_error", "re-pattern"),
    ('(extract "a" "a" :a)', "type_error", "extract"),
    ('(compare 1 "a")', "type_error", "compare"),
    ("(nth [1] :a)", "type_error", "(nth coll index)"),
    ("(empty? 1)", "type_error", "a collection is expected"),
    ("(float :a)", "type_error", "float"),
    ("(task)", "analysis_error", "(task"),
]  # fmt: skip


@pytest.mark.parametrize(("program", "kind", "told"), REFUSED, ids=[row[0] for row in REFUSED])
def test_an_error_says_what_is_wrong_and_what_to_write(program: str, kind: str | None, told: str) -> None:
    error = run_sync(program).error
    assert (error.kind if error else None) == kind, str(error)
    assert told in (str(error) if error else "")


def test_an_error_says_where_it_is() -> None:
    error = run_sync("(let [a 1]\n  (+ a nil))").error
    assert error is not None
    assert error.place == (2, 3)


def test_a_tool_that_is_named_without_a_call_is_told_how_it_is_called() -> None:
    error = run_sync("(map tool/look [1])").error
    assert error is not None
    assert error.hint == "tools are called: (tool/look {:key value})"


def test_names_are_checked_before_anything_runs() -> None:
    outcome = run_sync('(println "a") (if false (foo))')
    assert outcome.prints == ()
    assert outcome.error is not None


GIVEN = [
    ('(str \\a "b" [\\newline] {:k "v"} ##NaN ##-Inf)', '"ab[\\"\\\\n\\"]{:k \\"v\\"}NaN-Infinity"'),
    ('(count "👨‍👩‍👧a")', "2"),
    ('(subs "a👨‍👩‍👧z" 1 2)', '"👨‍👩‍👧"'),
    ('(index-of "a👨‍👩‍👧z" "z" 1)', "2"),
    ('(last-index-of "añz" "z" 9)', "2"),
    ('(.indexOf "abc" "x")', "-1"),
    ('(.lastIndexOf "abc" "x")', "-1"),
    ("(sort-by :a (fn [x y] (> x y)) [{:a 1} {:a 2}])", "[{:a 2} {:a 1}]"),
    ("(sort (fn [x y] (- y x)) [1 3 2])", "[3 2 1]"),
    ("(first (sort (map (fn [x] (- 20000 x)) (range 20000))))", "1"),
    ("(sort [nil [2] [1 5] [1]])", "[nil [1] [1 5] [2]]"),
    ("(group-by :a [{:a 1} {:a true} {:a 1.0}])", "{true [{:a true}] 1 [{:a 1} {:a 1.0}]}"),
    ('#{1 true 1.0 [1] [1] {:a 1} nil "a" :a #{2}}', '#{nil true 1 "a" :a [1] {:a 1} #{2}}'),
    ("(= [1] [true])", "false"),
    ("(= {:a [1]} {:a [1.0]})", "true"),
    ("(let [[a b :as all] [1 2]] all)", "[1 2]"),
    ("(let [{:strs [a] :or {b 2} :as m} {:a 1}] [a m])", "[1 {:a 1}]"),
    ("((fn f [x] (if (< x 3) (recur (inc x)) x)) 0)", "3"),
    ("((fn [[a] & more] [a more]) [1] 2 3)", "[1 [2 3]]"),
    ("((fn [a b c] [a b c]) 1 2 3)", "[1 2 3]"),
    ("(map + [1 2] [3 4] [5 6])", "[9 12]"),
    ("(for [x [1 2] :let [y (* x 2)] :when (> y 2)] y)", "[4]"),
    ("(doseq [x [1 2]] (println x))", "nil"),
    ("(postwalk (fn [x] (if (number? x) (inc x) x)) {:a [1 #{2}]})", "{:a [2 #{3}]}"),
    ("(prewalk (fn [x] (if (number? x) (inc x) x)) [1 [2]])", "[2 [3]]"),
    ("(walk inc identity [1 2])", "[2 3]"),
    ("(interleave [1 2] [3 4])", "[1 3 2 4]"),
    ("(partition 2 1 [1 2 3])", "[[1 2] [2 3]]"),
    ("(update-in {} [:a :b] (fnil inc 0))", "{:a {:b 1}}"),
    ('(update {"a" 1} :a inc)', '{"a" 2}'),
    ('(dissoc {"a" 1} :a)', "{}"),
    ("(merge {:a 1} nil {:b 2})", "{:a 1 :b 2}"),
    ("(entries {:b 1 :a 2})", "[[:a 2] [:b 1]]"),
    ("(vals nil)", "[]"),
    ("(select-keys nil [:a])", "{}"),
    ("(pluck [:a :b] [{:a {:b 1}}])", "[1]"),
    ("(min-key abs -3 2)", "2"),
    ("(round -2.5)", "-3"),
    ("(quot 7.5 2)", "3.0"),
    ("(rem 7.5 2)", "1.5"),
    ("(mod 7.5 2)", "1.5"),
    ("(pow 2 0.5)", "1.4142135624"),
    ("(pow 0 -1)", "##Inf"),
    ("(pow 10.0 400)", "##Inf"),
    ("(pow -8 0.5)", "##NaN"),
    ("(max 1 ##NaN)", "##NaN"),
    ("(+ 1 0.5)", "1.5"),
    ("(- 5)", "-5"),
    ("(sum [1.5 1 nil])", "2.5"),
    ('(split "a1b2" #"\\d")', '["a" "b" ""]'),
    ('(split "ab" "")', '["a" "b"]'),
    ('(re-split #"," "a,b")', '["a" "b"]'),
    ('(replace "a1b2" #"(\\d)" "<$1$9>")', '"a<1>b<2>"'),
    ('(replace "aa" #"a" "b")', '"bb"'),
    ('(extract "b" "abc")', '"b"'),
    ('(extract "(a)(b)" "ab" 2)', '"b"'),
    ('(extract-int "x" "y")', "nil"),
    ('(grep "a" "a\nb\nca")', '["a" "ca"]'),
    ('(grep-n "a" "a\nb\nca")', '[[1 "a"] [3 "ca"]]'),
    ('(str (LocalDate/parse "2024-05-01"))', '"2024-05-01"'),
    ('(java.util.Date. "Thu, 01 Jan 1970 00:00:01 GMT")', '"1970-01-01T00:00:01+00:00"'),
    ("(.getTime (java.util.Date. 1717200000000))", "1717200000000"),
    ("(.getTime (java.util.Date. 1717200000))", "1717200000000"),
    ('(.getTime (java.util.Date. (LocalDate/parse "1970-01-02")))', "86400000"),
    ("Double/POSITIVE_INFINITY", "##Inf"),
    ("inc", "#<builtin>"),
    ("[(fn [a [b] {:keys [c]}] 1) #(+ % 1)]", "[#fn[a […] {…}] #fn[p1]]"),
    ("(type (java.util.Date. 0))", ":date-time"),
    ('[(type :a) (type #"a") (type inc) (type #{})]', "[:keyword :regex :function :set]"),
    ("(map #{1 2} [1 3])", "[1 nil]"),
    ("(map :a nil)", "[]"),
    ("((all-of (where :a) (where :b in #{1 2})) {:a 1 :b 2})", "true"),
    ('((where [:a 0] not= "x") {:a ["y"]})', "true"),
    ("((where :a includes 1) {:a 5})", "false"),
    ("(when-let [x nil] 1)", "nil"),
    ("(if-let [x 1] x)", "1"),
    ("(or)", "nil"),
    ("(tree-seq map? vals {:a {:b 1}})", "[{:a {:b 1}} {:b 1} 1]"),
    ("(not-empty [1])", "[1]"),
    ("(into [1] #{2})", "[1 2]"),
    ("(conj {:a 1} {:b 2} [:c 3])", "{:a 1 :b 2 :c 3}"),
    ("(-> 5 (#(inc %)) (- 3) str)", '"3"'),
    ("(remove odd? [1 2])", "[2]"),
    ("(find odd? [2 3])", "3"),
    ("(find odd? [2])", "nil"),
    ("[(some odd? [2]) (every? odd? [2]) (not-any? odd? [2]) (not= 1 2) (= [1] [2])]", "[nil false true true false]"),
    ("[(reduce + []) (flatten nil) (combinations [1] 2) (second [1 2]) (get #{1} 1) (contains? nil 1)]",
     "[nil [] [] 2 1 false]"),
    ('[(dec 1) (float 1) (pow 2 3) (<= 1 1) (float (pow 10 400)) (floor 5) (get {:a 1} "a")]',
     "[0 1.0 8 true ##Inf 5 1]"),
    ('[(split-lines "a\n\n") (replace "aa" "a" "b") (re-pattern #"a") (split "ab" #"x*") (#(+ %1 %2) 1 2)]',
     '[["a"] "bb" #"a" ["ab"] 3]'),
    ("(keys (frequencies [[1 2] [1] {:a 1} {:a 0} #{2} #{1} #'inc]))", "[[1] [1 2] {:a 0} {:a 1} #{1} #{2} #'inc]"),
    ('(keys (frequencies [#"b" #"a" inc dec]))', '[#"a" #"b" #<builtin> #<builtin>]'),
    ("(loop [[a] [1]] (if (> a 3) a (recur [(inc a)])))", "4"),
    ("((fn [[a]] (if (> a 3) a (recur [(inc a)]))) [1])", "4"),
    ('(pluck "a" [{"a" 1}])', "[1]"),
    ("#'inc", "#'inc"),
    ("[(* 1.5 2.0) (< 1 2) (- 3 1.5) (min-by :a [{:a 2} {:a 1}])]", "[3.0 true 1.5 {:a 1}]"),
    ('(re-matches #"(a)(b)?" "a")', '["a" "a" nil]'),
]  # fmt: skip


@pytest.mark.parametrize(("program", "printed"), GIVEN, ids=[row[0] for row in GIVEN])
def test_a_program_gives(program: str, printed: str) -> None:
    outcome = run_sync(program, limits=Limits(seconds=None))  # a busy machine may take longer than a second
    assert outcome.error is None, str(outcome.error)
    assert show(outcome.value) == printed


def test_long_collections_are_shown_cut() -> None:
    assert show([1, 2, 3, 4, 5], items=2) == "[1 2 ...] (5 items, showing first 2)"


def test_memory_lives_from_program_to_program() -> None:
    first = run_sync(
        "(let [k 5 over (where :a > k)] (def big over) (def both (juxt inc #(+ k %)))"
        "  (defn plus [x] (+ k x)) (def n {:a [k]}))"
    )
    second = run_sync("[(filter big [{:a 6} {:a 1}]) (both 1) (plus 1) (:a n)]", memory=first.memory)
    assert show(second.value) == "[[{:a 6}] [2 6] 6 [5]]"
    assert run_sync("(def n 1) (quot 1 0)", memory=first.memory).memory is first.memory
    assert run_sync("(defonce n 1) (:a n)", memory=first.memory).value == [5]


def test_a_function_that_cannot_be_made_again_is_not_stored() -> None:
    error = run_sync("(def f (first [(apply juxt [inc])]))").error
    assert error is not None
    assert "cannot be stored" in error.text


def test_inputs_are_values_and_nothing_else() -> None:
    data: dict[str, Any] = {
        "rows": ({"a-b": 1, 2: {3}},),
        "at": datetime(2024, 1, 1, tzinfo=UTC),
        "day": date(2024, 1, 1),
    }
    data["order_count"] = True
    program = "[data/rows (str data/day) data/order-count ctx/at data/none]"
    assert show(run_sync(program, data=data).value) == (
        '[[{2 #{3} "a-b" 1}] "2024-01-01" true "2024-01-01T00:00:00+00:00" nil]'
    )
    with pytest.raises(InvalidValue, match=r"data.x is an object of object"):
        run_sync("data/x", data={"x": [object()]})
    deep: list[Any] = []
    for _ in range(200):
        deep = [deep]
    with pytest.raises(InvalidValue, match="nested more than 100 deep"):
        run_sync("data/x", data={"x": deep})


def test_a_text_cannot_pretend_to_be_a_keyword() -> None:
    assert show(run_sync("[(= data/x :a) (count data/x)]", data={"x": "\udfffa"}).value) == "[false 2]"


def test_values_become_json_at_the_boundary() -> None:
    value = run_sync('{:order-count 1 :tags #{:b :a} :at (LocalDate/parse "2024-01-01") :f inc :i ##Inf}').value
    assert plain(value) == {"order_count": 1, "tags": ["a", "b"], "at": "2024-01-01", "f": "#<builtin>", "i": None}
    assert plain(run_sync("(frequencies [[1] nil true])").value) == {"nil": 1, "true": 1, "[1]": 1}


def test_return_and_fail_end_a_program() -> None:
    outcome = run_sync('(println "a") (return {:a 1}) (println "b")')
    assert (outcome.end, outcome.prints) == (End.RETURN, ("a",))
    failed = [run_sync(program).error for program in ('(fail "no")', "(fail {:message 5})", "(tool/fail [1])")]
    assert [(error.kind, error.text) for error in failed if error] == [
        ("failed", "no"),
        ("failed", "{:message 5}"),
        ("failed", "[1]"),
    ]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("(reduce (fn [a _] [a]) [] (range 5000))", "the value is nested too deep to be kept"),
        ("{:reason (reduce (fn [a _] [a]) [] (range 5000))}", "the value is nested too deep to be kept"),
        ("(reduce (fn [a _] [a a]) [] (range 50))", "more than 10000000 bytes"),
    ],
    ids=["deep", "deep reason", "shared"],
)
def test_a_failure_that_cannot_be_told_is_an_error_of_the_program(value: str, told: str) -> None:
    outcome = run_sync(f"(fail {value})")
    assert outcome.error is not None
    assert (outcome.end, outcome.error.kind) == (End.ERROR, "memory_exceeded")
    assert told in outcome.error.text


@pytest.mark.parametrize("value", ["[a a]", "[a]"], ids=["large", "deep"])
def test_what_is_said_of_a_step_stands_under_the_limits_of_the_program(value: str) -> None:
    program = f'(step-done "a" (reduce (fn [a _] {value}) [] (range 2000)))'
    error = run_sync(program, limits=Limits(seconds=0.1)).error
    assert error is not None
    assert error.kind in {"timeout", "memory_exceeded"}


@pytest.mark.parametrize(
    "value",
    [
        "(let [x (reduce (fn [a _] [a a]) [] (range 60))] (fn [] x))",
        "(let [x (reduce (fn [a _] [a]) [] (range 2000))] (fn [] x))",
        "(reduce (fn [g _] (fn [x] (g x))) (fn [x] x) (range 2000))",
        "(reduce (fn [g _] (let [h g] (fn [x] [(g x) (h x)]))) (fn [x] x) (range 60))",
    ],
    ids=["large", "deep", "chained", "shared"],
)
def test_what_a_stored_function_has_captured_stands_under_the_limits_of_the_program(value: str) -> None:
    error = run_sync(f"(def f {value})").error
    assert error is not None
    assert error.kind in {"timeout", "memory_exceeded"}


def test_what_is_said_of_a_step_is_cut() -> None:
    said = run_sync('(step-done "a" (join "" (range 5000)))').summaries["a"]
    assert (len(said), said[-1]) == (2001, "…")


def test_the_kind_of_a_failure_is_a_short_text() -> None:
    failed = (
        run_sync('(fail {:reason (join "" (range 5000)) :message "m"})').error,
        run_sync("(fail {:reason [1]})").error,
    )
    assert [len(error.kind) for error in failed if error] == [200, 3]


def test_a_value_of_a_task_that_is_nested_too_deep_is_an_error_of_the_program() -> None:
    around = Surroundings(journal={})
    error = run_sync('(task "a" (reduce (fn [a _] [a]) [] (range 200)))', around=around).error
    assert error is not None
    assert error.text == "task a: its value is nested too deep to be kept"


def test_a_value_of_a_task_is_counted() -> None:
    program = '(task "a" (reduce (fn [a _] [a a]) [] (range 60)))'
    error = run_sync(program, around=Surroundings(journal={}), limits=Limits(seconds=5.0)).error
    assert error is not None
    assert error.kind == "memory_exceeded"


def test_the_surroundings_are_seen() -> None:
    around = Surroundings(results=[[1], "b"], budget={"turns": 3}, clock=lambda: 1.5, journal={"known": 7})
    program = (
        '(step-done "a" "went well") (task-reset "gone") '
        "[*1 *2 *3 (:turns (budget/remaining)) (System/currentTimeMillis) (.getTime (java.util.Date.)) "
        '(task "known" (fail "never")) (task "new" (+ 1 2))]'
    )
    outcome = run_sync(program, around=around)
    assert show(outcome.value) == '[[1] "b" nil 3 1500 1500 7 3]'
    assert outcome.journal == {"known": 7, "new": 3}
    assert outcome.summaries == {"a": "went well"}
    error = run_sync('(task "f" inc)', around=around).error
    assert error is None
    error = run_sync('(task "f" (fn [x] x))', around=around).error
    assert error is not None
    assert "task f" in error.text


# tools, on an event loop


async def ask(program: str, **given: Any) -> Outcome:
    async def later(x: int, y_z: int = 0) -> Any:
        await anyio.lowlevel.checkpoint()
        return {"sum": x + y_z, "tags": ["a"]}

    def wrong(**_: Any) -> Any:
        raise ValueError("it is closed")

    def odd() -> Any:
        return object()

    return await run(program, tools={"later": later, "wrong": wrong, "odd": odd, "two_words": dict}, **given)


@pytest.mark.parametrize(
    "program",
    [
        "(:sum (tool/later {:x 1 :y-z 2}))",
        "(:sum (tool/later :x 1 :y-z 2))",
        '(:sum (call "later" {:x 1 "y_z" 2}))',
        "(get (ctx/later {:x 1 :y-z 2}) :sum)",
    ],
)
async def test_a_tool_is_called_with_named_arguments(program: str) -> None:
    outcome = await ask(program)
    assert outcome.value == 3
    assert outcome.calls == (ProgramCall("later", {"x": 1, "y_z": 2}, {"sum": 3, "tags": ["a"]}),)


@pytest.mark.parametrize(
    ("program", "kind", "told"),
    [
        ("(tool/wrong)", "tool_error", "Tool 'wrong' failed: it is closed"),
        ("(tool/odd)", "tool_error", "an object of object"),
        ("(tool/nothing)", "tool_not_found", "Available tools: later, odd, two_words, wrong"),
        ("(tool/later 1)", "analysis_error", "require named arguments"),
        ("(tool/later 1 2)", "analysis_error", "require named arguments"),
        ("(let [x 1] (tool/later x))", "type_error", "named arguments are expected, got number"),
        ("(tool/later :x 1 :y-z 2 :z 3)", "tool_error", "unexpected keyword argument"),
    ],
)
async def test_a_failing_call_ends_the_program(program: str, kind: str, told: str) -> None:
    error = (await ask(program)).error
    assert error is not None
    assert error.kind == kind
    assert told in error.text


async def test_names_of_tools_may_be_written_with_hyphens() -> None:
    assert (await ask("(tool/two-words {:a-b 1})")).value == {"a_b": 1}


async def test_calls_are_limited() -> None:
    outcome = await ask("(map (fn [x] (tool/later {:x x})) (range 9))", limits=Limits(calls=3))
    assert outcome.error is not None
    assert outcome.error.kind == "tool_call_limit_exceeded"
    assert len(outcome.calls) == 3


async def test_branches_wait_together_and_are_told_in_order() -> None:
    waiting = anyio.Event()
    begun: list[int] = []

    async def meet(n: int) -> int:
        begun.append(n)
        if len(begun) == 3:
            waiting.set()
        await waiting.wait()
        return n

    program = '(pmap (fn [n] (def kept n) (println "b" n) (:x {:x (tool/meet {:n n})})) [1 2 3])'
    with anyio.fail_after(10):
        outcome = await run(program, tools={"meet": meet})
    assert outcome.value == [1, 2, 3]
    assert outcome.prints == ("b 1", "b 2", "b 3")
    assert [(call.arguments["n"], call.branch) for call in outcome.calls] == [(1, (1,)), (2, (2,)), (3, (3,))]
    assert outcome.memory == {}


async def test_the_first_branch_that_fails_ends_the_program() -> None:
    program = "(pmap (fn [n] (if (= n 1) (tool/later {:x 1}) (quot n 0))) [1 2 3])"
    outcome = await ask(program)
    assert outcome.error is not None
    assert outcome.error.text == "in branch 2: quot: division by zero"
    assert [call.branch for call in outcome.calls] == [(1,)]


async def test_branches_stand_under_the_limits_of_the_program() -> None:
    outcome = await ask("(pmap (fn [n] (reduce + (range 9000))) (range 30))", limits=Limits(seconds=None, steps=50_000))
    assert outcome.error is not None
    assert outcome.error.kind == "loop_limit_exceeded"


async def test_a_branch_that_nests_deeper_than_python_can_ends_with_the_same_error() -> None:
    program = "(defn f [x] (inc (f x))) (pmap f [1])"
    texts = [str((await ask(program, limits=Limits(depth=depth))).error) for depth in (600, 100_000)]
    assert ["in branch 1: evaluation nests deeper" in text for text in texts] == [True, True]


async def test_a_program_lets_others_run() -> None:
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1

    async with anyio.create_task_group() as group:
        group.start_soon(other)
        await run("(reduce + (map inc (range 100000)))", limits=Limits(seconds=None, memory=None))
        group.cancel_scope.cancel()
    assert turns > 10


async def test_a_cancelled_program_ends_where_it_waits() -> None:
    begun = anyio.Event()

    async def never() -> None:
        begun.set()
        await anyio.sleep_forever()

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: run("(pmap (fn [_] (tool/never)) [1 2])", tools={"never": never}))
            await begun.wait()
            group.cancel_scope.cancel()


async def test_time_in_tools_is_not_the_time_of_the_program() -> None:
    async def slow() -> int:
        for _ in range(50):
            await anyio.lowlevel.checkpoint()
        return 1

    assert (await run("(reduce + (map (fn [_] (tool/slow)) (range 20)))", tools={"slow": slow})).value == 20


def test_a_script_calls_tools_on_an_event_loop_of_its_own() -> None:
    assert run_sync("(tool/f {:a 1})", tools={"f": lambda a: a + 1}).value == 2


async def test_the_language_runs_and_shows() -> None:
    language = PtcLisp()
    outcome = await language.run("(inc 1)", data={}, memory={}, tools={}, limits=Limits(), around=Surroundings())
    assert (language.name, language.fences, language.show([outcome.value, Keyword("a")])) == (
        "PTC-Lisp",
        ("clojure", "lisp"),
        "[2 :a]",
    )


@pytest.mark.parametrize(
    ("source", "name", "keys"),
    [
        ('{:total 1 "total" 2}', "total", ('"total"', ":total")),
        ("[{:a [{:order-id 1 :order_id 2}]}]", "order_id", (":order-id", ":order_id")),
        ('(assoc {"1" :a} 1 :b)', "1", ("1", '"1"')),
    ],
)
def test_keys_that_are_one_in_json_are_refused(source: str, name: str, keys: tuple[str, str]) -> None:
    value = run_sync(source).value
    with pytest.raises(AmbiguousKeys, match="give it one of them") as caught:
        plain(value)
    assert (caught.value.name, set(caught.value.keys)) == (name, set(keys))


def test_arguments_of_a_tool_whose_names_are_one_are_refused() -> None:
    calls: list[object] = []
    outcome = run_sync("(tool/look {:order-id 1 :order_id 2})", tools={"look": lambda **given: calls.append(given)})
    assert outcome.error is not None
    assert outcome.error.kind == "type_error"
    assert "tool/look was not called: a map has the keys :order-id and :order_id" in outcome.error.text
    assert not calls
