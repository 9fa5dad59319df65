import pytest

from stagepost.agents._mcp._remote import join_content


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
    assert join_content(texts, structured) == joined
