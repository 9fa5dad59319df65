"""Mistakes in steps, and what is said of them."""

import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import BaseModel
from tests.workflows._words import running

from stagepost.checkpoint import CannotStore, MemoryStore
from stagepost.hub import Hub
from stagepost.workflows import (
    Ask,
    Chain,
    Conditional,
    DefinitionError,
    Fold,
    Graph,
    NotAwaited,
    Parallel,
    Pattern,
    PatternError,
    RunFailed,
    Sleep,
    State,
    StateChanged,
    StepContext,
    UnknownField,
    Wait,
    step,
)


class Trip(BaseModel):
    place: str = ""
    days: int = 0
    notes: list[str] = []


class Other(BaseModel):
    name: str = ""


async def fetch(*_: Any) -> int:
    return 1


async def answers(payload: object) -> int:
    return 1


def root(error: BaseException) -> BaseException:
    while error.__cause__ is not None and isinstance(error, PatternError):
        error = error.__cause__
    return error


# an await that was forgotten

FORGOTTEN: dict[str, tuple[Callable[[], Pattern], str]] = {
    "a value": (lambda: Chain("c", [step("s", lambda _: {"a": fetch()})]), "step 's' returned a coroutine under 'a'"),
    "deep in a value": (
        lambda: Chain("c", [step("s", lambda _: {"a": [1, {"b": fetch()}]}, inline=True)]),
        "step 's' returned a coroutine under 'a.1.b'",
    ),
    "all of it": (lambda: Chain("c", [step("s", fetch_later)]), "step 's' returned a coroutine that nobody"),
    "in a model": (
        lambda: Chain("c", [step("s", lambda s: s.model_copy(update={"place": fetch()}))], state=Trip),
        "step 's' returned a coroutine under 'place'",
    ),
    "a field of a model": (
        lambda: Chain("c", [step("s", lambda _: {"place": fetch()})], state=Trip),
        "step 's' returned a coroutine under 'place'",
    ),
    "a typed key": (
        lambda: Chain("c", [step("s", lambda _: {"at": fetch()})], types={"at": datetime}),
        "step 's' returned a coroutine under 'at'",
    ),
    "an item's value": (lambda: Parallel("fan", step("s", fetch_later), over=lambda _: [1]), "the worker of 'fan'"),
    "over": (lambda: Parallel("fan", step("s", fetch), over=fetch_later), "over= returned a coroutine"),
    "key": (lambda: Parallel("fan", step("s", fetch), over=lambda _: [1], key=fetch_later), "key= returned a"),
    "merge": (lambda: Parallel("fan", step("s", fetch), over=lambda _: [1], merge=fetch), "merge= of 'fan' returned"),
    "route": (lambda: Conditional("way", fetch_later, {"a": fetch}), "the route function of 'way' returned"),
    "route with a default": (
        lambda: Conditional("way", fetch_later, {"a": fetch}, default=fetch),
        "the route function",
    ),
    "until": (lambda: Chain("c", [Sleep("nap", until=fetch_later)]), "until= of sleep 'nap' returned a coroutine"),
    "show": (lambda: Chain("c", [Wait("ok", show=fetch_later)]), "show= of 'ok' returned a coroutine"),
    "build": (lambda: Chain("c", [Ask("a", fetch_later, name="s")]), "what asks 'a' for step 's' returned"),
    "predicate": (lambda: _graph(fetch_later), "predicate 'fetch_later' returned a coroutine"),
    "fold": (
        lambda: Chain("c", [step("s", lambda _: None)]).fold("f", lambda _s, _i: {"a": fetch()}, over=lambda _: [1]),
        "step 'f' returned a coroutine under 'a'",
    ),
}


def fetch_later(*_: Any) -> Any:
    return fetch()


def _graph(when: Callable[[Any], Any]) -> Graph:
    graph = Graph("graph")
    graph.add("a", step("a", lambda _: None, inline=True))
    graph.add("b", step("b", lambda _: None, inline=True))
    graph.edge("a", "b", when=when)
    graph.start("a")
    graph.finish("b")
    return graph


@pytest.mark.parametrize(("make", "words"), FORGOTTEN.values(), ids=FORGOTTEN.keys())
async def test_a_coroutine_that_nobody_has_awaited_is_named_and_closed(make: Callable[[], Pattern], words: str) -> None:
    async with Hub() as hub:
        hub.register("a", answers)
        with pytest.raises(PatternError) as caught:
            await make().run(hub=hub)
    error = caught.value
    assert words in str(error)
    assert "write `await fetch(…)`" in str(error)


async def test_all_coroutines_in_a_result_are_closed() -> None:
    made = [fetch(), fetch()]
    with pytest.raises(PatternError) as caught:
        await Chain("c", [step("s", lambda _: {"a": made, "b": Trip.model_construct(place=made[1])})]).run()
    error = root(caught.value)
    assert isinstance(error, NotAwaited)
    assert (error.where, error.key, error.function) == ("step 's'", "a.0", "fetch")
    assert [inspect.getcoroutinestate(each) for each in made] == [inspect.CORO_CLOSED] * 2


# generators


def generates(state: State) -> Iterator[int]:
    yield 1


async def generates_later(state: State) -> AsyncIterator[int]:
    yield 1


class Generates:
    def __call__(self, state: State) -> Iterator[int]:  # noqa: ARG002  # a step's signature
        yield 1


@pytest.mark.parametrize("function", [generates, generates_later, Generates()], ids=["sync", "async", "object"])
def test_a_generator_is_no_step(function: Any) -> None:
    with pytest.raises(DefinitionError, match="step 's': its function is a generator, and nobody would run its body"):
        step("s", function)


async def test_a_predicate_that_gives_a_generator_is_refused() -> None:
    with pytest.raises(PatternError, match="it returned a generator, which is always true"):
        await _graph(lambda _: (each for each in [1])).run()


# fields


async def test_a_field_that_the_state_lacks_is_named_with_those_that_there_are() -> None:
    with pytest.raises(PatternError) as caught:
        await Chain("c", [step("book", lambda _: {"plaice": "Oslo"})], state=Trip).run()
    error = root(caught.value)
    assert isinstance(error, UnknownField)
    assert str(error) == "step 'book' returned 'plaice': Trip has no field plaice; it has place, days, notes"
    assert (error.step, error.field, error.known) == ("book", "plaice", ("place", "days", "notes"))


async def test_a_field_of_the_input_that_the_state_lacks_is_named_too() -> None:
    with pytest.raises(CannotStore, match="Trip has no field plaice; it has place, days, notes"):
        await Chain("c", [step("book", lambda _: None)], state=Trip).run({"plaice": "Oslo"})


# workers


def test_a_worker_takes_an_item() -> None:
    def work(state: State, item: int) -> int:
        return item

    with pytest.raises(DefinitionError, match=r"parameter 'item': a worker takes \(item\) or \(item, context\)$"):
        Parallel("fan", work, over="items")
    with pytest.raises(DefinitionError, match=r"the worker of a Parallel takes \(item\) or \(item, context\)$"):
        Parallel("fan", step("work", work), over="items")


# annotations


def takes_dict(state: dict[str, Any]) -> None: ...


def takes_state(state: State) -> None: ...


def takes_other(state: Other) -> None: ...


def takes_trip(state: Trip) -> None: ...


def takes_base(state: BaseModel) -> None: ...


def takes_either(state: Trip | Other) -> None: ...


def takes_any(state: Any) -> None: ...


def takes_object(state: object) -> None: ...


def takes_mapping(state: Mapping[str, Any]) -> None: ...


def graph_of(function: Any) -> object:
    graph = Graph("g", state=Trip)
    graph.add("n", step("n", function))
    graph.start("n")
    graph.finish("n")
    return graph.plan


def for_model(function: Any) -> dict[str, Callable[[], Any]]:
    def of_pair(state: Any, item: Any) -> None: ...

    of_pair.__annotations__["state"] = function.__annotations__["state"]
    return {
        "chain": lambda: Chain("c", [function], state=Trip),
        "inner chain": lambda: Chain("c", [Chain("inner", [function])], state=Trip),
        "branch": lambda: Parallel("p", {"a": function}, state=Trip),
        "graph": lambda: graph_of(function),
        "route": lambda: Conditional("c", function, {"a": takes_trip}, state=Trip).plan,
        "fold": lambda: Fold("f", of_pair, over="notes", state=Trip).plan,
        "show": lambda: Chain("c", [Wait("place", show=function)], state=Trip),
    }


@pytest.mark.parametrize("place", for_model(takes_dict))
@pytest.mark.parametrize("function", [takes_dict, takes_state, takes_other, takes_mapping])
def test_a_function_for_another_kind_of_state_is_refused_where_it_is_built(function: Any, place: str) -> None:
    with pytest.raises(DefinitionError, match="and the state is Trip: annotate it so"):
        for_model(function)[place]()


@pytest.mark.parametrize("function", [takes_trip, takes_base, takes_either, takes_any, takes_object])
@pytest.mark.parametrize("place", for_model(takes_dict))
def test_a_function_for_this_kind_of_state_is_taken(function: Any, place: str) -> None:
    for_model(function)[place]()


def test_a_function_for_a_model_is_refused_where_the_state_is_plain() -> None:
    with pytest.raises(DefinitionError, match="gets a State: give the outermost pattern state=Trip"):
        _ = Chain("c", [takes_trip]).plan
    for function in (takes_dict, takes_state, takes_mapping, takes_any, takes_either, takes_object):
        _ = Chain("c", [function]).plan


def test_the_worker_of_a_fan_out_takes_any_item() -> None:
    _ = Parallel("p", takes_other, over="notes", state=Trip, into="notes").plan


# states that are changed in place


def grows(state: Trip) -> None:
    state.notes.append("changed in place")
    state.days += 1


def returns_itself(state: Trip) -> Trip:
    state.days += 1
    return state


def returns_changes(state: Trip) -> dict[str, object]:
    state.notes.append("changed")
    return {"notes": state.notes}


async def test_a_state_that_is_changed_in_place_is_found() -> None:
    with pytest.raises(PatternError) as caught:
        await Chain("c", [step("s", grows)], state=Trip).run(check_states=True)
    error = root(caught.value)
    assert isinstance(error, StateChanged)
    assert str(error) == (
        "step 's' changed 'days', 'notes' of its state in place, which is lost: "
        "return the changes, or the changed state"
    )
    async with running(MemoryStore(), work := Chain("c", [step("s", grows)], state=Trip), check_states=True) as runner:
        with pytest.raises(RunFailed, match="changed 'days', 'notes' of its state in place"):
            await (await runner.start(work)).result()
    assert (await Chain("c", [step("s", grows)], state=Trip).run()).notes == []


@pytest.mark.parametrize("function", [returns_itself, returns_changes, takes_trip])
async def test_a_state_that_is_returned_or_left_alone_is_fine(function: Any) -> None:
    await Chain("c", [step("s", function)], state=Trip).run(check_states=True)


async def test_a_typed_key_that_is_changed_in_place_is_found() -> None:
    def change(state: State) -> None:
        state["trip"].days += 1

    def look(state: State) -> None:
        _ = state["trip"].days, state["at"]

    types = {"trip": Trip, "at": datetime}
    begun = {"trip": Trip(), "at": datetime(2030, 1, 1, tzinfo=UTC)}
    with pytest.raises(PatternError, match="step 's' changed 'trip' of its state in place"):
        await Chain("c", [step("s", change)], types=types).run(begun, check_states=True)
    await Chain("c", [step("s", look)], types=types).run(begun, check_states=True)


async def test_folds_and_children_are_looked_at_too() -> None:
    def add(state: Trip, item: str) -> None:
        state.notes.append(item)

    fold = Fold("f", add, over=lambda _: ["a"], state=Trip)
    with pytest.raises(PatternError, match="step 'f' changed 'notes'"):
        await fold.run(check_states=True)

    async def parent(state: State, context: StepContext) -> None:
        await context.child(fold, "below", {})

    with pytest.raises(PatternError, match="step 'f' changed 'notes'"):
        await Chain("c", [parent], companions=[fold]).run(check_states=True)
