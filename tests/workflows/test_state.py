from collections.abc import Callable
from datetime import date
from enum import Enum
from typing import Any

import pytest
from pydantic import BaseModel

from stagepost.checkpoint import CannotRead, CannotStore, TypedCodec, codec_for
from stagepost.workflows import MissingKey, State
from stagepost.workflows._values._state import Value, store


class Page(BaseModel):
    title: str
    tags: list[str] = []


class Colour(Enum):
    RED = "red"


def state_of(**values: object) -> State:
    return State(store(values, {}), {})


def typed(**values: object) -> State:
    types = {"page": codec_for(Page)}
    return State(store(values, types), types)


def test_a_state_is_a_mapping_of_json_values() -> None:
    state = state_of(text="tides", pair=(1, 2), colour=Colour.RED, nested={"list": [None, True, 1.5]})
    assert dict(state) == {"text": "tides", "pair": [1, 2], "colour": "red", "nested": {"list": [None, True, 1.5]}}
    assert (len(state), list(state)) == (4, ["text", "pair", "colour", "nested"])
    assert "text" in state
    assert state.get("other", 7) == 7


CHANGES: dict[str, Callable[[State], object]] = {
    "a key": lambda state: state.__setitem__("rows", 1),  # type: ignore[index]  # on purpose
    "a list": lambda state: state["rows"].append(1),
    "a list inside": lambda state: state["rows"][0]["cells"].append(1),
    "a dict inside": lambda state: state["rows"][0].update(cells=[]),
    "an item": lambda state: state["rows"].__setitem__(0, 1),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_state_is_immutable_all_the_way_down(change: Callable[[State], object]) -> None:
    state = state_of(rows=[{"cells": [1]}])
    with pytest.raises((TypeError, AttributeError)):
        change(state)
    assert dict(state) == {"rows": [{"cells": [1]}]}


def test_set_and_merge_make_a_new_state() -> None:
    state = state_of(a=1)
    changed = state.set("b", [2]).merge({"a": 3, "c": None})
    assert dict(state) == {"a": 1}
    assert dict(changed) == {"a": 3, "b": [2], "c": None}


def test_the_changes_of_a_state_are_the_keys_that_were_set() -> None:
    before = store({"a": 1, "b": 2}, {})
    changes = State(before, {}).set("b", 3).changes(before)
    assert {key: value.data for key, value in changes.items()} == {"b": b"3"}


def test_a_missing_key_is_named_with_those_that_are_there() -> None:
    with pytest.raises(MissingKey, match=r"^the state has no key 'total'; it has a, b$") as caught:
        state_of(a=1, b=2)["total"]
    assert caught.value.key == "total"
    with pytest.raises(KeyError, match="it has none yet"):
        state_of()["total"]


def test_the_representation_shows_names_only() -> None:
    assert repr(state_of(phone="555-0100", user="ann")) == "State(phone, user)"


@pytest.mark.parametrize("value", [date(2026, 1, 1), {1, 2}, b"x", Page(title="x"), {1: 2}], ids=repr)
def test_what_has_no_stored_form_is_refused_by_its_key(value: object) -> None:
    with pytest.raises(CannotStore, match=r"^report cannot be stored") as caught:
        state_of().set("report", value)
    assert caught.value.where == "report"


def test_plain_values_are_shared_by_all_who_look() -> None:
    values = store({"rows": [1, 2]}, {})
    assert State(values, {})["rows"] is State(values, {})["rows"]


def test_typed_values_are_made_anew_for_each_state() -> None:
    first = typed(page=Page(title="tides"))
    second = first.set("other", 1)
    assert first["page"] == Page(title="tides")
    assert first["page"] is first["page"]
    first["page"].tags.append("mutated")
    assert second["page"].tags == []
    assert first.set("other", 2)["page"].tags == []


def test_a_typed_key_takes_its_type_only() -> None:
    values: Any = {"title": "tides"}
    with pytest.raises(CannotStore, match="page cannot be stored: it is no valid Page"):
        typed().set("page", values)


def test_a_stored_value_of_another_type_is_an_error_when_it_is_read() -> None:
    state = State({"page": Value(b'{"name": "old"}')}, {"page": codec_for(Page)})
    assert "page" in state
    with pytest.raises(CannotRead, match="no Page"):
        state["page"]


def test_get_gives_the_value_or_what_is_to_stand_for_it() -> None:
    state = state_of(a=1)
    assert [state.get("a"), state.get("a", 2), state.get("b"), state.get("b", 2)] == [1, 1, None, 2]


class Seal(BaseModel, frozen=True):
    name: str


@pytest.mark.parametrize("verify", [True, False])
def test_immutable_values_of_a_type_are_shared_by_all_who_look(*, verify: bool) -> None:
    types: dict[str, TypedCodec[Any]] = {"seal": TypedCodec(Seal, immutable=True, verify=verify)}
    values, given = store({"seal": Seal(name="x")}, types), Seal(name="x")
    seen = [State(values, types)["seal"] for _ in range(2)]
    assert seen[0] is seen[1]
    assert seen[0] == given
    assert State({"seal": Value(b'{"name":"y"}')}, types)["seal"] == Seal(name="y"), "read where it was not made"


def test_immutable_value_that_is_not_checked_is_the_one_that_was_given() -> None:
    types: dict[str, TypedCodec[Any]] = {"seal": TypedCodec(Seal, immutable=True, verify=False)}
    given = Seal(name="x")
    values = store({"seal": given}, types)
    assert State(values, types)["seal"] is given
    assert values["seal"].data == b'{"name":"x"}'
