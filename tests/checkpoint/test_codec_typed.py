"""Typed values: what is read back dumps to the very same bytes, or is refused with what to do."""

import re
from collections import deque
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal, NamedTuple, Optional, cast
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    GetPydanticSchema,
    PlainSerializer,
    Secret,
    SecretBytes,
    SecretStr,
    TypeAdapter,
    WithJsonSchema,
    computed_field,
    create_model,
    field_serializer,
)
from pydantic_core import CoreSchema, core_schema
from typing_extensions import TypedDict  # typing's own from Python 3.12 on

from stagepost.checkpoint import CannotStore, TypedCodec, codec_for, join_values, split_values

NAN = float("nan")


class Metres(float):
    """A float of a class of its own."""


class Colour(Enum):
    RED = "red"
    BLUE = 7


class Rank(IntEnum):
    TOP = 1


class Point(BaseModel):
    x: int
    y: float | None = None


class Point3(Point):
    z: int = 0


class Plan(BaseModel):
    at: datetime
    day: date
    wait: timedelta
    price: Decimal
    colour: Colour
    rank: Rank
    id: UUID
    points: list[Point]
    by_day: dict[date, Point]
    pair: tuple[int, str]
    anything: Any = None


class Exact(BaseModel):
    model_config = ConfigDict(ser_json_inf_nan="constants", ser_json_bytes="base64", val_json_bytes="base64")
    number: float | None = None
    other: float | None = None
    raw: bytes = b""
    text: str = ""


class Spelled(BaseModel):
    model_config = ConfigDict(ser_json_inf_nan="strings")
    number: float
    other: float | None = None


class Area(BaseModel):
    side: int = Field(alias="SIDE", serialization_alias="Side")

    @computed_field  # type: ignore[prop-decorator]  # pydantic's own way
    @property
    def area(self) -> int:
        return self.side**2


class Login(BaseModel):
    user: str
    password: SecretStr = SecretStr("geheim")


class Extra(BaseModel):
    model_config = ConfigDict(extra="allow")


class Drifting(BaseModel):
    words: list[str]

    @field_serializer("words")
    def _join(self, words: list[str]) -> list[str]:
        return [word.upper() + "!" for word in words]


@dataclass
class Card:
    number: SecretStr | None = None


class Pair(NamedTuple):
    left: int
    right: SecretStr


class Count(TypedDict):
    words: int


class Marked(BaseModel):
    number: Annotated[int, PlainSerializer(str)]
    words: dict[str, Annotated[Decimal, PlainSerializer(float)]]
    wait: "Waiting | None" = None


class Waiting(BaseModel):
    model_config = ConfigDict(ser_json_timedelta="float")
    wait: timedelta


class Entry(TypedDict):
    token: SecretStr


def refusal(kind: Any, value: object) -> str:
    with pytest.raises(CannotStore) as caught:
        codec_for(kind).dump(value, "answer")
    assert caught.value.where == "answer"
    return caught.value.why


plans = st.builds(
    Plan,
    at=st.datetimes(timezones=st.just(UTC)),
    price=st.decimals(allow_nan=False, allow_infinity=False),
    points=st.lists(st.builds(Point, y=st.none() | st.floats(allow_nan=False, allow_infinity=False)), max_size=3),
    by_day=st.dictionaries(st.dates(), st.builds(Point, y=st.none()), max_size=3),
    pair=st.tuples(st.integers(), st.text(st.characters(exclude_categories=["Cs"]))),
    anything=st.none() | st.integers() | st.lists(st.booleans()),
)


@settings(deadline=None, max_examples=60)
@given(plans)
def test_p10_models_come_back_equal_and_stable(plan: Plan) -> None:
    codec = codec_for(Plan)
    data = codec.dump(plan, "plan")
    assert codec.load(data) == plan
    assert codec.dump(codec.load(data), "plan") == data
    assert split_values(join_values({"plan": data})) == {"plan": data}


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (datetime, datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)),
        (Decimal, Decimal("1.10")),
        (Colour, Colour.BLUE),
        (Rank, Rank.TOP),
        (list[Colour | Decimal], [Colour.RED, Decimal(2)]),
        (dict[int, Point], {1: Point(x=1)}),
        (Point | None, None),
        (frozenset[int], frozenset({1})),
        (Exact, Exact(raw=b"\xff", text="NaN and null")),
        (Area, Area(SIDE=3)),
        (Card, Card()),
        (Annotated[date, PlainSerializer(date.isoformat)], date(2026, 1, 2)),
        (Annotated[int, PlainSerializer(str)], 1),
        (Marked, Marked(number=1, words={"a": Decimal("1.5")}, wait=Waiting(wait=timedelta(1)))),
    ],
    ids=str,
)
def test_p10_typed_values_come_back_equal(kind: Any, value: object) -> None:
    codec = codec_for(kind)
    assert codec.load(codec.dump(value, "value")) == value


@pytest.mark.parametrize("value", [Exact(number=NAN), Exact(number=NAN, other=-NAN), Spelled(number=NAN)], ids=repr)
def test_nan_that_is_kept_is_stored(value: BaseModel) -> None:
    codec = codec_for(type(value))
    assert repr(codec.load(codec.dump(value, "value"))) == repr(value)


def test_a_codec_is_made_once_per_type() -> None:
    assert codec_for(Point) is codec_for(Point)


def test_each_load_gives_a_new_object() -> None:
    codec = codec_for(Point)
    data = codec.dump(Point(x=1), "point")
    assert codec.load(data) is not codec.load(data)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (SecretStr, SecretStr("geheim")),
        (SecretBytes, SecretBytes(b"geheim")),
        (Secret[str], Secret[str]("geheim")),
        (Login, Login(user="a")),
        (list[Login], [Login(user="a")]),
        (dict[str, SecretStr], {"a": SecretStr("geheim")}),
        (deque[SecretStr], deque([SecretStr("geheim")])),
        (Any, {"key": [SecretStr("geheim")]}),
        (Extra, Extra(token=SecretStr("geheim"))),  # type: ignore[call-arg]  # extra fields are allowed
        (Card, Card(SecretStr("geheim"))),
        (Pair, Pair(1, SecretStr("geheim"))),
        (Entry, Entry(token=SecretStr("geheim"))),
    ],
    ids=["text", "bytes", "generic", "model", "list", "dict", "deque", "any", "extra", "dataclass", "tuple", "entry"],
)
def test_p11_secrets_are_refused_wherever_they_are(kind: Any, value: object) -> None:
    why = refusal(kind, value)
    assert "give secrets to the runner (secrets=)" in why
    assert "geheim" not in why


def test_asterisks_that_hide_no_secret_are_stored() -> None:
    assert codec_for(str).load(codec_for(str).dump("**********", "stars")) == "**********"


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (float, NAN),
        (list[float], [1.0, float("inf")]),
        (Point, Point(x=1, y=NAN)),
        (dict[str, Point], {"NaN": Point(x=1, y=NAN)}),
        (Any, {"text": "null NaN Infinity", "number": NAN}),
        (tuple[Exact, Point], (Exact(number=NAN), Point(x=1, y=NAN))),
        (dict[str, list[Point] | None], {"none": None, "points": [Point(x=1, y=Metres("inf"))]}),
    ],
    ids=["float", "list", "model", "named-nan", "quoted", "mixed", "subclass"],
)
def test_p10_nan_turned_null_is_refused(kind: Any, value: object) -> None:
    assert 'ser_json_inf_nan="constants"' in refusal(kind, value)


def test_p10_fields_of_a_subclass_are_not_lost() -> None:
    lost = "fields that Point does not declare would be lost: declare the type that you return"
    assert refusal(Point, Point3(x=1, z=2)) == lost
    assert "declare the type" in refusal(list[Point], [Point3(x=1, z=2)])
    assert "declare the type" in refusal(Count, {"words": 1, "lines": 2})


def test_p10_a_serializer_that_does_not_come_back_the_same_is_refused() -> None:
    why = refusal(Drifting, Drifting(words=["a"]))
    assert "Drifting does not come back the same from JSON" in why
    assert "A!" in why
    assert "A!!" in why


def test_p10_a_serializer_that_nothing_reads_back_is_refused() -> None:
    unreadable = Annotated[int, PlainSerializer(lambda number: f"<{number}>")]
    assert "cannot be read back" in refusal(unreadable, 1)


def test_a_value_of_another_type_is_refused() -> None:
    assert "it is no valid int" in refusal(int, "one")
    point = Point(x=1)
    point.x = "one"  # type: ignore[assignment]  # the mistake
    assert "it is no valid Point" in refusal(Point, point)


def test_text_that_is_no_unicode_is_refused() -> None:
    assert "surrogates not allowed" in refusal(str, "caf\udce9")


class Flagged(str):
    """A text that is distinguished by a character which no stored text has."""

    __slots__ = ()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            lambda value: cls("\udfff" + str(value).lstrip("\udfff")),
            serialization=core_schema.plain_serializer_function_ser_schema(lambda value: value[1:]),
        )


class Tagged(BaseModel):
    tag: Flagged


def test_a_value_that_can_only_be_written_as_its_type_says_comes_back() -> None:
    codec = codec_for(Tagged)
    data = codec.dump(Tagged(tag=Flagged("\udfffa")), "the result")
    assert data == b'{"tag":"a"}'
    assert codec.load(data) == Tagged(tag=Flagged("\udfffa"))


def test_a_serializer_that_raises_is_refused() -> None:
    def fail(number: int) -> str:
        raise TypeError(f"no form for {number}")

    assert "no form for 1" in refusal(Annotated[int, PlainSerializer(fail)], 1)


def test_p10_nesting_that_a_state_could_not_read_is_refused() -> None:
    value: object = "core"
    for _ in range(200):
        value = [value]
    assert "nested deeper" in refusal(Any, value)


def test_a_type_without_a_schema_is_refused_when_its_codec_is_made() -> None:
    with pytest.raises(CannotStore, match="pydantic has no schema for it"):
        codec_for(range)


class Unfinished(BaseModel):
    next: "Nowhere"  # type: ignore[name-defined]  # noqa: F821  # the mistake


def test_a_type_that_names_an_unknown_type_is_refused() -> None:
    assert "is not fully defined" in refusal(Unfinished, None)


def test_the_check_can_be_switched_off() -> None:
    data = TypedCodec(Login, verify=False).dump(Login(user="a"), "login")
    assert b"geheim" not in data


def test_aliases_and_computed_fields_are_not_stored() -> None:
    assert codec_for(Area).dump(Area(SIDE=3), "area") == b'{"side":3}'


def test_p10_a_set_may_come_back_in_another_order() -> None:
    large = set(range(100))
    large -= {*range(100)} - {1, 8}  # keeps its large table, and so the order 1, 8; a new set has 8, 1
    data = codec_for(set[int]).dump(large, "numbers")
    assert codec_for(set[int]).load(data) == {1, 8}
    assert "does not come back the same" in refusal(Drifting, Drifting(words=["a"]))


class Cached(BaseModel):
    x: int
    cache: Point | None = Field(default=None, exclude=True)


def test_fields_that_a_model_excludes_are_not_stored() -> None:
    codec = codec_for(Cached)
    assert codec.load(codec.dump(Cached(x=1, cache=Point(x=2)), "cached")) == Cached(x=1)


def test_a_value_can_be_converted_into_the_type() -> None:
    assert codec_for(Point).convert({"x": 1}, "answer") == Point(x=1)
    with pytest.raises(CannotStore, match="answer cannot be stored: it is no valid Point"):
        codec_for(Point).convert({"y": 1}, "answer")


def test_p11_stored_bytes_choose_no_class() -> None:
    evil = b'{"x":1,"__class__":"os.system","py/object":"os.system"}'
    assert type(codec_for(Point).load(evil)) is Point


def test_a_lenient_type_is_read_as_what_it_is_stored_as() -> None:
    lenient = Annotated[list[str], BeforeValidator(lambda value: value.split() if isinstance(value, str) else value)]
    assert codec_for(lenient).load(codec_for(lenient).dump(["a", "b"], "words")) == ["a", "b"]


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    born: date
    at: Point | None = Field(default=None, alias="AT")


class Lion(Cat):
    prides: int = 1


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    weight: Annotated[Decimal, PlainSerializer(float)]


Pets: Any = Annotated[Cat | Dog, Discriminator("kind")]
BORN = date(2020, 2, 29)


@pytest.mark.parametrize("verify", [True, False], ids=["checked", "unchecked"])
@pytest.mark.parametrize("pet", [Cat(born=BORN, AT=Point(x=1)), Dog(weight=Decimal("0.5"))], ids=["cat", "dog"])
def test_a_member_of_a_tagged_union_is_stored_as_the_union_says(pet: Cat | Dog, *, verify: bool) -> None:
    codec = TypedCodec(Pets, verify=verify)
    data = codec.dump(pet, "pet")
    assert data == TypeAdapter(Pets).dump_json(pet, by_alias=False, round_trip=True)
    assert codec.load(data) == pet


def test_what_a_subclass_of_a_member_adds_is_refused_where_it_is_checked_and_left_out_elsewhere() -> None:
    lion = Lion(born=BORN)
    assert "does not declare" in refusal(Pets, lion)
    assert TypedCodec(Pets, verify=False).dump(lion, "pet") == codec_for(Pets).dump(Cat(born=BORN), "pet")


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (Annotated[int, "a note"], "int"),
        (int | None, "int or None"),
        (Optional[int], "int or None"),  # noqa: UP045  # the older form
        (list[int], "list[int]"),
        (Literal["a", "b"], "Literal['a', 'b']"),
    ],
)
def test_a_type_is_named_as_its_users_write_it(kind: Any, name: str) -> None:
    with pytest.raises(CannotStore, match=re.escape(f"it is no valid {name}: ")) as caught:
        codec_for(kind).convert(object(), "it")
    assert "pydantic.dev" not in str(caught.value)


def test_what_is_missing_is_said_without_what_is_there() -> None:
    class Pair(BaseModel):
        first: int
        second: int

    with pytest.raises(CannotStore, match=r"no valid Pair: first: Field required; second: .*, but it is 'x'$"):
        codec_for(Pair).convert({"second": "x"}, "it")


class Ginger(BaseModel):
    name: str


class Grey(BaseModel):
    name: str


@pytest.mark.parametrize(
    ("kind", "first"), [(Ginger | Grey, Ginger), (Grey | Ginger, Grey)], ids=["ginger first", "grey first"]
)
def test_the_order_of_a_union_counts(kind: Any, first: type[BaseModel]) -> None:
    assert type(codec_for(kind).load(b'{"name":"Tom"}')) is first


def test_a_type_has_the_schema_of_what_is_stored() -> None:
    form = create_model("Form", ok=(bool, Field(alias="isOk")))
    found = codec_for(form).schema
    assert found is not None
    assert found["properties"] == {"ok": {"title": "Ok", "type": "boolean"}}


def test_the_summary_of_a_type_tells_types_of_one_name_apart() -> None:
    one, other = create_model("Form", ok=(bool, ...)), create_model("Form", ok=(bool, ...), why=(str, object()))
    assert codec_for(one).summary == codec_for(create_model("Form", ok=(bool, ...))).summary
    assert codec_for(one).summary[0] == codec_for(other).summary[0] == "Form"
    assert codec_for(one).summary != codec_for(other).summary


def test_a_type_without_a_json_schema_has_a_name_only() -> None:
    def refuse(*_: object) -> Any:
        raise RuntimeError("there is none")

    odd = Annotated[int, WithJsonSchema({"type": "integer"})]
    assert codec_for(odd).summary[1]
    assert TypedCodec(cast("type[int]", Annotated[int, GetPydanticSchema(None, refuse)])).summary == ("int", "")
