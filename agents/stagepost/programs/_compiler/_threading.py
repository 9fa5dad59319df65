"""The threading forms, which are rewritten to nested calls."""

from typing import Any

from .._fault import refused
from .._keyword import Keyword
from .._reader._forms import Call, Short, Symbol
from ._compiler import Compiler, Tail
from ._scope import Node, Scope


def thread(compiler: Compiler, form: Call, scope: Scope, tail: Tail | None) -> Node:
    """``(-> v (f a))`` and ``(->> v (f a))``."""
    if len(form.items) < 2:  # noqa: PLR2004 - the name and the value
        raise refused(f"{form.items[0].name} needs a value", form.place)
    made: Any = form.items[1]
    last = form.items[0].name == "->>"
    for step in form.items[2:]:
        made = _through(step, made, form, last=last)
    return compiler.compile(made, scope, tail)


def _through(step: Any, value: Any, form: Call, *, last: bool) -> Call:
    if isinstance(step, Call):
        items = (*step.items, value) if last else (step.items[0], value, *step.items[1:])
        return Call(items, step.place)
    if not isinstance(step, (Symbol, Keyword, Short)):
        raise refused("a value is threaded through calls, names and keywords", form.place)
    return Call((step, value), getattr(step, "place", form.place))
