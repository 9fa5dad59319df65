"""Writes forms as text, from which the reader makes them again."""

import math
from typing import Any, Final

from .._values._show import show
from ._forms import Braces, Brackets, Call, Regex, SetOf, Short, Symbol, VarOf

_AROUND: Final[dict[type, tuple[str, str]]] = {
    Call: ("(", ")"),
    Brackets: ("[", "]"),
    Braces: ("{", "}"),
    SetOf: ("#{", "}"),
    Short: ("#(", ")"),
}


def written(form: Any) -> str:
    """The form as text."""
    if type(form) in _AROUND:
        opening, closing = _AROUND[type(form)]
        return f"{opening}{' '.join(map(written, form.items))}{closing}"
    match form:
        case Symbol():
            return form.name
        case Regex():
            return f'#"{form.name}"'
        case VarOf():
            return f"#'{form.name}"
        case float() if math.isfinite(form):
            return repr(form)  # all digits, unlike what programs print
        case _:
            return show(form)
