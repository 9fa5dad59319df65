from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Any, NoReturn

import pytest
from pydantic import BaseModel
from tests.workflows.test_graph import broken_loop

from stagepost.workflows import (
    Chain,
    DefinitionError,
    Graph,
    GraphError,
    Predicate,
    State,
    all_of,
    any_of,
    key_equals,
    key_exists,
    not_,
)
from stagepost.workflows._values._state import store


class Answer(BaseModel):
    ok: bool = True


STATE = State(store({"ok": True, "none": None}, {}), {})


@pytest.mark.parametrize("state", [STATE, {"ok": True, "none": None}, Answer()], ids=["state", "dict", "model"])
def test_keys_are_looked_up_in_states_and_models(state: object) -> None:
    assert key_exists("ok")(state)
    assert key_equals("ok", value=True)(state)
    assert not key_equals("ok", value=False)(state)
    assert not key_exists("missing")(state)
    assert not key_equals("missing", None)(state)


def test_none_is_a_value() -> None:
    assert key_exists("none")(STATE)
    assert key_equals("none", None)(STATE)


def test_nan_equals_nothing() -> None:
    assert not key_equals("x", float("nan"))({"x": float("nan")})


def test_a_state_that_is_no_mapping_has_no_keys() -> None:
    assert not key_exists("ok")(7)


class Colour(Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("stored", "asked"),
    [((1, (2,)), (1, (2,))), ([1], (1,)), ({"a": (1,)}, {"a": [1]}), (Colour.RED, Colour.RED), ("red", Colour.RED)],
    ids=["tuple", "list", "dict", "enum", "its value"],
)
def test_values_are_compared_in_their_stored_form(stored: object, asked: object) -> None:
    assert key_equals("x", asked)(State(store({"x": stored}, {}), {}))


@pytest.mark.parametrize("value", [float("nan"), [float("nan")], {"a": float("nan")}], ids=["nan", "list", "dict"])
def test_nan_equals_nothing_wherever_it_stands(value: object) -> None:
    assert not key_equals("x", value)(State(store({"x": value}, {}), {}))


YES, NO = key_exists("ok"), key_exists("missing")


@pytest.mark.parametrize(
    ("predicate", "truth"),
    [
        (not_(YES), False),
        (not_(NO), True),
        (all_of(YES), True),
        (all_of(YES, NO), False),
        (all_of(YES, not_(NO), key_equals("none", None)), True),
        (any_of(NO), False),
        (any_of(NO, YES), True),
        (not_(any_of(NO, all_of(YES, NO))), True),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_predicates_are_joined(predicate: Predicate, truth: bool) -> None:  # noqa: FBT001  # a parameter of the test
    assert predicate(STATE) is truth


def explode(state: object) -> NoReturn:
    raise ZeroDivisionError("no")


def test_predicates_are_asked_no_further_than_needed() -> None:
    assert not all_of(NO, explode)(STATE)
    assert any_of(YES, explode)(STATE)


class Moody:
    """Equal to nothing, and it says so loudly."""

    def __eq__(self, other: object) -> bool:
        raise TypeError("do not compare me")

    __hash__ = None  # type: ignore[assignment]  # nor can it be hashed


class Numbers(list[int]):
    """Compares number by number, as arrays do."""

    def __eq__(self, other: object) -> Any:
        return Vague()

    __hash__ = None


class Vague:
    def __bool__(self) -> bool:
        raise ValueError("the truth value of an array is ambiguous")


@pytest.mark.parametrize(
    ("predicate", "problem"),
    [
        (explode, "ZeroDivisionError: no"),
        (not_(explode), "ZeroDivisionError: no"),
        (all_of(key_exists("n"), explode), "ZeroDivisionError: no"),
        (key_equals("n", Moody()), "TypeError: do not compare me"),
        (key_equals("n", Numbers()), "ValueError: the truth value of an array is ambiguous"),
        (lambda _: Vague(), "ValueError: the truth value of an array is ambiguous"),
        (lambda state: state["m"], "MissingKey: the state has no key 'm'; it has n"),
    ],
    ids=["raises", "not", "all", "moody", "array", "no truth", "missing"],
)
async def test_a_predicate_that_raises_is_an_error_with_its_place(predicate: Predicate, problem: str) -> None:
    with pytest.raises(GraphError, match="the predicate of its edge to 'done' raised") as caught:
        await broken_loop(predicate).run()
    assert str(caught.value).endswith(problem)
    assert (caught.value.node, caught.value.path) == ("work", ("work",))
    assert caught.value.state["n"] == 1


async def ask(state: object) -> bool:
    return True


def _edge(predicate: Any) -> None:
    graph = Graph("graph")
    graph.add("a", Chain("a", [print]))
    graph.edge("a", "a", when=predicate)


@pytest.mark.parametrize("make", [not_, all_of, any_of, _edge], ids=lambda make: make.__name__)
@pytest.mark.parametrize("odd", [ask, partial(ask), "ok"], ids=["async", "partial", "text"])
def test_what_cannot_be_asked_is_refused_where_it_is_given(make: Callable[..., object], odd: object) -> None:
    with pytest.raises(DefinitionError, match=r"is async: decide in a step|'ok' is no predicate"):
        make(odd)


@pytest.mark.parametrize("make", [all_of, any_of], ids=lambda make: make.__name__)
def test_there_must_be_something_to_ask(make: Callable[..., object]) -> None:
    with pytest.raises(DefinitionError, match="it has no predicates"):
        make()


def test_combinations_are_named_after_their_parts() -> None:
    joined = all_of(YES, not_(any_of(NO, lambda _: True)))
    assert joined.__name__ == "all of (has ok, not (any of (has missing, when)))"


def test_predicates_have_names_for_diagrams() -> None:
    assert (key_exists("ok").__name__, key_equals("n", 1).__name__) == ("has ok", "n is 1")
