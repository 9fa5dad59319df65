"""Names that the language has, and what to say of those that it does not have."""

from collections.abc import Iterable
from typing import Final

from .._builtins import BUILTINS, CONSTANTS, FAMILIES
from .._fault import Fault
from ._forms import SPECIAL

_PREFIXES: Final = {
    "clojure.string": "String",
    "str": "String",
    "string": "String",
    "clojure.core": "",
    "core": "",
    "clojure.set": "Set",
    "set": "Set",
    "Math": "Number",
    "regex": "Regex",
    "Double": "Number",
    "System": "Date",
    "LocalDate": "Date",
}
_INSTEAD: Final = {
    "zipmap": "use (into {} (map vector keys vals))",
    "subvec": "use (take n (drop m coll))",
    "format": "use str",
    "slurp": "there is no access to files",
    "spit": "there is no access to files",
    "keep": "use (filter some? (map f coll))",
    "partial": "use (fn [x] (f a x)) or #(f a %)",
    "comp": "use (fn [x] (f (g x))) or ->",
    "iterate": "sequences are finite: use loop, or reduce over (range n)",
    "repeat": "sequences are finite: use (map (fn [_] x) (range n))",
    "cycle": "sequences are finite: use (mod i n) over (range m)",
    "repeatedly": "sequences are finite: use (map (fn [_] (f)) (range n))",
    "atom": "values do not change: use loop, reduce or def",
    "swap!": "values do not change: use loop, reduce or def",
    "reset!": "values do not change: use def",
    "ref": "values do not change: use def",
    "agent": "values do not change: use def",
    "eval": "programs cannot make programs",
    "read-string": "use parse-long, parse-double or split",
    "try": "errors end the program: test with nil?, some? or type before",
    "catch": "errors end the program: test with nil?, some? or type before",
    "throw": "use (fail {:reason … :message …})",
    "defmacro": "there are no macros: use defn",
    "quote": "use vectors for lists",
    "list": "use vector, or [1 2 3]",
    "print": "use println",
    "prn": "use (println (pr-str x))",
    "printf": "use (println (str …))",
    "require": "there are no namespaces; all functions are there",
    "ns": "there are no namespaces; all functions are there",
    "import": "there is no access to the host",
    "defmulti": "use cond",
    "defprotocol": "use maps and functions",
    "case": "use cond with =",
    "condp": "use cond",
    "while": "use loop and recur",
    "dotimes": "use (doseq [i (range n)] …)",
    "transduce": "use reduce after map and filter",
    "keyword": "keywords are written, not made: texts serve as keys",
    "name": '(str :a) is ":a"; texts and keywords find the same fields',
    "rand": "programs are deterministic",
    "rand-int": "programs are deterministic",
    "shuffle": "programs are deterministic",
    "merge-with": "use reduce with update and fnil",
    "reductions": "use reduce with conj",
    "split-at": "use take and drop",
    "some->": "use -> with when-let",
    "as->": "use let",
    "cond->": "use let and if",
    "letfn": "use defn",
    "data": "name the input: data/x",
    "ctx": "name the input: data/x",
    "tool": "name the tool: (tool/x {:key value})",
    "memory": "write the name of what is stored",
    ".": "methods are written (.method value); .getTime, .indexOf and .lastIndexOf are there",
    "%": "% and %1 stand inside #() only",
}


def canonical(name: str) -> str:
    """The name without a namespace that the language knows."""
    if "/" not in name or name == "/" or name in BUILTINS or name in CONSTANTS:
        return name
    prefix, rest = name.split("/", 1)
    return rest if prefix in _PREFIXES else name


def undefined(name: str, place: int, known: Iterable[str]) -> Fault:
    """The error of a name that nothing stands for."""
    prefix, _, rest = name.rpartition("/")
    if prefix in _PREFIXES and (family := _PREFIXES[prefix]):
        names = ", ".join(FAMILIES.get(family, ()))
        return Fault("analysis_error", f"{rest} is not available. {family} functions: {names}", None, place)
    if name in SPECIAL:
        return Fault(
            "undefined_variable",
            f"Undefined variable: {name}",
            f"'{name}' is a special form: write ({name} …), with parentheses",
            place,
        )
    if name.startswith("%"):
        return Fault("analysis_error", f"the placeholder {name} stands outside of #()", _INSTEAD["%"], place)
    hint = f"tools are called: ({name} {{:key value}})" if prefix == "tool" else _hint(rest or name, known)
    return Fault("undefined_variable", f"Undefined variable: {name}", hint, place)


def _hint(name: str, known: Iterable[str]) -> str | None:
    if name in _INSTEAD:
        return _INSTEAD[name]
    names = {*known, *BUILTINS, *SPECIAL}
    hyphens = name.replace("_", "-")
    if hyphens in names:
        return f"names have hyphens: {hyphens}"
    from difflib import get_close_matches  # noqa: PLC0415 - dear to import, and seldom used

    close = get_close_matches(name[:40], sorted(names), n=1, cutoff=0.6)
    return f"did you mean {close[0]}?" if close else None
