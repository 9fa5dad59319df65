"""A text that comes in pieces is masked as the whole of it would be, whatever the cuts."""

import json
from collections.abc import Callable, Sequence
from html import escape
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests._examples import law

from stagepost.workflows import Mask

KEY = "sk-9f3bQ7xZ01uA4c8e"
OTHER = "pä$$ w/\"örd'\\<&1>"
PEM = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\nAb3x+Q==\n-----END KEY-----\n"
SECRETS: dict[str, Sequence[str]] = {
    "none": [],
    "a key": [KEY],
    "a password": [OTHER],
    "of several lines": [PEM],
    "short lines": ["nt\nr\nab c\ndef"],
    "little but escapes": ["%41%42%43"],
    "backslashes around it": ["\\abc123\\", "share\\\\"],
    "digits at its start": ["41secret%4", "C3BCkey&am"],
    "each in another": ["abcabcabcabcab", "bcabca", "caabcabcabcabca"],
    "several": [KEY, OTHER, PEM],
}
WAYS: Sequence[Callable[[str], str]] = (
    lambda text: text,
    lambda text: json.dumps(text)[1:-1],
    lambda text: json.dumps(json.dumps(text)),
    lambda text: repr(text.encode()),
    lambda text: "".join(f"\\u{ord(letter):04x}" for letter in text),
    lambda text: "".join(f"%{byte:02x}" for byte in text.encode()),
    quote,
    quote_plus,
    escape,
    lambda text: escape(quote(text)),
    lambda text: text.replace("\n", "\r\n"),
    lambda text: text.replace("\n", "\\r\\n   "),
    lambda text: "".join(f"&#{ord(letter)};" for letter in text),
)
SNIPPETS = [
    "\\",
    "\\\\",
    "%",
    "&",
    "&amp;",
    "%25",
    "%5C",
    "\r",
    "\n",
    " ",
    "n",
    "\\r",
    "\\n",
    "u00",
    "\\u00",
    "\\ud83d",
]
SNIPPETS += [
    "\\ude00",
    "%C3",
    "%BC",
    "\\xe2",
    "\\x82",
    "C3",
    "41",
    "x",
    ";",
    "#",
    "{",
    '"',
    "a",
    "abc",
    "an answer ",
    "ä😀",
]
slow = law(25, 600)


@st.composite
def cut_texts(draw: st.DrawFn, secrets: Sequence[str]) -> Sequence[str]:
    """Pieces of a text with secrets, parts of them, and what escapes are made of, cut anywhere."""
    parts = []
    for _ in range(draw(st.integers(1, 6))):
        has_secret = draw(st.booleans())
        if secrets and has_secret:
            way, secret = draw(st.sampled_from(WAYS)), draw(st.sampled_from(secrets))
            secret = way(secret)
            start = draw(st.integers(0, len(secret)) | st.just(0))
            parts.append(secret[start : draw(st.integers(start, len(secret)) | st.just(len(secret)))])
        else:
            parts.append(draw(st.sampled_from(SNIPPETS)))
    text = "".join(parts)
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=20)))
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def told(mask: Mask, pieces: Sequence[str]) -> Sequence[str]:
    stream = mask.stream()
    return [*map(stream.add, pieces), stream.end()]


@pytest.mark.parametrize("name", SECRETS)
def test_what_is_told_is_the_masked_text_whatever_the_cuts(name: str) -> None:
    mask = Mask(SECRETS[name])

    @slow
    @given(cut_texts(SECRETS[name]))
    def check(pieces: Sequence[str]) -> None:
        assert "".join(told(mask, pieces)) == mask("".join(pieces))
        letters = list("".join(pieces))
        assert "".join(told(mask, letters)) == mask("".join(pieces))

    check()


@slow
@given(
    st.data(),
    st.lists(st.text(st.sampled_from("abcn01uxAF\"'\\/%&;#+={} \n\r\tüß-_."), min_size=6, max_size=30), max_size=3),
)
def test_what_is_told_is_the_masked_text_whatever_the_secrets(data: st.DataObject, secrets: list[str]) -> None:
    mask = Mask(secrets)
    pieces = data.draw(cut_texts(secrets))
    assert "".join(told(mask, pieces)) == mask("".join(pieces))


def test_no_part_of_a_secret_is_told_at_any_time() -> None:
    mask = Mask([KEY])
    shown = told(mask, ["the pin is ", *KEY, ", so ", "try it"])
    assert shown == ["the pin is ", *[""] * len(KEY), "***, so ", "try it", ""]


def test_without_secrets_each_piece_is_told_at_once() -> None:
    stream = Mask().stream()
    pieces = ["\\", "%4", "&a", "x" * 3000]
    assert [stream.add(piece) is piece for piece in pieces] == [True] * 4
    assert stream.end() == ""


def test_only_what_may_begin_a_secret_is_held_back() -> None:
    stream = Mask([KEY]).stream()
    pieces = ["My hen", " sk", "ips", " sk-", "9f3", "a", "ß"]
    assert [stream.add(piece) for piece in pieces] == ["My hen", " ", "skip", "s ", "", "sk-9f3a", "ß"]


def test_an_escape_is_held_back_until_it_is_whole() -> None:
    stream = Mask([KEY]).stream()
    pieces = ['{"name": "', "\\", "u", "00", "e", "d", "\\n", "!"]
    assert [stream.add(piece) for piece in pieces] == ['{"name": "', "", "", "", "", "\\u00ed", "\\n", "!"]


def test_a_long_text_that_is_held_back_is_not_searched_with_each_letter() -> None:
    stream = Mask([KEY]).stream()
    assert {stream.add("\\") for _ in range(20_000)} == {""}
    assert stream.end() == "\\" * 20_000
