import pytest
from pydantic import BaseModel

from stagepost.workflows import State, key_equals, key_exists
from stagepost.workflows._state import store


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


def test_predicates_have_names_for_diagrams() -> None:
    assert (key_exists("ok").__name__, key_equals("n", 1).__name__) == ("has ok", "n is 1")
