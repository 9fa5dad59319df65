import pytest

from stagepost.agents._definition._prompt import fill, placeholders


@pytest.mark.parametrize(
    ("prompt", "names"),
    [
        ("nothing", ()),
        ("{city} and {country}, {city}", ("city", "country")),
        ('like {"city": "Oslo"} or {}', ()),
        ('{"a": {"b": 1}}', ()),
        ("{{city}}", ()),
        ("{{{city}}}", ()),
        ("{0} {a.b} {a!r} {a:>3}", ()),
    ],
    ids=["none", "two", "json", "nested", "escaped", "escaped in braces", "no names"],
)
def test_only_names_in_braces_are_placeholders(prompt: str, names: tuple[str, ...]) -> None:
    assert placeholders(prompt) == names


def test_texts_are_filled_in_as_they_are_and_the_rest_as_json() -> None:
    filled = fill('{who}: {tags} {n} {{who}} {"x": 1}', {"who": "{n}", "tags": ["a"], "n": None})
    assert filled == '{n}: ["a"] null {who} {"x": 1}'
