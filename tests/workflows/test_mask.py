"""A secret is found whatever its writing, and nothing else of a text changes where it is masked."""

import json
import re
from collections.abc import Callable
from html import escape
from textwrap import indent
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic_core import to_json
from tests._examples import law

from stagepost.workflows import Mask
from stagepost.workflows._values._unescaping import Reading, stages


def lower_hex(text: str) -> str:
    return re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), quote(text, safe=""))


def entities(text: str) -> str:
    return "".join(f"&#{ord(letter)};" if ord(letter) % 2 else f"&#x{ord(letter):X};" for letter in text)


WAYS: dict[str, Callable[[str], str]] = {
    "json": json.dumps,
    "json with letters": lambda text: to_json(text).decode(),
    "json with slashes": lambda text: json.dumps(text).replace("/", "\\/"),
    "repr": repr,
    "repr of bytes": lambda text: repr(text.encode()),
    "url": quote,
    "part of an url": lambda text: quote(text, safe=""),
    "form": quote_plus,
    "lower hex": lower_hex,
    "html": escape,
    "line ends": lambda text: text.replace("\n", "\r\n"),
    "f-string": lambda text: f"<key> = {text} …",
}
LETTERS = st.sampled_from([*"abcn01uxAF\"'\\/%&;#+=<>{} \n\tüß€😀-_.~"])
AROUND = st.sampled_from(
    [("\"'Z", "Z"), ('{"Z\'": "Z', 'Z", "b": [1]}'), ('\'" <a href="Z=', 'Z">Z</Z>\n'), ("'\"\n\tZ(", "Z)")]
)
slow = law(150, 5_000)


@slow
@given(
    LETTERS.map(str) | st.nothing(),
    st.text(LETTERS, min_size=5, max_size=30),
    st.lists(st.sampled_from(sorted(WAYS)), max_size=3),
    AROUND,
)
def test_p11_a_secret_is_found_and_masked_in_any_three_encodings(
    first: str, rest: str, ways: list[str], around: tuple[str, str]
) -> None:
    secret = first + rest
    before, after = around
    text = before + secret + after
    for way in ways:
        text = WAYS[way](text)
    mask = Mask([("it", secret)])
    assert mask.find(text) == "it"
    assert mask.find(mask(text)) is None


@slow
@given(st.text(LETTERS, min_size=6, max_size=30), st.lists(st.sampled_from(sorted(WAYS)), max_size=3), AROUND)
def test_p11_nothing_else_of_a_text_changes(secret: str, ways: list[str], around: tuple[str, str]) -> None:
    secret = secret.strip(" \n\t\\")
    assume(len(secret) >= 6)
    before, after = around
    text, other = before + secret + after, before + "QQQQQQQQ" + after
    for way in ways:
        text, other = WAYS[way](text), WAYS[way](other)
    mask = Mask([secret])
    assert mask(text) == other.replace("QQQQQQQQ", "***")
    assert mask(other) == other


@slow
@given(st.text(max_size=200), st.text(st.sampled_from("QXZ0123456789"), min_size=10, max_size=30))
def test_a_text_without_the_secret_stays_as_it_is(text: str, secret: str) -> None:
    assume(not set("QXZ") & set("".join([text, *stages(text)])))
    assume("Q" in secret)
    assert Mask([f"Q{secret}"])(text) == text


@slow
@given(st.text(LETTERS | st.characters(), max_size=60))
def test_places_are_known_through_all_readings(text: str) -> None:
    reading = Reading(text)
    changes = True
    while changes:
        changes = reading.go_on()
        spans = [reading.origin(at, at + 1) for at in range(len(reading.text))]
        assert spans == sorted(spans)
        assert all(0 <= start < end <= len(text) for start, end in spans)


KEY = "pä$$ w/\"örd'\\<&1>"
WRITTEN = {
    "as it is": KEY,
    "unicode escapes in capitals": "p\\u00E4$$ w/\\u0022\\u00F6rd'\\\\\\u003C\\u00261>",
    "unicode escapes of everything": "".join(f"\\u{ord(letter):04x}" for letter in KEY),
    "escaped slash": json.dumps(KEY).replace("/", "\\/"),
    "repr": repr(KEY),
    "repr of bytes": repr(KEY.encode()),
    "repr of latin-1": repr(KEY.encode("latin-1")),
    "url": quote(KEY),
    "url in latin-1": quote(KEY, encoding="latin-1"),
    "url in lower case": lower_hex(KEY),
    "form": quote_plus(KEY),
    "url twice": quote(quote(KEY)),
    "everything in percents": "".join(f"%{byte:02x}" for byte in KEY.encode()),
    "html": escape(KEY),
    "html twice": escape(escape(KEY)),
    "html with names": escape(KEY).replace("ä", "&auml;").replace("ö", "&ouml;").replace("$", "&dollar;"),
    "html in numbers": entities(KEY),
    "json in json in json": json.dumps({"a": json.dumps({"b": json.dumps([KEY])})}),
    "json in a url in html": escape(quote(json.dumps(KEY))),
    "repr of an error in json": json.dumps(repr(ValueError(f"key {KEY} was refused"))),
    "javascript": KEY.replace("ä", "\\u{e4}").replace("ö", "%u00f6"),
    "python": KEY.replace("ä", "\\U000000e4").replace("ö", "\\xf6"),
}


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN)
def test_p11_a_secret_is_known_as_it_is_written(text: str) -> None:
    mask = Mask([("it", KEY)])
    assert mask.find(f"the key is {text}, is it?") == "it"
    assert re.fullmatch(
        r"the key is [\[{ab\":\\ ]*(ValueError\([\\'\"]*key )?b?[\"'\\]*(&quot;|%22|&#x27;)*\*\*\*.*, is it\?",
        mask(f"the key is {text}, is it?"),
    )


BODY = [
    "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj",
    "MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu",
    "NMoSfm76oqFvAp8Gy0iz5sxjZmSnXyCdPEovGhLa0VzMaQ8s+CLOyS56YyCFGeJZ",
    "Ab3x+Q==",
]
PEM = "\n".join(["-----BEGIN PRIVATE KEY-----", *BODY, "-----END PRIVATE KEY-----", ""])
PEMS = {
    "as it is": PEM,
    "without its last line end": PEM.rstrip("\n"),
    "with another one": PEM + "\n",
    "of windows": PEM.replace("\n", "\r\n"),
    "indented": indent(PEM, "        "),
    "in yaml in json": json.dumps("key: |\n" + indent(PEM, "  ")),
    "in json": json.dumps({"key": PEM}),
    "in json twice": json.dumps(json.dumps({"key": PEM})),
    "of windows in json": json.dumps(PEM.replace("\n", "\r\n")),
    "repr of bytes": repr(PEM.encode()),
    "in one line": PEM.replace("\n", ""),
    "with spaces": PEM.replace("\n", " "),
    "its body": "\n".join(BODY),
    "its body in one line": "".join(BODY),
    "its body in an url": quote("".join(BODY), safe=""),
    "its body indented in json": json.dumps(indent("\n".join(BODY), "    ")),
    "first line": BODY[0],
    "last line": BODY[-1],
    "a line in json": json.dumps([BODY[1]]),
}


@pytest.mark.parametrize(
    "given",
    [PEM, PEM.strip(), PEM.replace("\n", "\r\n"), json.dumps({"type": "service", "private_key": PEM})],
    ids=["file", "stripped", "windows", "service account"],
)
@pytest.mark.parametrize("text", PEMS.values(), ids=PEMS)
def test_p11_a_pem_is_known_as_a_whole_and_in_parts(text: str, given: str) -> None:
    mask = Mask([("it", given)])
    assert mask.find(f"x {text} x") == "it"
    masked = mask(f"x {text} x")
    assert mask.find(masked) is None
    assert not any(line[:12] in masked for line in BODY)


def test_what_begins_and_ends_a_pem_is_no_secret() -> None:
    public = "-----BEGIN PRIVATE KEY-----\nsomebody else's, which is another one\n-----END PRIVATE KEY-----"
    assert Mask([PEM])(public) == public


def test_a_mounted_file_ends_with_a_line_end_that_the_text_does_not_have() -> None:
    mask = Mask([("it", "hunter2-hunter2\n")])
    assert mask.find("https://me:hunter2-hunter2@host/") == "it"
    assert mask("hunter2-hunter2\nand more") == "***\nand more"


@pytest.mark.parametrize("text", ["LIKE '%{}%'", "C:\\{}", "100%{}", "\\n{}", "a&{}", "{}\\", "{}&", "{}%41"])
@pytest.mark.parametrize("secret", ["deadbeef4711", 'ab"de\\f/4711', "n€w+secret", 'u"uuuu %4'])
@pytest.mark.parametrize("way", [str, json.dumps, repr, quote, escape], ids=["as it is", "json", "repr", "url", "html"])
def test_what_stands_around_a_secret_does_not_hide_it(text: str, secret: str, way: Callable[[str], str]) -> None:
    mask = Mask([("it", secret)])
    assert mask.find(way(text.format(secret))) == "it"
    assert mask.find(way(text).replace("{}", way(secret)).replace("%7B%7D", way(secret))) == "it"


def test_texts_of_less_than_six_characters_are_not_looked_for() -> None:
    assert not Mask(["12345", "", "x"])
    assert Mask(["12345"])("12345") == "12345"
    assert Mask(["123456"])("123456") == "***"
    assert Mask(["      "])("a      b") == "a***b"


def test_two_secrets_side_by_side_are_two() -> None:
    assert Mask(["secret", "hidden"])("secrethidden secret") == "****** ***"


def test_a_piece_is_masked_where_a_library_has_cut_it() -> None:
    secret = "0123456789abcdefghijklmnopqrstuvwxyzäöü"  # noqa: S105  # nobody's
    mask = Mask([secret])
    assert mask("input_value='0123456789ab...vwxyzäöü'") == "input_value='***...vwxyzäöü'"
    assert mask(json.dumps("…nopqrstuvwxyzäöü")) == '"\\u2026***"'
    assert mask(f"{secret[3:20]} and {secret[5:16]}") == f"*** and {secret[5:16]}"
    assert mask.find(secret[:30]) is None  # pieces are masked, and only the whole is refused


HOSTILE = {
    "backslashes": "\\" * 20_000,
    "percents": "%25" * 10_000,
    "nested percents": "%" + "25" * 10_000,
    "entities": "&amp;" * 5_000,
    "nested entities": "&" + "amp;" * 5_000,
    "escapes of backslashes": "\\u005c" * 5_000,
    "letters": "a" * 50_000,
    "line ends": "\n" * 50_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_no_text_takes_more_than_a_few_rounds(text: str) -> None:
    mask = Mask([PEM, 'aaaaaaaaaa"aaaaaaaaaa', 'nnnnnn\nnnnnnn\nx"nnnnnnn'])
    assert mask.find(text) is None or "\n" in text
    assert len(list(stages(text))) <= 8
    mask(text)


def test_what_stands_before_a_secret_with_a_backslash_may_change_how_it_begins() -> None:
    assert Mask(["\\abc123\\"])("%\\abc123\\") == "***"
