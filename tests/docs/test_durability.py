"""What docs/durability.md states has a note that names the tests; the tests that any page names exist."""

import ast
import inspect
import re
from datetime import timedelta
from functools import cache
from pathlib import Path

import pytest

from stagepost.checkpoint import Limits
from stagepost.checkpoint._sqlite import _connect, _thread
from stagepost.workflows import Runner
from stagepost.workflows._values import _layout

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "durability.md").read_text()
CODE = re.compile(r"^```.*?^```\n", re.MULTILINE | re.DOTALL)
NOTE = re.compile(r"\[\^([\w-]+)\](?!:)")
MEANING = re.compile(r"^\[\^([\w-]+)\]:(.*(?:\n    .*)*)", re.MULTILINE)
TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")

BODY, _, NOTES = TEXT.partition("## What shows it")
MEANINGS = {name: TEST.findall(meaning) for name, meaning in MEANING.findall(NOTES)}
NAMED = sorted({test for page in (ROOT / "docs").glob("*.md") for test in TEST.findall(page.read_text())})


@cache
def functions_of(file: str) -> frozenset[str]:
    path = ROOT / file
    tree = ast.parse(path.read_text() if path.exists() else "")
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(function.name for function in functions)


def statements() -> list[str]:
    """The parts of the page behind its introduction, each of which states something."""
    _, *sections = CODE.sub("", BODY).split("\n## ")
    found = []
    for section in sections:
        for block in section.partition("\n")[2].strip().split("\n\n"):
            if block.startswith("|"):
                found += block.splitlines()[2:]
            else:
                found += re.split(r"\n(?=- |\d\. )", block)
    return [part for part in found if part and not part.endswith(":")]


@pytest.mark.parametrize(("file", "test"), NAMED, ids=[test for _, test in NAMED])
def test_a_test_that_is_named_exists(file: str, test: str) -> None:
    assert test in functions_of(file)


@pytest.mark.parametrize("statement", statements(), ids=lambda statement: statement[:60])
def test_each_statement_has_a_note(statement: str) -> None:
    assert NOTE.search(statement)


def test_each_note_means_some_tests_and_is_used() -> None:
    assert set(NOTE.findall(BODY)) == set(MEANINGS)
    assert all(MEANINGS.values())
    assert len(MEANING.findall(NOTES)) == len(MEANINGS), "a note has two meanings"


@pytest.mark.parametrize(
    ("words", "number", "meant"),
    [
        ("idle for half a second", _thread._IDLE, 0.5),
        ("larger than 8 MB, about two thousand plain commits", _connect.LARGEST_WAL, 8 * 1024 * 1024),
        ("one page of 4 KB", _layout.LARGE, 4 * 1024),
        ("at most 4 MB of JSON", Limits().refuse, 4 * 1024 * 1024),
        ("more than 256 KB", Limits().warn, 256 * 1024),
        ("At most 20 MB may be kept under one digest", Limits().blob, 20 * 1024 * 1024),
        ("kept for 30 days", inspect.signature(Runner).parameters["keep_for"].default, timedelta(days=30)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_numbers_of_the_page_are_those_of_the_code(words: str, number: object, meant: object) -> None:
    assert words in " ".join(BODY.split())
    assert number == meant
