from typing import Any

import pytest

from stagepost.agents import tool
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


NUMPY = """Send a mail.

    It is sent at once.

    Parameters
    ----------
    to : str
        Who gets it.
    body, footer : str, optional
        What it says,
        in plain text.

        Long ones are cut.
    copy
    Returns
    -------
    str
        The id.

    Other Parameters
    ----------------
    later : bool
        Whether it may wait.

    See Also
    --------
    call : Something else.
    """

SPHINX = """Send a mail.

    It is sent at once, see :class:`Mail`.

    :param to: Who gets it.
    :param str body: What it says,
        in plain text.

        Long ones are cut.
    :type body: str
    :param dict[str, int] counts: How many
    :keyword later: Whether it may wait.
    :param copy:
    :returns: The id of
        the mail.
    :raises ValueError: It is too long.

    That is all.
    """

LONG = "What it says, in plain text. Long ones are cut."


def test_numpys_style_is_read() -> None:
    said = parse_docstring(NUMPY)
    assert said.description == "Send a mail.\n\nIt is sent at once."
    later = "Whether it may wait."
    assert said.parameters == {"to": "Who gets it.", "body": LONG, "footer": LONG, "copy": "", "later": later}


def test_sphinxs_style_is_read() -> None:
    said = parse_docstring(SPHINX)
    assert said.description == "Send a mail.\n\nIt is sent at once, see :class:`Mail`."
    assert said.parameters == {
        "to": "Who gets it.",
        "body": LONG,
        "counts": "How many",
        "later": "Whether it may wait.",
        "copy": "",
    }


@pytest.mark.parametrize("docstring", [FULL, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_the_model_reads_what_any_style_says_of_a_parameter(docstring: str) -> None:
    def send(to: str, body: str) -> None: ...

    send.__doc__ = docstring
    properties: Any = tool(send).schema.parameters["properties"]
    assert properties["to"] == {"type": "string", "description": "Who gets it."}
    assert properties["body"]["description"].startswith("What it says, in plain text")


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        ("Do.\n\nKeyword Args:\n    x: one", {"x": "one"}),
        ("Do.\n\nParameters\n----------\njust prose\n    and more", {}),
        ("Do.\n\nParameters\nthat stand in a sentence", {}),
        ("Do.\n\n:param x: one\ntwo\n\nthree", {"x": "one two"}),
        ("Do.\n\n:param: nothing\n:raises: nothing", {}),
        (r"Do.\n\n:param \*x: one".replace(r"\n", "\n"), {"x": "one"}),
    ],
    ids=["keywords", "prose below", "no rule", "a new paragraph", "no names", "escaped star"],
)
def test_odd_sections_are_read_as_far_as_they_can_be(text: str, parameters: dict[str, str]) -> None:
    assert parse_docstring(text).parameters == parameters
