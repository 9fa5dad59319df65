"""Which function compiles which special form."""

from types import MappingProxyType
from typing import Final

from ._binding import def_, let, loop, recur
from ._compiler import Handler
from ._control import and_, cond, do, if_, if_let, or_, when, when_let
from ._effects import budget, call, end, pcalls, pmap, println, step_done, task, task_reset, tool
from ._functions import defn, fn, short
from ._loops import for_
from ._threading import thread
from ._where import combined, where

HANDLERS: Final = MappingProxyType[str, Handler](
    {
        "#()": short,
        "->": thread,
        "->>": thread,
        "all-of": combined,
        "and": and_,
        "any-of": combined,
        "budget/remaining": budget,
        "call": call,
        "cond": cond,
        "ctx/": tool,
        "def": def_,
        "defn": defn,
        "defonce": def_,
        "do": do,
        "doseq": for_,
        "fail": end,
        "fn": fn,
        "for": for_,
        "if": if_,
        "if-let": if_let,
        "if-not": if_,
        "let": let,
        "loop": loop,
        "none-of": combined,
        "or": or_,
        "pcalls": pcalls,
        "pmap": pmap,
        "println": println,
        "recur": recur,
        "return": end,
        "step-done": step_done,
        "task": task,
        "task-reset": task_reset,
        "tool/": tool,
        "when": when,
        "when-let": when_let,
        "when-not": when,
        "where": where,
    }
)
