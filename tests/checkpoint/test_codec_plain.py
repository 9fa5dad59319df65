"""Plain values: JSON only, frozen, and the same bytes for ever."""

import copy
import inspect
import json
import math
import pickle
import sys
from collections import OrderedDict
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, SecretStr

from stagepost.checkpoint import (
    PLAIN,
    CannotStore,
    FrozenDict,
    FrozenList,
    freeze,
    join_values,
    plain_form,
    read_frozen,
    split_values,
)

texts = st.text(st.characters(exclude_categories=["Cs"]))
scalars = st.none() | st.booleans() | st.integers() | st.integers(10**30, 10**300) | st.floats() | texts
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(texts, inner), max_leaves=10)

law = settings(deadline=None, max_examples=60)


class Colour(Enum):
    RED = "red"


class Word(StrEnum):
    GO = "go"


class Rank(IntEnum):
    TOP = 1


class Point(BaseModel):
    x: int


class Text(str):
    __slots__ = ()


class Half(float):
    __slots__ = ()


def same(one: object, other: object) -> bool:
    """Equal, with NaN equal to itself, -0.0 different from 0.0 and 1 different from 1.0 and True."""
    return repr(one) == repr(other)


@law
@given(values)
def test_p10_what_is_loaded_is_what_was_frozen(value: object) -> None:
    frozen = freeze(value)
    assert same(PLAIN.load(PLAIN.dump(value, "value")), frozen)
    assert same(PLAIN.load(PLAIN.dump(frozen, "value")), frozen)


@law
@given(values)
def test_p10_the_stored_form_is_the_same_before_and_after_it_is_written(value: object) -> None:
    frozen, data = plain_form(value, "value")
    assert same(frozen, freeze(value))
    assert same(read_frozen(data), frozen)
    assert PLAIN.dump(frozen, "value") == data


@pytest.mark.parametrize(
    "value", [[{"a": (1, [2, {}])}], {"a": FrozenDict(b=FrozenList([1]))}, [Word.GO, {"a": Colour.RED}]], ids=repr
)
def test_what_is_kept_of_a_value_is_frozen_all_the_way_down(value: object) -> None:
    frozen, data = plain_form(value, "value")
    for form in (frozen, read_frozen(data)):
        assert form == PLAIN.load(data)
        assert not any(type(part) in (list, dict, tuple, Word) for part in walk(form))


@law
@given(values)
def test_p10_the_stored_form_is_stable(value: object) -> None:
    data = PLAIN.dump(value, "value")
    assert PLAIN.dump(PLAIN.load(data), "value") == data


@law
@given(st.dictionaries(texts, values, max_size=4))
def test_p10_values_survive_being_joined_into_one_object(state: dict[str, object]) -> None:
    stored = {key: PLAIN.dump(value, key) for key, value in state.items()}
    assert split_values(join_values(stored)) == stored


@law
@given(values)
def test_a_frozen_value_equals_its_source(value: object) -> None:
    if not any(isinstance(part, float) and math.isnan(part) for part in walk(value)):
        assert freeze(value) == value


def walk(value: object) -> list[object]:
    inner = value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
    return [value, *(part for child in inner for part in walk(child))]


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (float("nan"), b"NaN"),
        (float("inf"), b"Infinity"),
        (float("-inf"), b"-Infinity"),
        (-0.0, b"-0.0"),
        (1.0, b"1.0"),
        (2**70, b"1180591620717411303424"),
        (True, b"true"),
        (None, b"null"),
        ("ü😀\x00", '"ü😀\\u0000"'.encode()),
        ((1, (2,)), b"[1,[2]]"),
        (OrderedDict(b=1, a=2), b'{"b":1,"a":2}'),
        (Colour.RED, b'"red"'),
        ([Word.GO, Rank.TOP], b'["go",1]'),
        ({Colour.RED: 1, Word.GO: 2}, b'{"red":1,"go":2}'),
        ([Text("a"), Half(0.5)], b'["a",0.5]'),
        (10**4298, b"1" + b"0" * 4298),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_p10_the_stored_form_is_plain_json(value: object, stored: bytes) -> None:
    assert PLAIN.dump(value, "value") == stored


@pytest.mark.parametrize("value", [Text("a"), Half(0.5), Word.GO, Rank.TOP, True], ids=repr)
def test_subclasses_of_scalars_become_the_plain_type(value: object) -> None:
    assert type(freeze(value)) in {str, float, int, bool}


@pytest.mark.parametrize(
    ("value", "where", "why"),
    [
        ({"tags": ["a", "b", {"c"}]}, "value.tags[2]", "builtins.set is no JSON value"),
        ({"at": datetime(2026, 1, 1, tzinfo=UTC)}, "value.at", "give the key a type"),
        ([Decimal("1.1")], "value[0]", "decimal.Decimal"),
        ([b"bytes"], "value[0]", "builtins.bytes"),
        ({"page": Point(x=1)}, "value.page", "Point is no JSON value"),
        ({"deep": [{"key": SecretStr("s")}]}, "value.deep[0].key", "SecretStr"),
        ({"counts": {1: "a"}}, "value.counts", "its key 1 is int, and JSON has string keys only"),
        ({"counts": {Rank.TOP: "a"}}, "value.counts", "string keys only"),
        ({"counts": {"red": 1, Colour.RED: 2}}, "value.counts", "two of its keys are the same text"),
        ({"names": ["a", "caf\udce9", 1]}, "value.names[1]", "no valid Unicode"),
        ({"names": {"caf\udce9": 1}}, "value.names", "no valid Unicode"),
        ({"ids": [10**4300]}, "value.ids[0]", "store it as text"),
        (lambda: None, "value", "builtins.function"),
    ],
    ids=["set", "datetime", "decimal", "bytes", "model", "secret", "int-key", "enum-key", "twice", "surrogate",
         "surrogate-key", "huge-int", "function"],
)  # fmt: skip
def test_p10_what_has_no_stored_form_is_refused_by_name(value: object, where: str, why: str) -> None:
    with pytest.raises(CannotStore) as caught:
        PLAIN.dump(value, "value")
    assert (caught.value.where, why in caught.value.why) == (where, True), str(caught.value)


def test_a_plain_value_needs_no_conversion() -> None:
    value = [object()]
    assert PLAIN.convert(value, "value") is value


def test_p11_a_refused_secret_is_not_in_the_message() -> None:
    with pytest.raises(CannotStore) as caught:
        PLAIN.dump([SecretStr("geheim")], "value")
    assert "geheim" not in str(caught.value)


def nested(levels: int) -> object:
    value: object = "core"
    for _ in range(levels):
        value = [value]
    return value


def test_p10_a_value_at_the_depth_limit_comes_back_from_inside_a_state() -> None:
    stored = {"key": PLAIN.dump(nested(199), "value")}
    assert split_values(join_values(stored)) == stored


def test_nesting_past_the_limit_is_refused() -> None:
    with pytest.raises(CannotStore, match="nested deeper than 199 levels"):
        PLAIN.dump(nested(200), "value")


@pytest.mark.parametrize("levels", [200, 5_000])
def test_nesting_that_grew_step_by_step_is_refused_when_stored(levels: int) -> None:
    value = freeze("core")
    for _ in range(levels):
        value = freeze([value])
    with pytest.raises(CannotStore, match="nested deeper than 199 levels"):
        PLAIN.dump(value, "value")


def test_many_brackets_are_not_depth() -> None:
    flat: list[object] = [[] for _ in range(1000)] + ["[" * 1000]
    assert PLAIN.load(PLAIN.dump(flat, "value")) == flat


def test_a_value_that_contains_itself_is_refused() -> None:
    loop: list[object] = []
    loop.append({"loop": loop})
    with pytest.raises(CannotStore, match="or contains itself"):
        PLAIN.dump(loop, "value")


MUTATORS: list[tuple[object, ...]] = [
    ("append", 1), ("extend", [1]), ("insert", 0, 1), ("pop",), ("remove", 1), ("clear",), ("sort",), ("reverse",),
    ("__setitem__", 0, 1), ("__delitem__", 0), ("__iadd__", [1]), ("__imul__", 2),
]  # fmt: skip
DICT_MUTATORS: list[tuple[object, ...]] = [
    ("update", {}), ("setdefault", "a", 1), ("pop", "a"), ("popitem",), ("clear",), ("__setitem__", "a", 1),
    ("__delitem__", "a"), ("__ior__", {}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "method", "arguments"),
    [([1], name, rest) for name, *rest in MUTATORS] + [({"a": 1}, name, rest) for name, *rest in DICT_MUTATORS],
    ids=[f"list.{name}" for name, *_ in MUTATORS] + [f"dict.{name}" for name, *_ in DICT_MUTATORS],
)
def test_a_frozen_value_refuses_to_change(value: object, method: str, arguments: list[Any]) -> None:
    frozen = freeze(value)
    with pytest.raises(TypeError, match=r"is immutable: make a copy with `(list|dict)\(…\)`"):
        getattr(frozen, method)(*arguments)
    assert frozen == value


def test_frozen_values_are_frozen_all_the_way_down() -> None:
    value: Any = freeze({"a": [{"b": [1]}]})
    parts = [value, value["a"], value["a"][0], value["a"][0]["b"]]
    assert [type(part) for part in parts] == [FrozenDict, FrozenList, FrozenDict, FrozenList]


def test_freezing_again_costs_nothing_and_copies_nothing() -> None:
    value = freeze({"a": [1]})
    assert freeze(value) is value


def test_frozen_values_work_where_lists_and_dicts_do() -> None:
    value = freeze({"a": [1, 2]})
    assert json.loads(json.dumps(value)) == value
    assert len({value, freeze([1]), freeze({"a": (1, 2)})}) == 2


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])  # noqa: S301  # our own bytes
def test_a_copy_of_a_frozen_value_is_an_ordinary_one(duplicate: Any) -> None:
    for frozen, kind in ((freeze([1, [2]]), list), (freeze({"a": 1}), dict)):
        assert type(duplicate(frozen)) is kind
        assert duplicate(frozen) == frozen


def test_a_value_for_which_the_stack_has_no_room_is_refused_by_name() -> None:
    value: object = 1
    for _ in range(190):
        value = [value]

    def deep(calls: int) -> bytes:
        return PLAIN.dump(value, "key") if calls == 0 else deep(calls - 1)

    with pytest.raises(CannotStore, match="key cannot be stored: it is nested too deep for what is left"):
        deep(sys.getrecursionlimit() - len(inspect.stack(0)) - 150)


async def fetch() -> int:
    return 1


def test_a_coroutine_is_named_with_the_await_that_is_missing() -> None:
    coroutine = fetch()
    with pytest.raises(
        CannotStore, match=r"value\[0\] cannot be stored: it is a coroutine .*: write `await fetch\(…\)`"
    ):
        PLAIN.dump([coroutine], "value")
    coroutine.close()
