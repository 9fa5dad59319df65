"""The states that a run goes through."""

import pytest
from tests.workflows._words import Counted, Gate, Store, running

from stagepost.workflows import Chain, ChainError, Intermediate, Parallel, State, Wait, step


def work() -> Chain:
    counted = Counted()
    fold = Chain.fold("sum", lambda state, item: {"n": state.get("n", 0) + item}, over=lambda _: [1, 2], inline=True)
    fan = Parallel("fan", step("twice", lambda item: 2 * item, inline=True), over=lambda _: [1, 2])
    return Chain("work", [counted.adds("a"), Chain("inner", [counted.adds("b"), fold]), fan])


EXPECTED = [
    ("", {"seed": 1}),
    ("a", {"seed": 1, "path": ["a"]}),
    ("inner/b", {"seed": 1, "path": ["a", "b"]}),
    ("inner/sum[0]", {"seed": 1, "path": ["a", "b"], "n": 1}),
    ("inner/sum[1]", {"seed": 1, "path": ["a", "b"], "n": 3}),
    ("fan", {"seed": 1, "path": ["a", "b"], "n": 3, "fan": [2, 4]}),
]


def plain(states: list[Intermediate]) -> list[tuple[str, dict[str, object]]]:
    return [(path, dict(state)) for path, state in states]


async def test_the_states_of_a_run_in_memory_begin_with_the_one_it_starts_with() -> None:
    states: list[Intermediate] = []
    result = await work().run({"seed": 1}, intermediates=states)
    assert plain(states) == EXPECTED
    assert dict(states[-1].state) == dict(result)


async def test_a_stored_run_gives_the_same(store: Store) -> None:
    states: list[Intermediate] = []
    workflow, none = work(), list[Intermediate]()
    async with running(store, workflow) as runner:
        await (await runner.start(workflow, {"seed": 1}, run_id="r1", intermediates=states)).result()
        await (await runner.start(workflow, {"seed": 1}, run_id="r1", intermediates=none)).result()
    assert plain(states) == EXPECTED
    assert none == []  # it was attached to


async def test_what_was_reached_is_kept_when_a_later_step_fails() -> None:
    states: list[Intermediate] = []
    counted = Counted()
    with pytest.raises(ChainError) as caught:
        await Chain("work", [counted.adds("a"), counted.adds("b"), counted.fails("c")]).run(intermediates=states)
    assert [path for path, _ in states] == ["", "a", "b"]
    assert (caught.value.index, dict(caught.value.state)) == (2, dict(states[2].state))


async def test_steps_of_items_are_among_them() -> None:
    states: list[Intermediate] = []
    fan = Parallel("fan", Chain("worker", [Counted().adds("a")]), over="n", workers=1)
    await fan.run({"n": [7]}, intermediates=states)
    assert [path for path, _ in states] == ["", "fan[0]/a", "fan"]
    inner: State = states[1].state
    assert dict(inner) == {"n": [7], "item": 7, "path": ["a"]}


async def test_a_run_that_is_left_has_those_until_then(store: Store) -> None:
    gate, states = Gate(), list[Intermediate]()
    workflow = Chain("work", [Counted().adds("a"), gate.step])
    async with running(store, workflow, grace=0) as runner:
        await runner.start(workflow, run_id="r1", intermediates=states)
        await gate.entered.wait()
    assert [path for path, _ in states] == ["", "a"]


async def test_a_run_that_was_parked_goes_on_adding_to_them(store: Store) -> None:
    states = list[Intermediate]()
    workflow = Chain("work", [Counted().adds("a"), Wait("approval"), Counted().adds("b")])
    async with running(store, workflow) as runner:
        run = await runner.start(workflow, run_id="r1", intermediates=states)
        await run.settled()
        await runner.answer(run.waits[0], "yes")
        await run.result()
    assert [path for path, _ in states] == ["", "a", "approval", "b"]
