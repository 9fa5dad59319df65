"""What counts as one character, in programs and in channels."""

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests._examples import law
from tests._needs import need

need("cachetools", "limits", "linkify_it", "markdown_it", "re2", "regex", "yaml")

from stagepost._graphemes import grapheme_ends  # noqa: E402  # after the check of what they need
from stagepost.programs import run_sync  # noqa: E402
from stagepost.service.channels._branding import without_emoji  # noqa: E402

CASES = {
    "flag": ("🇩🇪", 1),
    "flags": ("🇩🇪🇫🇷🇮🇹", 3),
    "half a flag": ("🇩🇪🇫", 2),
    "a flag after a line break": ("\n🇩🇪", 2),
    "a flag after CRLF": ("\r\n🇩🇪", 2),
    "a flag with a mark": ("🇩🇪\u0301", 1),
    "a flag of tags": ("🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", 1),
    "family": ("👨\u200d👩\u200d👧\u200d👦", 1),
    "two families": ("👨\u200d👩\u200d👧👨\u200d👩\u200d👧", 2),
    "skin": ("👍🏽", 1),
    "keycap": ("1\ufe0f\u20e3", 1),
    "Hangul": ("각가", 2),
    "Hangul in parts": ("\u1100\u1161\u11a8\u1100\u1161", 2),
    "combining marks": ("e\u0301a\u0301\u0302", 2),
    "a mark alone": ("\n\u0301", 2),
    "Devanagari": ("क्षि", 1),
    "CRLF": ("a\r\nb", 3),
    "LF CR": ("\n\r", 2),
    "empty": ("", 0),
}


@pytest.mark.parametrize(("text", "count"), CASES.values(), ids=CASES)
def test_graphemes_are_what_readers_take_for_one_character(text: str, count: int) -> None:
    assert len(list(grapheme_ends(text))) == count
    assert run_sync("(count data/x)", data={"x": text}).value == count
    assert run_sync("(count (vec data/x))", data={"x": text}).value == count


@law(100, 2000)
@given(st.text(st.sampled_from("ab\r\n🇩🇪\u0301\u200d👨🏽\u1100\u1161क्"), max_size=30))
def test_graphemes_are_the_text_and_none_is_empty(text: str) -> None:
    ends = [0, *grapheme_ends(text)]
    assert ends == sorted(set(ends))
    assert ends[-1] == len(text)


def longest(act: Callable[[int], object], few: int, many: int) -> float:
    """How many times as long many take as few, in processor time; the least of some tries."""

    def cost(count: int) -> float:
        begun = time.process_time()
        act(count)
        return time.process_time() - begun

    return min(cost(many) / max(cost(few), 1e-6) for _ in range(4))


@pytest.mark.parametrize(
    "act",
    [
        lambda count: list(grapheme_ends("🇩" * count)),
        lambda count: list(grapheme_ends("\u0600" + "🇩" * count)),
        lambda count: without_emoji("🇩" * count),
    ],
    ids=["flags", "after a mark", "emoji"],
)
def test_very_many_flags_take_linear_time(act: Callable[[int], object]) -> None:
    assert longest(act, 2_000, 40_000) < 150  # 20 times as many; if it were quadratic, 400 times
