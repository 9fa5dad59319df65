"""Signatures: read, written, made of models, and what they let pass."""

import pickle
import string
from contextlib import suppress
from typing import Any, ClassVar, Literal, NotRequired

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, TypeAdapter
from pydantic import Field as Described
from typing_extensions import TypedDict

from stagepost.programs import (
    Field,
    InvalidSignature,
    Keyword,
    Kind,
    ListOf,
    MapOf,
    Maybe,
    Signature,
    Type,
    Validation,
)


def types() -> st.SearchStrategy[Type]:
    names = st.from_regex(r"_?[a-z][a-z0-9]{0,4}(_[a-z0-9]{1,3})?", fullmatch=True)

    def wider(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        plain = st.one_of(
            inner.map(ListOf),
            st.lists(st.builds(Field, names, inner), max_size=4, unique_by=lambda field: field.name).map(
                lambda fields: MapOf(tuple(fields))
            ),
        )
        return st.one_of(plain, plain.map(Maybe))

    kinds = st.sampled_from(Kind)
    return st.recursive(st.one_of(kinds, kinds.map(Maybe)), wider, max_leaves=8)


def signatures() -> st.SearchStrategy[Signature]:
    return types().map(
        lambda made: Signature(made.fields if isinstance(made, MapOf) else (Field("given", made),), made)
    )


@given(signatures())
def test_a_signature_that_was_written_is_read_as_the_same(signature: Signature) -> None:
    assert Signature.parse(str(signature)) == signature


@given(signatures())
def test_a_signature_that_became_types_comes_back_as_the_same(signature: Signature) -> None:
    back = Signature.of(signature.output_type, params=signature.input_type)
    assert str(back) == str(signature).replace("{}", ":map")


@given(st.text(alphabet=string.ascii_lowercase + ':[]{}()?->, "\n;_', max_size=40))
def test_any_text_is_a_signature_or_an_error(text: str) -> None:
    with suppress(InvalidSignature):
        assert str(Signature.parse(text))


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (":any", ":any"),
        ("() -> :any", ":any"),
        ("{}", "{}"),
        ("[{}]", "[{}]"),
        ("{email :string?}", "{email :string?}"),
        ("{:email :string?}", "{email :string?}"),
        ("{a :int b [:string]?}", "{a :int, b [:string]?}"),
        ("(a :int,b {c :int}?)->:map", "(a :int, b {c :int}?) -> :map"),
        ("{:order-count :int}  ; how many", "{order_count :int}"),
        ("{_secret :string}", "{_secret :string}"),
    ],
)
def test_both_spellings_are_read(text: str, written: str) -> None:
    assert str(Signature.parse(text)) == written


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "a type is expected"),
        ("[]", "write `[:any]`"),
        (":list", "write `[:type]`"),
        (":array", "write `[:type]`"),
        (":tuple", "write `{field :type}` or `:map`"),
        (":object", "write `{field :type}` or `:map`"),
        (":strin", "there is no type `:strin`"),
        ("(a :int)", "`->` and the returned type"),
        ("{a :int", "expected, found the end"),
        ("{a :int a :int}", "the name a is used twice"),
        ("[:int :int]", "a list has one type"),
        (":int :int", "should have ended here, found `:int` at line 1, column 6"),
        ("{a\n :int b}", "found `}` at line 2, column 8"),
        (":int ! ", "`!` means nothing at line 1, column 6"),
        (":int??", "should have ended here"),
        ("[" * 70 + ":int" + "]" * 70, "nested more than 64 deep"),
    ],
)
def test_what_cannot_be_read_says_where_and_what_to_write(text: str, told: str) -> None:
    with pytest.raises(InvalidSignature) as refused:
        Signature.parse(text)
    assert told in str(refused.value)


class Customer(BaseModel):
    id: int
    name: str | None = Described(default=None, description="as on the invoice")


class Report(BaseModel):
    total: float
    customers: list[Customer]
    notes: dict[str, str] = {}
    extra: Any = None
    tag: Keyword | None = None

    model_config: ClassVar[ConfigDict] = {"arbitrary_types_allowed": True}


def test_models_become_signatures_with_their_descriptions() -> None:
    signature = Signature.of(Report, params=Customer)
    assert str(signature) == (
        "(id :int, name :string?) -> "
        "{total :float, customers [{id :int, name :string?}], notes :map?, extra :any?, tag :keyword?}"
    )
    assert signature.params[1].description == "as on the invoice"
    schema = TypeAdapter(signature.input_type).json_schema()
    assert schema["properties"]["name"]["description"] == "as on the invoice"
    assert Signature.of(None | list[int], params=signature.input_type).params[1].description == "as on the invoice"


class Looping(BaseModel):
    inner: "list[Looping]"


class Chosen(BaseModel):
    either: int | str


class Named(TypedDict):
    choice: NotRequired[Literal["a"]]


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (Chosen, "returns.either"),
        (Named, "returns.choice"),
        (tuple[int, str], "returns"),
        (int | str, "no union but with None"),
        (Looping, "returns.inner[]: Looping refers to itself"),
    ],
)
def test_what_has_no_form_names_the_field(made: Any, told: str) -> None:
    with pytest.raises(InvalidSignature) as refused:
        Signature.of(made)
    assert told in str(refused.value)


ORDERS = Signature.parse("(limit :int?) -> {results [{customer {id :int}, amount :float, tag :keyword?}], done :bool}")


def orders(**changed: Any) -> dict[str, Any]:
    return {"results": [{"customer": {"id": 1}, "amount": 2} | changed], "done": True}


def test_a_value_that_fits_is_left_as_it_is() -> None:
    checked = ORDERS.check_output(orders())
    assert (checked.valid, checked.value, checked.warnings) == (True, orders(), ())
    assert type(checked.value["results"][0]["amount"]) is int


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (orders(customer={"id": "abc"}), 'results[0].customer.id: expected int, got string "abc"'),
        (orders(customer={"id": True}), "results[0].customer.id: expected int, got bool true"),
        (orders(customer={"id": Keyword("abc")}), "results[0].customer.id: expected int, got keyword :abc"),
        (orders(amount=None), "results[0].amount: expected float, got nil"),
        (orders(amount="3.5"), 'results[0].amount: expected float, got string "3.5"'),
        (orders(tag=5), "results[0].tag: expected keyword, got int 5"),
        (orders(customer=[]), "results[0].customer: expected map, got list"),
        ({"done": True}, "results: expected field, got nil"),
        ({"results": {}, "done": True}, "results: expected list, got map"),
        (7.5, "expected map, got float 7.5"),
        ({"results": [], "done": 10**50}, "done: expected bool, got int"),
        ({"results": [], "done": "x" * 50}, f'done: expected bool, got string "{"x" * 40}…"'),
    ],
)
def test_errors_say_where_and_what(value: Any, told: str) -> None:
    assert ORDERS.check_output(value).errors == (told,)


def test_a_keyword_is_no_text_and_a_text_may_be_a_keyword() -> None:
    assert Signature.parse(":string").check_output(Keyword("a")).errors == ("expected string, got keyword :a",)
    assert ORDERS.check_output(orders(tag="a")).valid
    assert ORDERS.check_output(orders(tag=Keyword("a"))).valid


def test_many_errors_are_cut() -> None:
    errors = Signature.parse("[:int]").check_output(["x"] * 30).errors
    assert len(errors) == 21
    assert errors[-1] == "and 10 more"


def test_modes_differ_in_what_they_refuse() -> None:
    extra, wrong = orders() | {"more": 1}, orders(amount="x")
    assert ORDERS.check_output(extra).valid
    assert ORDERS.check_output(extra, Validation.STRICT).errors == ("more: expected no such field, got int 1",)
    assert ORDERS.check_input({"more": 1}, Validation.STRICT).errors == ("more: expected no such field, got int 1",)
    warned = ORDERS.check_output(wrong, Validation.WARN)
    assert warned.valid
    assert warned.warnings == ('results[0].amount: expected float, got string "x"',)
    assert ORDERS.check_output(wrong, Validation.OFF).valid
    assert ORDERS.check_input({"limit": "x"}, Validation.OFF).value == {"limit": "x"}


GIVEN = Signature.parse("(n :int, f :float, b :bool, s :string, k :keyword, l [:int]?, m {x :int}?) -> :any")


def test_inputs_are_coerced_with_a_warning() -> None:
    given: dict[str, Any] = {"n": "42", "f": "3.14", "b": "true", "s": Keyword("a"), "k": "b", "l": ["1", 2]}
    given["m"] = {"x": "-1", "y": "2"}
    checked = GIVEN.check_input(given)
    assert checked.valid
    assert checked.value == {
        "n": 42,
        "f": 3.14,
        "b": True,
        "s": "a",
        "k": Keyword("b"),
        "l": [1, 2],
        "m": {"x": -1, "y": "2"},
    }
    assert checked.warnings[0] == 'n: coerced string "42" to int'
    assert checked.warnings[3] == "s: coerced keyword :a to string"
    assert checked.warnings[5:] == ('l[0]: coerced string "1" to int', 'm.x: coerced string "-1" to int')


def test_integers_become_floats_without_a_warning() -> None:
    checked = Signature.parse("(f :float) -> :any").check_input({"f": 1})
    assert repr(checked.value) == "{'f': 1.0}"
    assert checked.warnings == ()


@pytest.mark.parametrize("value", ["4x", "", "1_000", Keyword("a"), 10**400])
def test_what_is_not_certainly_a_number_is_refused(value: Any) -> None:
    assert not Signature.parse("(f :float) -> :any").check_input({"f": value}).valid


def test_hyphens_become_underscores_at_each_level() -> None:
    signature = Signature.parse("(order-count :int) -> {the-list [{an-id :int}]}")
    assert signature.check_input({"order-count": 1}).value == {"order_count": 1}
    checked = signature.check_output({Keyword("the-list"): ({"an-id": 1},)})
    assert checked.value == {"the_list": [{"an_id": 1}]}
    assert signature.check_input({"order-count": "x", "order_count": 2}).value == {"order_count": 2}


def test_a_correction_tells_what_was_expected_and_what_came() -> None:
    text = ORDERS.correction(ORDERS.check_output({"results": "x" * 300, "done": True}))
    assert "Expected: {results [" in text
    assert len(max(text.splitlines(), key=len)) < 220
    assert "- results: expected list, got string" in text
    assert "(return ...)" in text


def test_a_signature_of_models_writes_keywords_as_texts() -> None:
    made = Signature.parse("{tag :keyword}").output_type
    adapter = TypeAdapter(made)
    assert adapter.dump_json(adapter.validate_json('{"tag": "a"}')) == b'{"tag":"a"}'


def test_an_any_map_has_texts_as_keys() -> None:
    assert Signature.parse(":map").check_output({1: 2}).valid


def test_a_keyword_equals_keywords_of_its_name_only() -> None:
    assert Keyword("a") == Keyword("a") != "a"
    assert {Keyword("a"): 1, "a": 2}[Keyword("a")] == 1
    assert pickle.loads(pickle.dumps(Keyword("a"))) == Keyword("a")  # noqa: S301 - its own
    assert (f"{Keyword('a')}", repr(Keyword("a"))) == (":a", "Keyword('a')")
