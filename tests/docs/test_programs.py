"""docs/programs.md shows the language as its tables have it."""

from tests.docs._programs import BEGIN, END, PAGE, language


def test_the_page_has_the_language_as_its_tables_say() -> None:
    written = PAGE.read_text().split(BEGIN)[1].split(END)[0]
    assert written.strip() == language(), "run python -m tests.docs._programs"
