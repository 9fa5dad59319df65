import pytest
from tests.workflows._words import NOTHING, Counted, Recorder, nothing

from stagepost.workflows import Chain, ChainError, DefinitionError, State, StepEnded, step


async def test_steps_run_in_order_on_one_state() -> None:
    counted = Counted()
    result = await Chain("work", [counted.adds("a"), counted.adds("b"), Chain("c", [counted.adds("d")])]).run()
    assert dict(result) == {"path": ["a", "b", "d"]}
    assert counted.calls == ["a", "b", "d"]


async def test_a_chain_can_run_again() -> None:
    work = Chain("work", [Counted().adds("a")])
    assert [dict(await work.run({"path": [n]})) for n in range(2)] == [{"path": [0, "a"]}, {"path": [1, "a"]}]


def test_a_chain_has_steps() -> None:
    with pytest.raises(DefinitionError, match="chain 'work': it has no steps: give at least one"):
        Chain("work", [])


def test_names_of_siblings_are_unique() -> None:
    with pytest.raises(DefinitionError, match="two steps are named 'nothing': rename one with"):
        Chain("work", [nothing, NOTHING])
    with pytest.raises(DefinitionError, match="two steps are named 'again'"):
        Chain("work", [step("again", nothing), Chain("again", [NOTHING])])


def test_what_is_no_step_is_refused() -> None:
    with pytest.raises(DefinitionError, match=r"a step is a function, step\(…\), Ask\(…\) or a pattern"):
        Chain("work", [7])  # type: ignore[list-item]  # what a type checker would have said


async def test_the_first_failure_ends_the_chain() -> None:
    counted, recorder = Counted(), Recorder()
    work = Chain("work", [counted.adds("a"), counted.fails("b"), counted.adds("c")])
    with pytest.raises(ChainError) as caught:
        await work.run({"seed": 1}, observer=recorder)
    error = caught.value
    assert str(error) == "chain 'work' failed at step 'b': ValueError: b is broken"
    assert (error.name, error.step, dict(error.state)) == ("work", "b", {"seed": 1, "path": ["a"]})
    assert isinstance(error.__cause__, ValueError)
    assert counted.calls == ["a", "b"]
    assert [(ended.path, ended.ok) for ended in recorder.of(StepEnded)] == [("a", True), ("b", False)]


async def test_an_error_may_say_nothing_or_what_cannot_be_stored() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    async def said_by(error: Exception) -> str:
        def fail(state: State) -> None:
            raise error

        with pytest.raises(ChainError) as caught:
            await Chain("work", [step("it", fail, inline=True)]).run()
        return str(caught.value)

    assert (await said_by(KeyError())).endswith("'it': KeyError")
    assert (await said_by(OSError("caf\udce9"))).endswith("OSError: caf\\udce9")
    assert (await said_by(Mute())).endswith("Mute: (its text could not be had)")
