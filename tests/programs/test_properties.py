"""What holds of all programs and values."""

import math
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from stagepost.programs import AmbiguousKeys, End, Keyword, Limits, plain, run_sync, show
from stagepost.programs._builtins import BUILTINS
from stagepost.programs._compiler._forms import SPECIAL

SMALL = Limits(seconds=None, steps=20_000, memory=1_000_000)
WORDS = sorted({*BUILTINS, *SPECIAL, "&", "%", "x", "y", "recur", "data/rows", "tool/a", "*1", "Math/abs"})

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
keywords = st.from_regex(r"[a-z][a-z0-9_?!-]{0,5}", fullmatch=True).map(Keyword)
floats = st.floats(allow_nan=False).map(lambda value: round(value, 10) if math.isfinite(value) else value)
atoms = st.one_of(st.none(), st.booleans(), st.integers(-(10**30), 10**30), floats, texts, keywords)
values = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.one_of(texts, keywords), inner, max_size=4),
        st.frozensets(st.one_of(texts, keywords, st.integers()), max_size=4),
    ),
    max_leaves=12,
)

leaves = st.one_of(st.sampled_from(WORDS), st.integers(-5, 40).map(str), st.sampled_from(["nil", '"ab"', ":a", "1.5"]))
programs = st.recursive(
    leaves,
    lambda inner: st.builds(
        lambda brackets, items: brackets[0] + " ".join(items) + brackets[1],
        st.sampled_from(["()", "()", "()", "()", "[]", "[]", "{}", ("#(", ")"), ("#{", "}")]),
        st.lists(inner, max_size=5),
    ),
    max_leaves=25,
)


@given(values)
def test_a_printed_value_is_read_as_the_same(value: Any) -> None:
    text = show(value)
    outcome = run_sync(text)
    assert outcome.error is None, (text, str(outcome.error))
    assert show(outcome.value) == text


@given(values)
def test_a_value_goes_through_a_program_unchanged(value: Any) -> None:
    assert show(run_sync("data/x", data={"x": value}).value) == show(value)


@given(values)
def test_any_value_becomes_json_unless_keys_are_one_there(value: Any) -> None:
    try:
        made = plain(value)
    except AmbiguousKeys:
        assume(False)  # there is no JSON of it
    assert plain(made) == made


@settings(max_examples=400, deadline=None)
@given(programs)
def test_any_program_ends_with_a_value_or_an_error(program: str) -> None:
    outcome = run_sync(program, data={"rows": [{"a": 1}]}, limits=SMALL)
    assert (outcome.error is None) == (outcome.end in {End.VALUE, End.RETURN})
    assert "interpreter" not in str(outcome.error)
    show(outcome.value)


@settings(max_examples=400, deadline=None)
@given(
    st.sampled_from(sorted(BUILTINS)),
    st.lists(st.one_of(values, st.sampled_from(["inc", "first", "#(do %)"])), max_size=4),
)
def test_any_call_of_a_function_ends_with_a_value_or_an_error(name: str, arguments: list[Any]) -> None:
    given = " ".join(f"data/a{index}" for index in range(len(arguments)))
    data = {f"a{index}": value for index, value in enumerate(arguments)}
    outcome = run_sync(f"({name} {given})", data=data, limits=SMALL)
    assert "interpreter" not in str(outcome.error)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=40))
def test_any_text_is_a_program_or_an_error(text: str) -> None:
    assert "interpreter" not in str(run_sync(text, limits=SMALL).error)
