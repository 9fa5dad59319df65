import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stagepost.agents._mcp._names import tool_name


@pytest.mark.parametrize(
    ("prefix", "name", "made"),
    [
        ("", "get_time", "get_time"),
        ("git_", "git.status", "git_git_status"),
        ("", "répertoire/lire", "r_pertoire_lire"),
        ("", "", "_"),
        ("", "x" * 64, "x" * 64),
    ],
    ids=["as it is", "prefix and dot", "not ASCII", "empty", "longest"],
)
def test_names_are_made_of_what_providers_take(prefix: str, name: str, made: str) -> None:
    assert tool_name(prefix, name) == made


@given(prefix=st.from_regex(r"[a-z_]{0,32}", fullmatch=True), name=st.text(max_size=200))
def test_any_name_becomes_one_that_providers_take(prefix: str, name: str) -> None:
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", tool_name(prefix, name))


def test_long_names_with_one_beginning_stay_different() -> None:
    assert tool_name("", "x" * 80 + "a") != tool_name("", "x" * 80 + "b")
