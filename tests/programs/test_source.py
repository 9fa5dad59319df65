"""Finding the one program in the answer of a model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stagepost.programs import ProgramError, PtcLisp

FOUND = {
    "a block": ("Let me see.\n```clojure\n(+ 1 2)\n```\nThat is it.", "(+ 1 2)"),
    "a block of lisp": ("```lisp\n(+ 1 2)\n```", "(+ 1 2)"),
    "a block in capitals": ("```Clojure\n(+ 1 2)\n```", "(+ 1 2)"),
    "a tag": ("<clojure>(+ 1 2)</clojure>", "(+ 1 2)"),
    "a fence that is closed by a tag": ("```clojure\n(+ 1 2)\n</clojure>", "(+ 1 2)"),
    "a fence that is not closed": ("```clojure\n(+ 1 2)", "(+ 1 2)"),
    "another word": ("```python\nx = 1\n```\n```clj\n(+ 1 2)\n```", "(+ 1 2)"),
    "no word": ("```\n(+ 1 2)\n```", "(+ 1 2)"),
    "a named block goes before others": ("```\n(foo)\n```\n```clojure\n42\n```", "42"),
    "the whole answer": ("  (+ 1\n 2)  ", "(+ 1\n 2)"),
    "line ends": ("```clojure\r\n(+ 1\r\n2)\r\n```", "(+ 1\n2)"),
    "invisible characters": ("\ufeff(+\u00a01\u200b 2)", "(+ 1 2)"),
    "curly quotes": ("(str \u201ca\u201d)", '(str "a")'),
    "a discarded form": ("(+ 1 #_(foo [2]) 2)", "(+ 1  2)"),
    "two discarded forms": ("(+ 1 #_ #_ 3 4 2)", "(+ 1  2)"),
    "a discarded text": ('(+ 1 #_"a)" 2)', "(+ 1  2)"),
    "a discarded set": ("(+ 1 #_#{3} 2)", "(+ 1  2)"),
    "what only looks like one in texts and comments": ('(str "#_" 1) ; #_(', '(str "#_" 1) ; #_('),
    "a discarded form without an end": ("(+ 1 #_(foo", "(+ 1 "),
    "discarded forms that stand next to each other": ("(+ 1 #_[2 (3)]#_:a #_\\( 4)", "(+ 1   4)"),
    "a discarded short function": ('(+ 1 #_#(f "(" %) 2)', "(+ 1  2)"),
    "a form of which the rest is discarded": ("(vec [1 #_ 2 #_])", "(vec [1  ])"),
    "very many discarded forms": (f"(+ {'#_ ' * 5000}{'1 ' * 5000}2)", "(+  2)"),
    "very many tags": ("<clojure>" * 20_000 + "(+ 1 2)</clojure>", "(+ 1 2)"),
    "four backquotes": ("````clojure\n(+ 1 2)\n````", "(+ 1 2)"),
    "very many backquotes": ("```clojure\n(+ 1 2)\n``` and " + "`" * 200_000, "(+ 1 2)"),
    "very many spaces": (f"```clojure{' ' * 100_000}\n(+ 1 {' ' * 100_000} 2)\n```", f"(+ 1 {' ' * 100_000} 2)"),
    "comparisons in a tag": ("<lisp>(if (< 1 2) (<= 1 2) 3)</lisp>", "(if (< 1 2) (<= 1 2) 3)"),
    "nothing to discard": ("(+ 1 #_)", "(+ 1 )"),
}


@pytest.mark.parametrize(("answer", "program"), FOUND.values(), ids=FOUND)
def test_the_program_is_found(answer: str, program: str) -> None:
    assert PtcLisp().find(answer) == program


@given(st.text(alphabet='()[]{}"#_\\ ;`\nclojure<>/1', max_size=60))
def test_any_answer_has_a_program_or_an_error(answer: str) -> None:
    assert isinstance(PtcLisp().find(f"(a {answer})"), str | ProgramError)
    assert isinstance(PtcLisp().find(answer), str | ProgramError)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("The answer is 42.", "no program"),
        ("", "no program"),
        ("```clojure\n\n```", "no program"),
        ("```python\nprint(1)\n```", "no program"),
        ("```clojure\n1\n```\n```clojure\n2\n```", "2 blocks of code, and exactly one is expected"),
        ("```\n(a)\n```\n```\n(b)\n```\n```\n(c)\n```", "3 blocks of code"),
    ],
)
def test_none_or_several_are_an_error(answer: str, told: str) -> None:
    error = PtcLisp().find(answer)
    assert isinstance(error, ProgramError)
    assert (error.kind, told in error.text) == ("no_code_found", True)
