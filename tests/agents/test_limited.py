from bisect import bisect_left
from itertools import accumulate

import anyio
import pytest
from anyio import create_task_group, fail_after, wait_all_tasks_blocked
from anyio.lowlevel import checkpoint
from hypothesis import given
from hypothesis import strategies as st

from stagepost.agents import FunctionModel, InvalidModel, ModelRequest, RateLimited, ScriptedModel, UserMessage
from stagepost.agents._models._limited import Pace

ASKED = ModelRequest([UserMessage(text="go")])


@given(st.integers(1, 5), st.lists(st.integers(0, 100), max_size=40))
def test_no_minute_has_more_starts_than_it_may(per_minute: int, gaps: list[int]) -> None:
    pace = Pace(per_minute)
    asked = list(accumulate(gaps))
    starts = [pace.next(moment) for moment in asked]
    assert starts == sorted(starts)
    for index, start in enumerate(starts):
        assert start >= asked[index]
        assert index - bisect_left(starts, start - 60 + 1e-9) < per_minute


@given(st.integers(1, 5), st.lists(st.integers(0, 100), max_size=40))
def test_nobody_waits_who_need_not(per_minute: int, gaps: list[int]) -> None:
    pace = Pace(per_minute)
    starts: list[float] = []
    for moment in accumulate(gaps):
        recent = [start for start in starts if start > moment - 60]
        start = pace.next(moment)
        assert (start == moment) == (len(recent) < per_minute)
        starts.append(start)


async def test_who_comes_too_early_waits() -> None:
    script = ScriptedModel(["fine"])
    model = RateLimited(script, per_minute=2)
    async with create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(model.answer, ASKED)
        with fail_after(5):
            while len(script.requests) < 2:
                await checkpoint()
        assert len(script.requests) == 2
        tasks.cancel_scope.cancel()
    assert len(script.requests) == 2


async def test_only_so_many_are_open_at_once() -> None:
    go = anyio.Event()
    most = now = 0

    async def answer(_: ModelRequest) -> str:
        nonlocal most, now
        now += 1
        most = max(most, now)
        await go.wait()
        now -= 1
        return "fine"

    model = RateLimited(FunctionModel(answer), at_once=2)
    with fail_after(5):
        async with create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(model.answer, ASKED)
            await wait_all_tasks_blocked()
            assert now == 2
            go.set()
    assert (most, now) == (2, 0)


async def test_without_limits_it_is_the_model() -> None:
    with fail_after(5):
        assert (await RateLimited(ScriptedModel(["fine"])).answer(ASKED)).text == "fine"


@pytest.mark.parametrize("limits", [{"per_minute": 0}, {"at_once": 0}, {"at_once": -1}], ids=str)
def test_limits_that_let_nobody_through_are_refused(limits: dict[str, int]) -> None:
    with pytest.raises(InvalidModel, match="at least 1"):
        RateLimited(ScriptedModel([]), **limits)
