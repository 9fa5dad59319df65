"""Typed states and typed keys."""

from datetime import date
from typing import Any

import pytest
from pydantic import BaseModel, Field

from stagepost.checkpoint import CannotStore
from stagepost.workflows import (
    Ask,
    Chain,
    ChainError,
    Conditional,
    DefinitionError,
    Graph,
    Parallel,
    ParallelError,
    Pattern,
    State,
    StepResultError,
    step,
)


class Trip(BaseModel):
    place: str = "sea"
    day: date | None = None
    notes: list[str] = Field(default_factory=list)


class OtherTrip(BaseModel):
    place: str = "hills"


class SunnyTrip(Trip):
    sun: bool = True


class Page(BaseModel):
    number: int
    tags: list[str] = []


def chain_of(*functions: Any, **options: Any) -> Chain:
    return Chain("trip", [step(f"step{n}", function, inline=True) for n, function in enumerate(functions)], **options)


async def test_a_typed_state_goes_through_all_steps_as_its_model() -> None:
    seen: list[object] = []

    def plan(trip: Trip) -> Trip:
        seen.append(trip)
        return trip.model_copy(update={"day": date(2026, 5, 1)})

    def pack(trip: Trip) -> dict[str, object]:
        seen.append(trip)
        return {"notes": [*trip.notes, "hat"]}

    result = await chain_of(plan, pack, state=Trip).run({"place": "hills"})
    assert result == Trip(place="hills", day=date(2026, 5, 1), notes=["hat"])
    assert seen == [Trip(place="hills"), Trip(place="hills", day=date(2026, 5, 1))]


async def test_a_typed_state_starts_from_a_model_a_mapping_or_nothing() -> None:
    trip = chain_of(lambda _: None, state=Trip)
    assert await trip.run() == Trip()
    assert await trip.run({"day": "2026-05-01"}) == Trip(day=date(2026, 5, 1))
    assert await trip.run(Trip(place="lake")) == Trip(place="lake")


async def test_changing_a_typed_state_in_place_changes_nothing_for_others() -> None:
    result = await chain_of(lambda trip: trip.notes.append("mutated"), lambda _: None, state=Trip).run()
    assert result == Trip()


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"place": 7}, "it is no valid Trip"),
        ({"plaice": "sea"}, "Trip has no field plaice"),
        ({1: 2}, "keys of a state are text"),
        (SunnyTrip(), "fields that Trip does not declare would be lost"),
        (Trip.model_construct(place=7), "no valid Trip"),
    ],
    ids=["wrong type", "unknown field", "odd key", "subclass", "unchecked"],
)
async def test_what_is_no_such_state_is_refused(given: Any, why: str) -> None:
    with pytest.raises(ChainError, match=why) as caught:
        await chain_of(lambda _: given, state=Trip).run()
    assert isinstance(caught.value.__cause__, CannotStore)


@pytest.mark.parametrize("given", [OtherTrip(), 7, "sea"], ids=["other model", "number", "text"])
async def test_other_results_fail_the_step(given: object) -> None:
    with pytest.raises(ChainError, match="'step0' returned") as caught:
        await chain_of(lambda _: given, state=Trip).run()
    assert isinstance(caught.value.__cause__, StepResultError)


@pytest.mark.parametrize("given", [OtherTrip(), 7], ids=["other model", "number"])
async def test_other_inputs_are_refused_before_the_first_step(given: Any) -> None:
    with pytest.raises(CannotStore, match=r"of type (OtherTrip|int): give a Trip, or"):
        await chain_of(lambda _: None, state=Trip).run(given)
    with pytest.raises(CannotStore, match=r"of type (OtherTrip|int): give a mapping, or the workflow a model"):
        await chain_of(lambda _: None).run(given)


@pytest.mark.parametrize("whole", [True, False], ids=["model", "updates"])
async def test_a_typed_step_saves_only_the_fields_that_changed(whole: bool) -> None:  # noqa: FBT001  # a parameter of the test
    trip = chain_of(lambda _: None, state=Trip)
    before = trip.plan.schema.initial(Trip(place="lake"), "input")
    result = Trip(place="lake", notes=["hat"]) if whole else {"notes": ["hat"]}
    changed = trip.plan.schema.updates(result, before, "pack")
    assert {name: value.data for name, value in changed.items()} == {"notes": b'["hat"]'}


def test_a_model_needs_a_field_for_what_steps_store() -> None:
    for inner in (
        Parallel("pages", step("read", lambda item: item), over="notes"),
        Ask("oncall", lambda _: 1, into="pages"),
        Conditional("way", lambda _: "a", {"a": Ask("oncall", lambda _: 1, into="pages")}),
    ):
        with pytest.raises(DefinitionError, match=r"Trip has no field 'pages', which a step stores its result under"):
            _ = Chain("trip", [inner], state=Trip).plan


def a_graph(inner: Pattern, **options: Any) -> Graph:
    graph = Graph("outer", **options)
    graph.add("inner", inner)
    return graph


@pytest.mark.parametrize(
    "outer",
    [
        lambda inner, **options: Chain("outer", [inner], **options),
        lambda inner, **options: Conditional("outer", lambda _: "a", {"a": inner}, **options),
        lambda inner, **options: Chain("outer", [Chain("between", [inner])], **options),
        a_graph,
    ],
    ids=["chain", "conditional", "grandchild", "graph"],
)
def test_nested_patterns_share_one_model(outer: Any) -> None:
    with pytest.raises(DefinitionError, match=r"(declare it on the outermost|nested patterns share one state)"):
        outer(chain_of(lambda _: None, state=Trip))
    with pytest.raises(DefinitionError, match="nested patterns share one state"):
        outer(chain_of(lambda _: None, state=Trip), state=OtherTrip)
    outer(chain_of(lambda _: None), state=Trip)


def test_a_nested_pattern_may_repeat_the_model() -> None:
    inner = chain_of(lambda _: None, state=Trip)
    assert Chain("outer", [inner], state=Trip).plan.start == "trip/step0"


async def test_typed_keys_are_of_their_type_in_every_step() -> None:
    seen: list[object] = []

    def read(state: State) -> dict[str, object]:
        seen.append(state["page"])
        state["page"].tags.append("mutated")
        return {"page": Page(number=2), "plain": [1]}

    result = await chain_of(read, lambda state: seen.append(state["page"]), types={"page": Page}).run(
        {"page": {"number": 1}}
    )
    assert seen == [Page(number=1, tags=["mutated"]), Page(number=2)]
    assert dict(result) == {"page": Page(number=2), "plain": [1]}


async def test_a_typed_key_refuses_what_does_not_fit() -> None:
    with pytest.raises(CannotStore, match="page cannot be stored: it is no valid Page"):
        await chain_of(lambda _: None, types={"page": Page}).run({"page": {"number": "x"}})


def test_types_of_inner_patterns_are_those_of_the_outer_one() -> None:
    inner = Chain("inner", [step("x", lambda _: None)], types={"page": Page, "count": int})
    assert {key: codec.kind for key, codec in Chain("outer", [inner]).types.items()} == {"page": Page}


def test_one_key_has_one_type() -> None:
    inner = Chain("inner", [step("x", lambda _: None)], types={"page": Page})
    with pytest.raises(DefinitionError, match=r"key 'page' is .*Page.* in one step and .*Trip.* in another"):
        _ = Chain("outer", [inner, Ask("oncall", lambda _: 1, expect=Trip, into="page")]).types


async def test_a_typed_state_takes_the_values_of_a_fan_out() -> None:
    class Book(BaseModel):
        numbers: list[int] = [1, 2]
        pages: list[Page] = []
        lost: list[dict[str, Any]] = []

    async def read(number: int) -> Page:
        if number == 2:
            raise ValueError("torn")
        return Page(number=number)

    book = Chain("book", [Parallel("pages", read, over="numbers", failures="lost")], state=Book)
    result = await book.run()
    assert result.pages == [Page(number=1)]
    assert result.lost == [{"index": 1, "item": 2, "error": "ValueError: torn"}]


async def test_values_that_do_not_fit_into_the_model_fail_the_fan_out() -> None:
    class Book(BaseModel):
        pages: list[Page] = []

    book = Parallel("pages", step("read", lambda item: item, inline=True), over=lambda _: [1], state=Book)
    with pytest.raises(
        ParallelError, match=r"its values could not be put together: .*no valid Book: .*pages"
    ) as caught:
        await book.run()
    assert caught.value.accounts.ok == (0,)
    assert isinstance(caught.value.__cause__, CannotStore)
