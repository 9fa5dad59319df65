import pytest

from stagepost.hub import HubError, InvalidName, check_name


@pytest.mark.parametrize("name", ["a", "order-desk", "A_1", "x" * 100, "-", "0"])
def test_letters_digits_underscore_and_hyphen_make_a_name(name: str) -> None:
    assert check_name("agent id", name) == name


@pytest.mark.parametrize(
    "name",
    ["", "x" * 101, "a b", "a.b", "a/b", "ä", "a\n", "٣", None, 7, b"a"],
    ids=["empty", "long", "space", "dot", "slash", "umlaut", "newline", "foreign digit", "none", "int", "bytes"],
)
def test_anything_else_is_refused(name: object) -> None:
    with pytest.raises(InvalidName, match="not a valid step name: use 1 to 100 of the characters") as caught:
        check_name("step name", name)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, HubError)
    assert caught.value.name == name
    assert caught.value.kind == "step name"


def test_a_huge_name_does_not_make_a_huge_message() -> None:
    with pytest.raises(InvalidName) as caught:
        check_name("agent id", "x" * 100_000)
    assert len(str(caught.value)) < 300
