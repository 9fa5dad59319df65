"""Splitting: limits, order, no lost word, right markers, and what is never cut."""

import re
from collections.abc import Sequence

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from tests._examples import law
from tests.service.channels._cases import answers

from stagepost.service.channels._flow import Flow, Piece
from stagepost.service.channels._rendering import PLAIN, WHATSAPP, Markup, rendered
from stagepost.service.channels._splitting import Marked, beginning, split
from stagepost.service.channels._summary import summary

MARKER = re.compile(r" \((\d+)/(\d+)\)$")
limits = st.integers(110, 700)
boundaries = st.sampled_from(("sentence", "paragraph"))


def graphemes(text: str) -> list[str]:
    return [one for one in regex.findall(r"\X", text) if not one.isspace()]


def unmarked(parts: Sequence[Marked]) -> list[str]:
    return [part.text if part.marker is None else part.text.removesuffix(f" {part.marker}") for part in parts]


@law(60, 2000)
@given(answers, limits, boundaries, st.sampled_from((PLAIN, WHATSAPP)))
def test_parts_are_short_in_order_and_complete(text: str, limit: int, at: str, markup: Markup) -> None:
    flow = rendered(text, markup)
    parts = split(flow, limit, at=at)
    assert all(0 < len(part.text) <= limit for part in parts)
    assert " ".join(unmarked(parts)).split() == flow.text.split()
    if len(parts) == 1:
        assert parts[0].marker is None
        return
    for number, part in enumerate(parts, 1):
        assert part.marker == f"({number}/{len(parts)})"
        assert MARKER.search(part.text)


@law(60, 2000)
@given(answers, limits, boundaries)
def test_links_blocks_of_code_and_graphemes_are_not_cut(text: str, limit: int, at: str) -> None:
    flow = rendered(text)
    texts = unmarked(split(flow, limit, at=at))
    for begin, end in flow.whole:
        if end - begin <= limit - 10:
            assert any(flow.text[begin:end] in part for part in texts)
    assert [one for part in texts for one in graphemes(part)] == graphemes(flow.text)


@law(60, 2000)
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=600), st.integers(60, 200), boundaries)
def test_any_text_can_be_split(text: str, limit: int, at: str) -> None:
    flow = Flow.of([Piece(text)])
    parts = unmarked(split(flow, limit, at=at))
    assert all(len(part) <= limit for part in parts)
    assert "".join("".join(parts).split()) == "".join(flow.text.split())


def test_a_text_of_ten_parts_and_more_has_wider_markers_within_the_limit() -> None:
    flow = Flow(" ".join(f"Sentence number {number:03}." for number in range(60)))
    parts = split(flow, 130, at="sentence")
    assert len(parts) > 9
    assert parts[9].text.endswith(f" (10/{len(parts)})")
    assert max(len(part.text) for part in parts) <= 130


def test_an_sms_of_3500_characters_has_three_parts_that_end_with_sentences() -> None:
    sentence = "You worked eight hours on the website that day. "
    text = (sentence * 80)[:3499].rsplit(".", 1)[0] + "."
    parts = split(Flow(text), 1600, at="sentence")
    assert [part.marker for part in parts] == ["(1/3)", "(2/3)", "(3/3)"]
    assert all(text.endswith(".") for text in unmarked(parts))


def test_paragraphs_come_before_sentences_where_a_channel_wants_them() -> None:
    flow = Flow("One. Two. Three.\n\nFour is the second. " + "And so on. " * 6)
    assert unmarked(split(flow, 40, at="paragraph"))[0] == "One. Two. Three."
    assert unmarked(split(flow, 40, at="sentence"))[0] == "One. Two. Three."
    long = Flow("A first. " * 8 + "\n\nB. " + "Another one. " * 8)
    assert unmarked(split(long, 100, at="paragraph"))[0] == ("A first. " * 8).strip()


def test_a_sentence_ends_without_a_space_in_japanese() -> None:
    parts = unmarked(split(Flow("今日は八時間働きました。" * 12), 60, at="sentence"))
    assert all(part.endswith("。") for part in parts)


def test_a_word_that_is_too_long_is_cut_between_graphemes() -> None:
    family = "👩‍👩‍👧‍👦"
    parts = unmarked(split(Flow(family * 40), 60, at="sentence"))
    assert "".join(parts) == family * 40
    assert all(len(part) % len(family) == 0 for part in parts)


def test_a_grapheme_longer_than_a_part_is_cut_at_last() -> None:
    monster = "a" + "\u0301" * 300
    parts = unmarked(split(Flow(monster), 100, at="sentence"))
    assert "".join(parts) == monster


@pytest.mark.parametrize(
    "code",
    ["\n".join(f"row_{number} = {number}" for number in range(30)), "x " * 200, "x" * 400],
    ids=["lines", "words", "one word"],
)
def test_a_block_of_code_longer_than_a_part_is_cut_between_its_lines(code: str) -> None:
    flow = rendered(f"Before.\n\n```\n{code}\n```\n\nAfter.")
    parts = unmarked(split(flow, 120, at="sentence"))
    assert "".join("".join(parts).split()) == "".join(flow.text.split())
    if "row_" in code:
        assert all(
            line.strip() in {"", "Before.", "After."} or re.fullmatch(r"row_\d+ = \d+", line.strip())
            for part in parts
            for line in part.split("\n")
        )


def test_a_block_of_code_keeps_its_indentation_at_the_beginning_of_a_part() -> None:
    flow = rendered("Words. " * 12 + "\n\n```\n    indented = 1\n    more = 2\n```")
    assert unmarked(split(flow, 100, at="sentence"))[-1].startswith("    indented = 1\n    more = 2")


def test_code_in_a_line_is_not_cut_at_its_spaces() -> None:
    flow = rendered("x`  a  b  c  d `" * 12)
    parts = unmarked(split(flow, 60, at="sentence"))
    assert len(parts) > 1
    assert "".join(parts) == flow.text


def test_the_beginning_ends_with_a_sentence() -> None:
    assert beginning(Flow("One two three. Four five six."), 20) == "One two three."
    assert beginning(Flow("short"), 20) == "short"


def test_a_summary_has_the_first_sentence_of_each_paragraph() -> None:
    flow = Flow("First of all. More.\n\nSecond thing! More of it.\n\nThird, which is long, has no room.")
    assert summary(flow, 30) == "First of all.\nSecond thing!"
    assert summary(Flow("- Mon: 8 hours for Tide. More.\n- Tue: 7 hours."), 90) == "- Mon: 8 hours for Tide."
    assert summary(Flow("Two things:\n- one\n- two"), 90) == "Two things:\n- one"
    assert summary(Flow("word " * 50), 20) == "word word word word"
