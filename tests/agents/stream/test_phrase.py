"""What people are told of a tool call."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from stagepost.agents._stream._phrase import phrase

NAMES = st.text("abcdefgh_", min_size=1, max_size=8)
SECRET = "sk-4711-secret"  # noqa: S105  # none


def hidden(text: str) -> str:
    return text.replace(SECRET, "***")


@pytest.mark.parametrize(
    ("description", "arguments", "expected"),
    [
        ("Get weather for a city", {"city": "London"}, "Getting weather for London..."),
        ("Get weather for a city.", {"city": "London"}, "Getting weather for London..."),
        ("Get weather for {city}.", {"city": "London"}, "Getting weather for London..."),
        ("Get weather for the city", {"city": "London"}, "Getting weather for London..."),
        ("Find an order", {"order": 42}, "Finding 42..."),
        ("Find the order id", {"order_id": "o-1"}, "Finding o-1..."),
        ("Find the order_id", {"order_id": "o-1"}, "Finding o-1..."),
        ("Find the order id", {"order": "no", "order_id": "o-1"}, "Finding o-1..."),
        ("Ask a city council", {"city": "London"}, "Ask a city council..."),
        ("Get a city-state", {"city": "London"}, "Getting a city-state..."),
        ("Get a cityscape", {"city": "London"}, "Getting a cityscape..."),
        ("Get America city", {"city": "London"}, "Getting America city..."),
        ("Weather of a city now.", {"city": "Oslo"}, "Weather of Oslo now..."),
        ("Send the mail to a person, and wait", {"person": "Ann"}, "Sending the mail to Ann, and wait..."),
        ("Delete {path} from {disk}.", {"path": "{disk}", "disk": "C"}, "Deleting {disk} from C..."),
        ("Search docs.\nMore about a query.", {"query": "x"}, "Searching docs..."),
        ("Run version 1.5 of a job. It takes long.", {"job": "b"}, "Running version 1.5 of b..."),
        ("List", {}, "Listing..."),
        ("Process a list", {"list": [1, 2]}, "Processing [1,2]..."),
        ("Get the text", {"text": "a\n b"}, "Getting a b..."),
        ("Get the text", {"text": "x" * 41}, f"Getting {'x' * 39}…..."),
        ("Get the text", {"text": "x" * 40}, f"Getting {'x' * 40}..."),
        ("Get the text", "{broken", "Getting the text..."),
        ("Get the text", None, "Getting the text..."),
        ("Get the ", {" ": "x", "": "y"}, "Getting the..."),
        ("", {"city": "London"}, "Calling look..."),
        (" ... ", {"city": "London"}, "Calling look..."),
    ],
)
def test_a_phrase_names_what_a_call_is_about(description: str, arguments: JsonValue, expected: str) -> None:
    assert phrase("look", description, arguments) == expected


VERBS = (
    "Get Search Create Update Delete Send Fetch Find Check Validate Process Generate Calculate Analyze Read Write List "
    "Query Execute Run"
)
FORMS = (
    "Getting Searching Creating Updating Deleting Sending Fetching Finding Checking Validating Processing Generating "
    "Calculating Analyzing Reading Writing Listing Querying Executing Running"
)


@pytest.mark.parametrize(("verb", "form"), list(zip(VERBS.split(), FORMS.split(), strict=True)))
def test_each_verb_has_its_form(verb: str, form: str) -> None:
    assert phrase("t", f"{verb} it.", {}) == f"{form} it..."
    assert phrase("t", f"{verb.lower()} it.", {}) == f"{form} it..."
    assert phrase("t", f"{verb}able it.", {}) == f"{verb}able it..."


def test_a_secret_is_hidden_also_where_a_value_is_cut() -> None:
    told = phrase("t", f"Get the key of {SECRET}", {"key": "x" * 30 + SECRET}, hidden)
    assert told == f"Getting {'x' * 30}*** of ***..."


@given(st.text(max_size=300), st.dictionaries(NAMES, st.text(max_size=80) | st.integers() | st.lists(st.none())))
def test_a_phrase_is_short_and_ends_with_points(description: str, arguments: dict[str, JsonValue]) -> None:
    told = phrase("look", description, arguments)
    assert told.endswith("...")
    assert len(told) <= 250 + 40 * 100
    assert "\n" not in told or "\n" in description


@given(NAMES, st.text("xyz ", min_size=1, max_size=80).filter(str.strip))
def test_a_value_takes_the_place_of_its_argument(name: str, value: str) -> None:
    shown = " ".join(value.split())
    shown = shown if len(shown) <= 40 else f"{shown[:39]}…"
    assert phrase("t", f"Get {{{name}}}", {name: value}) == f"Getting {shown}..."
    assert phrase("t", f"Get the {name}, then", {name: value}) == f"Getting {shown}, then..."
    assert phrase("t", f"Get the {name}x, then", {name: value}) == f"Getting the {name}x, then..."


@given(st.lists(NAMES, max_size=4), st.text(max_size=20), st.text(max_size=20))
def test_no_secret_gets_through(names: list[str], before: str, after: str) -> None:
    description = " ".join(["Send", *(f"the {name}," for name in names)])
    told = phrase("t", description, dict.fromkeys(names, f"{before}{SECRET}{after}"), hidden)
    assert SECRET not in told
    assert SECRET[:8] not in told.replace("***", "") or SECRET[:8] in before + after
