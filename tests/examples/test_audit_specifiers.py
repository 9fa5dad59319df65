import pytest
from dependency_audit.specifiers import excludes
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet

NUMBERS = st.lists(st.integers(0, 4), min_size=1, max_size=4).map(lambda parts: ".".join(map(str, parts)))
PLAIN = st.tuples(st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), NUMBERS).map("".join)
SERIES = st.tuples(st.sampled_from(["==", "!="]), NUMBERS, st.just(".*")).map("".join)
COMPATIBLE = st.tuples(st.just("~="), NUMBERS, st.just(".1")).map("".join)
SPECIFIERS = st.lists(st.one_of(PLAIN, SERIES, COMPATIBLE), min_size=1, max_size=3).map(" , ".join)


@given(SPECIFIERS, NUMBERS)
def test_releases_are_let_in_as_the_reference_implementation_does(specifier: str, python: str) -> None:
    assert excludes(specifier, python) is not SpecifierSet(specifier).contains(python)


@pytest.mark.parametrize("specifier", ["", "nonsense", "===3.8", ">=4.0a1", "~=4", "<=3.*", f">={'9' * 5000}", "4"])
def test_a_clause_of_another_form_rules_nothing_out(specifier: str) -> None:
    assert not excludes(specifier, "3.12.1")


def test_a_clause_counts_beside_one_of_another_form() -> None:
    assert excludes("nonsense,<3", "3.12.1")


@pytest.mark.parametrize(("python", "excluded"), [("3.14.0rc1", True), ("3.12.1+", False), ("trunk", False)])
def test_what_follows_the_numbers_of_a_version_is_ignored(python: str, excluded: bool) -> None:  # noqa: FBT001
    assert excludes("<3.14", python) is excluded
