import pytest

from stagepost.agents._tools._docstring import parse_docstring

FULL = """Send a mail.

    It is sent at once.

    Args:
        to: Who gets it.
        body (str): What it says,
            in plain text: no markup.

            Long ones are cut.
        *others: More.
    Returns:
        nothing: at all
    """


def test_a_description_ends_where_the_sections_begin() -> None:
    assert parse_docstring(FULL).description == "Send a mail.\n\nIt is sent at once."


def test_parameters_are_described_over_several_lines() -> None:
    assert parse_docstring(FULL).parameters == {
        "to": "Who gets it.",
        "body": "What it says, in plain text: no markup. Long ones are cut. *others: More.",
    }


@pytest.mark.parametrize(
    ("text", "description"),
    [
        (None, ""),
        ("", ""),
        ("One line.", "One line."),
        ("Args:\n    x: only", ""),
        ("Note: this stays.", "Note: this stays."),
    ],
    ids=["none", "empty", "line", "arguments only", "no heading"],
)
def test_short_docstrings(text: str | None, description: str) -> None:
    assert parse_docstring(text).description == description


def test_an_argument_section_of_another_form_is_left_out() -> None:
    assert parse_docstring("Do.\n\nArgs:\n    just prose\n").parameters == {}
