from base64 import b64encode

import pytest

from stagepost.agents import Audio, File, Image
from stagepost.agents._mcp._content import composed, part_of
from stagepost.agents._models._parts import LIMIT


@pytest.mark.parametrize(
    ("texts", "structured", "joined"),
    [
        (["a", "b"], None, "a\nb"),
        ([], None, ""),
        ([], {"a": 1}, '{"a":1}'),
        (['{ "a": 1 }'], {"a": 1}, '{ "a": 1 }'),
        (["3"], {"result": 3}, "3"),
        (["fine"], {"result": "fine"}, "fine"),
        (["1", "2"], {"result": [1, 2]}, "1\n2"),
        (["3"], {"result": "3"}, "3"),
        (["two files"], {"files": ["a", "b"]}, 'two files\n{"files":["a","b"]}'),
        (["no JSON {"], {"result": 1, "more": 2}, 'no JSON {\n{"result":1,"more":2}'),
        (["1"], 1, "1"),
    ],
    ids=[
        "texts",
        "nothing",
        "structured only",
        "said as JSON",
        "wrapped number",
        "wrapped text",
        "wrapped list",
        "text of a number",
        "a summary beside it",
        "something else",
        "no object",
    ],
)
def test_structured_content_is_said_once(texts: list[str], structured: object, joined: str) -> None:
    assert composed(texts, structured) == (joined, [])


LONG = "line of a file\n" * 1000
PICTURE = b64encode(bytes(range(256)) * 800).decode()


@pytest.mark.parametrize(
    ("texts", "structured", "joined"),
    [
        ([LONG], {"content": LONG}, LONG),
        ([LONG], {"content": LONG, "lines": 1000}, LONG + '\n{"content":"[as above]","lines":1000}'),
        (["It is 31 degrees, 20.5 % humid."], {"degrees": 31, "humidity": 20.5}, "It is 31 degrees, 20.5 % humid."),
        (["13:37"], {"minutes": 3}, '13:37\n{"minutes":3}'),
        (["done"], {"done": True, "missing": None}, 'done\n{"done":true,"missing":null}'),
        (['{"a": [1, true, "x y"]}'], {"a": [1, True, "x y"], "b": None}, '{"a": [1, true, "x y"]}'),
        (["said"], {"bytes": PICTURE}, 'said\n{"bytes":"[204,801 bytes, not shown]"}'),
        ([], {"bytes": PICTURE}, '{"bytes":"[204,801 bytes, not shown]"}'),
        (["the text of a page"], {"text": "text of a", "empty": " "}, "the text of a page"),
    ],
    ids=[
        "a file",
        "a file and a number",
        "in a sentence",
        "a digit of a number",
        "a truth value",
        "with nothing",
        "bytes",
        "bytes only",
        "a part of the text",
    ],
)
def test_nothing_is_said_twice_and_no_bytes_as_text(texts: list[str], structured: object, joined: str) -> None:
    assert composed(texts, structured) == (joined, [])


def test_parts_stand_beside_their_names() -> None:
    picture = Image(data=b"a", media_type="image/png")
    text, parts = composed(
        ["before", picture, "after"], {"result": [{"type": "image", "data": "YQ=="}]}, ["image", "YQ=="]
    )
    assert (text, parts) == ("before\n[image 1]\nafter", [picture])


@pytest.mark.parametrize(
    ("media_type", "kind"),
    [("image/png", Image), ("audio/mpeg", Audio), ("application/pdf", File), (None, File), ("", File)],
    ids=["image", "audio", "file", "none", "empty"],
)
def test_bytes_are_a_part_of_their_kind(media_type: str | None, kind: type[Image | Audio | File]) -> None:
    part = part_of("blob", "YQ==", media_type, "a")
    assert type(part) is kind
    assert part == kind(data=b"a", media_type=media_type or "application/octet-stream", name="a")


def test_bytes_that_cannot_be_a_part_are_described() -> None:
    assert part_of("image", "no base64", "image/png") == "[image: image/png, which cannot be decoded]"
    assert part_of("image", "", "image/png") == "[image: image/png, which is empty]"
    large = part_of("image", b64encode(bytes(LIMIT + 1)).decode(), "image/png")
    assert large == f"[image: image/png, {LIMIT + 1:,} bytes, which is more than the {LIMIT:,} that can be kept]"


def test_looking_for_what_is_said_has_an_end() -> None:
    """Each longer text that is looked for takes as long as the content: only so many are."""
    texts = [f"line {number}" for number in range(3000)]
    text, _ = composed(["\n".join(texts)], {"lines": texts})
    assert text.endswith('"line 2999"]}')


def test_bytes_of_a_type_that_is_none_are_a_file() -> None:
    assert part_of("image", "YQ==", "image") == File(data=b"a", media_type="application/octet-stream")
