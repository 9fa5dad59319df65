"""Resume after a crash is the run itself, for any nesting of patterns."""

from collections.abc import Sequence
from contextlib import suppress

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests._examples import law
from tests.workflows._crashes import Mortal, live
from tests.workflows._meanings import START, WAITING_WORKFLOWS, WORKFLOWS, Meant, answer_to
from tests.workflows._waiting_specimens import Outside

from stagepost.checkpoint import AlreadyAnswered, RunNotOpen
from stagepost.workflows import Pattern, PendingWait, Runner, State

QUICK = law(50, 1_500)
BACKEND = pytest.mark.parametrize("loop", ["asyncio", "trio"])


def pattern_of(meant: Meant) -> Pattern:
    assert isinstance(meant.node, Pattern)
    return meant.node


def expected(meant: Meant) -> dict[str, object]:
    return {**START, **meant.fold(START)}


class Answering(Outside):
    """Answers what it is shown, always in the same way."""

    async def _end(self, runner: Runner, wait: PendingWait) -> None:
        with suppress(AlreadyAnswered, RunNotOpen):
            await runner.answer(wait.id, answer_to(wait.shown))


async def run_in_memory(workflow: Pattern) -> State:
    happened: list[str] = []
    result: State = await workflow.run(START, deps=happened)
    assert len(set(happened)) == len(happened)
    return result


@BACKEND
@QUICK
@given(meant=WORKFLOWS)
def test_a_workflow_in_memory_is_its_fold(loop: str, meant: Meant) -> None:
    assert dict(anyio.run(run_in_memory, pattern_of(meant), backend=loop)) == expected(meant)


async def run_through(workflow: Pattern, lives: Sequence[tuple[int, bool]]) -> State | None:
    """Run it in one process after the other, each of which lives for some saves, and the last one to the end."""
    store, happened = Mortal(), list[str]()
    for commits, saves_last in (*lives, (None, True)):
        store.revive(commits, saves_last=saves_last)
        result = await live(store, workflow, START, outside=Answering("anybody"), deps=happened)
        if result is not None:
            break
    assert len(set(happened)) == len(happened)
    return result


@BACKEND
@QUICK
@given(meant=WAITING_WORKFLOWS)
def test_a_stored_workflow_is_its_fold(loop: str, meant: Meant) -> None:
    result = anyio.run(run_through, pattern_of(meant), (), backend=loop)
    assert result is not None
    assert dict(result) == expected(meant)


@BACKEND
@QUICK
@given(meant=WAITING_WORKFLOWS, lives=st.lists(st.tuples(st.integers(1, 8), st.booleans()), min_size=1, max_size=6))
def test_a_workflow_that_crashes_is_its_fold(loop: str, meant: Meant, lives: list[tuple[int, bool]]) -> None:
    result = anyio.run(run_through, pattern_of(meant), lives, backend=loop)
    assert result is not None
    assert dict(result) == expected(meant)
