import pytest

from stagepost.agents._prompts._template import filled, unknown_variables, variables_of


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        ("", ()),
        ("On {{ day }} in {{city}}, {{day}} again", ("day", "city")),
        ('{"a": {"b": {{"c": 1}}}} {one} {{}} {{1st}} {{a b}} {{a.b}} {{a-b}}', ()),
        ("{{{city}}}", ("city",)),
    ],
    ids=["empty", "names", "no-names", "three-braces"],
)
def test_a_variable_is_a_name_in_double_braces(text: str, variables: tuple[str, ...]) -> None:
    assert variables_of(text) == variables
    assert unknown_variables(text, ()) == variables
    assert unknown_variables(text, variables) == ()
    if not variables:
        assert filled(text, {}) == text


def test_what_a_value_contains_is_not_read_again() -> None:
    assert filled("{{a}} {{ b }} {{{a}}}", {"a": "{{b}}", "b": "\\1 {{a}}"}) == "{{b}} \\1 {{a}} {{{b}}}"
