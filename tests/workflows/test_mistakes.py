"""What usual mistakes are told, and where: what is wrong, and what to write instead."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import pytest
from anyio import fail_after
from pydantic import BaseModel
from tests.workflows._words import PATIENCE, Store, running

from stagepost.checkpoint import MemoryStore, WaitNotFound
from stagepost.hub import InvalidArgument
from stagepost.workflows import (
    Chain,
    ChainError,
    Conditional,
    ConditionalError,
    DefinitionError,
    Parallel,
    Retry,
    Runner,
    State,
    Wait,
    step,
)


class Order(BaseModel):
    number: int = 0


def work(state: State) -> Mapping[str, object]:
    return {"a": 1}


WORK = Chain("work", [work])
ASKING = Chain("asking", [Wait("approval")])

a_chain: Any = Chain  # what a type checker would have said is not its turn here
a_parallel: Any = Parallel
a_conditional: Any = Conditional
a_runner: Any = Runner
a_step: Any = step

MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "one step": (
        lambda: a_chain("w", work),
        r"chain 'w': what comes after the name is a list, and not work: write \[ \]",
    ),
    "text for steps": (lambda: a_chain("w", "work"), "is a list, and not 'work'"),
    "a called step": (
        lambda: a_chain("w", [{"a": 1}]),
        r"what a call has returned: give the function itself, without \(\)",
    ),
    "steps at once": (lambda: a_parallel("w", [work]), 'for several at once give each a name: {"name": step, …}'),
    "routes": (lambda: a_conditional("w", work, [work]), "conditional 'w': routes is a mapping, and not a list"),
    "an instance for a model": (lambda: a_chain("w", [work], state=Order()), "give the class, state=Order"),
    "a dict for a model": (
        lambda: a_chain("w", [work], state=dict),
        "state=dict is no pydantic model: give a subclass",
    ),
    "one companion": (lambda: a_chain("w", [work], companions=WORK), "companions= is a list, and not a Chain"),
    "a name for a function": (lambda: a_step("a", "b"), "step 'a': it needs a function, and 'b' is none"),
    "a number of attempts": (lambda: a_step("a", work, retry=3), r"3 is no Retry: give Retry\(attempts=…\)"),
    "a text for seconds": (
        lambda: a_step("a", work, timeout="5s"),
        "timeout is '5s': that is not a duration, use seconds from 0 up",
    ),
    "a list of secrets": (lambda: a_runner(MemoryStore(), secrets=["x"]), "they are a mapping, and not a list"),
    "one workflow": (lambda: a_runner(MemoryStore(), workflows=WORK), "workflows= is a list, and not a Chain"),
    "a step for a workflow": (
        lambda: a_runner(MemoryStore(), workflows=[work]),
        "workflow or an agent is wanted, and not",
    ),
    "a path for a store": (lambda: a_runner("runs.db"), r"'runs.db' is no store: give SqliteStore\(path\)"),
    "a class for a store": (lambda: a_runner(MemoryStore), "is no store"),
    "a number of days": (lambda: a_runner(MemoryStore(), keep_for=30), r"keep_for=30: give timedelta\(days=…\)"),
    "a number of days for keys": (
        lambda: a_runner(MemoryStore(), keep_keys=400),
        r"keep_keys=400: give timedelta\(days=…\)",
    ),
    "a list of migrations": (
        lambda: a_runner(MemoryStore(), migrations=[work]),
        "migrations= is a mapping, and not a list",
    ),
    "a migration without its version": (
        lambda: a_runner(MemoryStore(), migrations={"work": work}),
        "migrations= of 'work' is a mapping, and not work",
    ),
    "what to keep": (
        lambda: a_runner(MemoryStore(), keep="everything"),
        "keep='everything': give one of 'result', 'all', 'none'",
    ),
}


@pytest.mark.parametrize(("make", "said"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_named_where_it_is_made(make: Callable[[], Any], said: str) -> None:
    with pytest.raises((ValueError, TypeError), match=said):
        make()


def test_what_is_right_is_not_refused() -> None:
    Chain("w", (step("any", lambda _: None) for _ in range(1)), state=Order, companions=[WORK])  # type: ignore[arg-type]  # an iterator will do
    Runner(MemoryStore(), workflows=(WORK,), keep_for=timedelta(days=1), keep={"w": "all"})
    step("a", work, retry=Retry(attempts=2), timeout=timedelta(seconds=5))


async def test_a_state_says_how_it_is_changed_and_read() -> None:
    def change(state: Any) -> None:
        state["a"] = 1

    def look(state: Any) -> object:
        return state.number

    with pytest.raises(ChainError, match=r'a state cannot be changed: return \{"a": …\} from the step'):
        await Chain("w", [change]).run()
    with pytest.raises(ChainError, match=r'no attribute \'number\': write state\["number"\]'):
        await Chain("w", [look]).run()


async def test_a_route_is_a_name() -> None:
    choosing = Conditional("w", step("choose", lambda _: True).call, {"a": work})
    with pytest.raises(ConditionalError, match="returned True, and its routes are a: it has to return the name of one"):
        await choosing.run()


async def test_start_takes_a_workflow_and_not_its_name_or_state(store: Store) -> None:
    async with running(store, WORK) as runner:
        with pytest.raises(DefinitionError, match=r"and not 'work'; runner.workflow\(name\) gives the one of a name"):
            await runner.start("work")  # type: ignore[arg-type]  # the mistake
        with pytest.raises(DefinitionError, match=r"start\(\): a workflow or an agent is wanted, and not \{'a': 1\}"):
            await runner.start({"a": 1}, WORK)  # type: ignore[arg-type]  # the mistake


async def test_who_gives_a_run_for_its_id_is_told_the_id(store: Store) -> None:
    async with running(store, ASKING) as runner:
        run = await runner.start(ASKING, run_id="r1")
        await run.settled()
        (wait,) = await runner.waits()
        given: Any = run
        for ask in (
            runner.get,
            runner.resume,
            runner.cancel,
            runner.runs.info,
            runner.runs.get,
            runner.runs.delete,
            runner.diagram,
            runner.waits,
        ):
            with pytest.raises(TypeError, match=r"the id of a run is wanted, and not a Run: give its \.id, 'r1'"):
                await ask(given)
        with pytest.raises(TypeError, match="id of a run"):
            await runner.signal(given, "news")
        with pytest.raises(TypeError, match="id of a run"):
            await runner.settle(given, "key")
        waiting: Any = wait
        with pytest.raises(TypeError, match=r"the id of a wait is wanted, and not a PendingWait: give its \.id, 'r1/"):
            await runner.answer(waiting, "yes")
        with pytest.raises(TypeError, match="and not a Run: give a text"):
            await runner.answer(given, "yes")


@pytest.mark.parametrize("given", ["approval", "/approval", "r1", "r1/aproval", "r1/other#3"])
async def test_an_id_that_is_none_of_a_wait_is_answered_with_those_that_are_near(given: str, store: Store) -> None:
    async with running(store, ASKING) as runner:
        with fail_after(PATIENCE):
            await (await runner.start(ASKING, run_id="r1")).settled()
        with pytest.raises(WaitNotFound, match="; open is r1/approval") as caught:
            await runner.answer(given, "yes")
        assert caught.value.near == ("r1/approval",)
        if not all(given.partition("/")):
            assert "is no id of a wait, which is made of the run and the place: run/place" in str(caught.value)


async def test_where_nothing_waits_nothing_is_near(store: Store) -> None:
    async with running(store, ASKING) as runner:
        with pytest.raises(WaitNotFound, match="run/place: the inbox lists those there are"):
            await runner.answer("approval", "yes")


@pytest.mark.parametrize("name", ["key", "trace"])
async def test_keys_and_traces_are_texts(name: str, store: Store) -> None:
    given: Any = {name: 5}
    async with running(store, WORK) as runner:
        with pytest.raises(TypeError, match=f"{name}=5: give a text"):
            await runner.start(WORK, **given)


@pytest.mark.parametrize("name", ["key", "trace"])
async def test_keys_and_traces_are_not_empty(name: str, store: Store) -> None:
    given: Any = {name: ""}
    async with running(store, WORK) as runner:
        with pytest.raises(ValueError, match=f"{name}='': give a text that is not empty, or None for no {name}"):
            await runner.start(WORK, **given)


@pytest.mark.parametrize("grace", [-1, float("nan"), "long"])
def test_a_grace_is_a_duration(grace: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"grace is .* that is not a duration"):
        Runner(MemoryStore(), grace=grace)


async def test_a_value_that_does_not_fit_the_state_is_described_in_one_line() -> None:
    with pytest.raises(ChainError) as caught:
        await Chain("w", [step("work", lambda _: {"number": "x"})], state=Order).run(Order(number=1))
    said = str(caught.value)
    assert "what step 'work' returned cannot be stored: it is no valid Order: number: Input should be" in said
    assert "\n" not in said
    assert "pydantic.dev" not in said
