import pytest
from dependency_audit.words import counted, listed, sized


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b"], "a and b"),
        (["a", "b", "c"], "a, b and c"),
        (["a", "b", "c", "d"], "a, b, c and 1 more"),
    ],
)
def test_long_lists_name_three_and_count_the_rest(names: list[str], text: str) -> None:
    assert listed(names) == text


@pytest.mark.parametrize(("number", "text"), [(0, "0 files"), (1, "1 file"), (1200, "1,200 files")])
def test_a_noun_agrees_with_its_number(number: int, text: str) -> None:
    assert counted(number, "file") == text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (9949, "9.9 kB"),
        (9950, "10 kB"),
        (999499, "999 kB"),
        (999500, "1.0 MB"),
        (34000000, "34 MB"),
        (1500000000, "1.5 GB"),
        (2000000000000, "2,000 GB"),
    ],
)
def test_sizes_have_two_digits_or_more_and_never_a_thousand_of_a_unit(size: int, text: str) -> None:
    assert sized(size) == text
