"""What a workflow or a runner is defined by is checked there: nothing of it fails later, or says nothing."""

from collections.abc import Callable
from typing import Any

import pytest

from stagepost.checkpoint import CannotStore, MemoryStore
from stagepost.workflows import Chain, Graph, Parallel, Receive, Retry, RunLimit, Runner, State, Wait, step


async def work(state: State) -> dict[str, object]:
    return dict(state)


async def one(item: object) -> object:
    return item


MADE: dict[str, Callable[..., object]] = {
    "chain": lambda **given: Chain("c", [work], **given),
    "graph": lambda **given: Graph("g", **given),
    "parallel": lambda **given: Parallel("p", one, **{"over": "items", **given}),
    "step": lambda **given: step(work, **given),
    "wait": lambda **given: Wait("w", **given),
    "receive": lambda **given: Receive("r", **given),
    "retry": Retry,
    "limit": lambda **given: RunLimit(workflow="c", **given),
    "runner": lambda **given: Runner(MemoryStore(), **given),
}
CASES: list[tuple[str, str, object, str]] = [
    ("chain", "version", "2", "version='2': give a whole number"),
    ("chain", "version", True, "version=True: give a whole number"),
    ("chain", "types", [int], "types= is a mapping, and not a list"),
    ("chain", "types", {"a": []}, "it is no type: give a class"),
    ("chain", "lifespan", 5, "lifespan=5: give a function"),
    ("graph", "max_steps", "9", "max_steps='9': give a whole number from 1 up"),
    ("graph", "max_steps", 1.5, "max_steps=1.5: give a whole number from 1 up"),
    ("graph", "config", {"max_steps": 9}, "give a GraphConfig"),
    ("parallel", "workers", "4", "workers='4': give a whole number from 1 up"),
    ("parallel", "worker_cap", True, "worker_cap=True: give a whole number from 1 up"),
    ("parallel", "config", {"workers": 4}, "give a ParallelConfig"),
    ("parallel", "over", 5, "over=5: give a key, a text, or a function"),
    ("parallel", "key", ["id"], "key=\\['id'\\]: give a key"),
    ("parallel", "into", "", "into='': give the key of the state"),
    ("parallel", "failures", True, "failures=True: give the key of the state"),
    ("parallel", "merge", "sum", "merge='sum': give a function"),
    ("parallel", "may_all_fail", "yes", "may_all_fail='yes': give True or False"),
    ("step", "inline", 1, "inline=1: give True or False"),
    ("step", "signals", ["stop"], "signals= is a mapping, and not a list"),
    ("step", "answers", {}, "it is no type"),
    ("wait", "into", 5, "into=5: give the key of the state"),
    ("wait", "expect", "bool", "it is no type: give a class, such as bool"),
    ("receive", "into", "", "into='': give the key"),
    ("receive", "expect", [str], "it is no type"),
    ("retry", "attempts", "3", "attempts='3': give a whole number from 1 up"),
    ("retry", "on", "ConnectionError", "on='ConnectionError': give a class of errors"),
    ("retry", "on", (ValueError, 5), "give a class of errors"),
    ("retry", "on", int, "give a class of errors"),
    ("limit", "at_once", "4", "at_once='4': give a whole number from 1 up"),
    ("runner", "max_running", "4", "max_running='4': give a whole number from 1 up"),
    ("runner", "max_attempts", 1.5, "max_attempts=1.5: give a whole number from 1 up"),
    ("runner", "limits", 5, "limits=5: give a list of RunLimit"),
    ("runner", "limits", ["digest"], "'digest', which is no RunLimit"),
    ("runner", "keep", 5, "keep=5: give a Keep"),
    ("runner", "hub", "hub", "hub='hub': give a Hub"),
    ("runner", "clock", 5, "clock=5: give a function"),
    ("runner", "check_states", "yes", "check_states='yes': give True or False"),
]


@pytest.mark.parametrize(("what", "argument", "value", "said"), CASES, ids=[f"{c[0]}-{c[1]}-{c[2]!r}" for c in CASES])
def test_what_makes_no_sense_is_refused_where_it_is_given(what: str, argument: str, value: Any, said: str) -> None:
    with pytest.raises((ValueError, CannotStore), match=said):
        MADE[what](**{argument: value})
