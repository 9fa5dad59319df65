"""Resume after a crash is the run itself, for any nesting of patterns."""

from collections.abc import Sequence

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.workflows._crashes import Mortal, live
from tests.workflows._meanings import START, WORKFLOWS, Meant
from tests.workflows._words import running

from stagepost.checkpoint import MemoryStore
from stagepost.workflows import Pattern, State

QUICK = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
BACKEND = pytest.mark.parametrize("loop", ["asyncio", "trio"])


def pattern_of(meant: Meant) -> Pattern:
    assert isinstance(meant.node, Pattern)
    return meant.node


def expected(meant: Meant) -> dict[str, object]:
    return {**START, **meant.fold(START)}


@BACKEND
@QUICK
@given(meant=WORKFLOWS)
def test_a_workflow_in_memory_is_its_fold(loop: str, meant: Meant) -> None:
    assert dict(anyio.run(pattern_of(meant).run, START, backend=loop)) == expected(meant)


async def stored_run(workflow: Pattern) -> State:
    async with running(MemoryStore(), workflow) as runner:
        result: State = await (await runner.start(workflow, START)).result()
        return result


@BACKEND
@QUICK
@given(meant=WORKFLOWS)
def test_a_stored_workflow_is_its_fold(loop: str, meant: Meant) -> None:
    assert dict(anyio.run(stored_run, pattern_of(meant), backend=loop)) == expected(meant)


async def crashing_run(workflow: Pattern, lives: Sequence[tuple[int, bool]]) -> State | None:
    store = Mortal()
    for commits, saves_last in lives:
        store.revive(commits, saves_last=saves_last)
        result = await live(store, workflow, START)
        if result is not None:
            return result
    store.revive(None)
    return await live(store, workflow, START)


@BACKEND
@QUICK
@given(meant=WORKFLOWS, lives=st.lists(st.tuples(st.integers(1, 8), st.booleans()), min_size=1, max_size=6))
def test_a_workflow_that_crashes_is_its_fold(loop: str, meant: Meant, lives: list[tuple[int, bool]]) -> None:
    result = anyio.run(crashing_run, pattern_of(meant), lives, backend=loop)
    assert result is not None
    assert dict(result) == expected(meant)
