"""Finds the one program in the answer of a model."""

import re
from collections.abc import Sequence
from typing import Final

from ._fault import Fault

_FENCE: Final = re.compile(
    r"```[ \t]*+(?P<word>[\w+-]*+)[^\n`]*+\n(?P<fenced>.*?)(?:```|</(?:clojure|lisp)>|\Z)"
    r"|<(?P<tag>clojure|lisp)>(?P<tagged>[^<]*+(?:<(?!/?(?:clojure|lisp)>)[^<]*+)*+)</(?P=tag)>",
    re.DOTALL,
)
_LINES: Final = re.compile(r"\r\n?|[\u2028\u2029\x85]")
_TYPED: Final = str.maketrans(
    {
        "\u201c": '"', "\u201d": '"', "\u201e": '"', "\u2018": "'", "\u2019": "'",
        "\u200b": None, "\u200c": None, "\u200d": None, "\u2060": None, "\ufeff": None, "\u00a0": " ", "\u202f": " ",
    }
)  # fmt: skip
_PREFIX: Final = re.compile(r"#(?=[(\[{\"])")
_WORD: Final = re.compile(r"[^\s,()\[\]{}\"]+")
_TEXT: Final = re.compile(r'"(?:[^"\\]|\\.)*"?|\\(?:[a-z]{2,}|.)', re.DOTALL)  # or a character
_BLANK: Final = re.compile(r"(?:[\s,]|;[^\n]*)+")


def find(answer: str, words: Sequence[str]) -> str:
    """The program: the block with one of the words, else the block that begins with ``(``, else the whole answer.

    Line ends, invisible characters and curly quotes are set right, and forms after ``#_`` left out.

    Args:
        answer: What the model has said.
        words: After the three backquotes.

    Raises:
        Fault: There is none, or more than one.
    """
    answer = _LINES.sub("\n", answer).translate(_TYPED)
    named: list[str] = []
    others: list[str] = []
    for found in _FENCE.finditer(answer):
        word = (found["tag"] or found["word"]).lower()
        code = (found["tagged"] if found["tag"] else found["fenced"]).strip()
        (named if word in words else others).append(code)
    blocks = named or [code for code in others if code.startswith("(")]
    whole = answer.strip()
    if not blocks and whole.startswith("("):
        blocks = [whole]
    if len(blocks) > 1:
        raise Fault(
            "no_code_found",
            f"the answer has {len(blocks)} blocks of code, and exactly one is expected. Write one block with the whole "
            "program: blocks do not share their variables",
        )
    if not blocks or not blocks[0]:
        raise Fault(
            "no_code_found",
            f"the answer has no program. Write one in a code block that begins with ```{words[0]}, or let the answer "
            "begin with (",
        )
    return _without_discarded(blocks[0])


def _without_discarded(code: str) -> str:
    """The program without the forms that ``#_`` discards."""
    if "#_" not in code:
        return code
    kept, place = [], 0
    while place < len(code):
        text = _TEXT.match(code, place) or (_BLANK.match(code, place) if code[place] == ";" else None)
        if text is not None:
            kept.append(text.group())
            place = text.end()
        elif code.startswith("#_", place):
            place = _after_form(code, place + 2)
        else:
            kept.append(code[place])
            place += 1
    return "".join(kept)


def _after_form(code: str, place: int) -> int:
    """The place after the next form, or after as many more as are discarded before it."""
    forms = 1
    while forms and place < len(code):
        blank = _BLANK.match(code, place)
        if blank is not None:
            place = blank.end()
        elif code.startswith("#_", place):
            forms, place = forms + 1, place + 2
        elif code[place] in ")]}":
            return place
        else:
            forms, place = forms - 1, _after_one(code, place)
    return place


def _after_one(code: str, place: int) -> int:
    """The place after the form that begins at a place."""
    depth = 0
    while place < len(code):
        found = _TEXT.match(code, place) or _BLANK.match(code, place) or _PREFIX.match(code, place)
        if found is not None:
            place = found.end()
            if found.re is not _TEXT:
                continue
        elif code[place] in "([{":
            depth, place = depth + 1, place + 1
            continue
        elif code[place] in ")]}":
            depth, place = depth - 1, place + 1
        else:
            word = _WORD.match(code, place)
            place = word.end() if word else place + 1
        if depth <= 0:
            return place
    return place
