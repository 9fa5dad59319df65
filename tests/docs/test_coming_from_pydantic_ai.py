"""docs/coming-from-pydantic-ai.md: its programs run, say the same on both sides, and are as short as it says.

Theirs run where pydantic-ai is installed: here, or in the environment whose interpreter ``STAGEPOST_PEERS`` names.
"""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import pytest

from stagepost.agents import ToolCall, call
from stagepost.agents.testing import LocalServer, ServerRequest

ROOT: Final = Path(__file__).parents[2]
TEXT: Final = (ROOT / "docs" / "coming-from-pydantic-ai.md").read_text()
PROGRAM: Final = re.compile(r"^```py\n# (stagepost|pydantic-ai)\n(.*?)^```", re.MULTILINE | re.DOTALL)
ROW: Final = re.compile(r"^\| \[?([\w ]+?)(?:\]\(#[\w-]+\))? \| (\d+), (\d+) \| (\d+), (\d+) \|$", re.MULTILINE)
OURS, THEIRS = "stagepost", "pydantic-ai"
CLOCK: Final = """
import logging
from mcp.server import MCPServer

logging.getLogger().addHandler(logging.NullHandler())
server = MCPServer("clock", log_level="ERROR")

@server.tool()
def now() -> str:
    "The time."
    return "14:20"

server.run()
"""
LIMERICK: Final = "There once was a sea"

Answer: TypeAlias = str | ToolCall


class Counted(NamedTuple):
    lines: int
    names: int


def programs() -> dict[str, dict[str, str]]:
    _, *sections = re.split(r"^## ", TEXT, flags=re.MULTILINE)
    found = {section.partition("\n")[0]: dict(PROGRAM.findall(section)) for section in sections}
    return {title: sides for title, sides in found.items() if sides}


PROGRAMS: Final = programs()
LONGER: Final = {"Streaming"}  # ours; the page says so


def names_of(code: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Import(names=names):
                yield from (f"module {each.name}" for each in names)
            case ast.ImportFrom(module=module, names=names):
                yield f"module {module}"
                yield from (each.name for each in names)
            case ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                yield name


def counted(code: str) -> Counted:
    return Counted(len([line for line in code.splitlines() if line.strip()]), len(set(names_of(code))))


def told(title: str) -> dict[str, Counted]:
    rows = {name: tuple(map(int, numbers)) for name, *numbers in ROW.findall(TEXT)}
    ours_lines, their_lines, our_names, their_names = rows[title]
    return {OURS: Counted(ours_lines, our_names), THEIRS: Counted(their_lines, their_names)}


def test_there_are_eight_programs_on_both_sides() -> None:
    assert len(PROGRAMS) == 8
    assert all(set(sides) == {OURS, THEIRS} for sides in PROGRAMS.values())
    assert max(len(line) for sides in PROGRAMS.values() for code in sides.values() for line in code.splitlines()) <= 116


@pytest.mark.parametrize("title", PROGRAMS)
def test_the_table_has_the_right_numbers(title: str) -> None:
    assert {side: counted(code) for side, code in PROGRAMS[title].items()} == told(title)


@pytest.mark.parametrize("title", PROGRAMS)
def test_ours_are_larger_only_where_the_page_says_so(title: str) -> None:
    found = {side: counted(code) for side, code in PROGRAMS[title].items()}
    is_longer = found[OURS].lines > found[THEIRS].lines or found[OURS].names > found[THEIRS].names
    assert is_longer == (title in LONGER)


def test_all_together_ours_have_fewer_lines_and_names() -> None:
    all_of = {
        side: Counted(*map(sum, zip(*(counted(PROGRAMS[title][side]) for title in PROGRAMS), strict=True)))
        for side in (OURS, THEIRS)
    }
    assert all_of == told("all of these")
    assert all_of[OURS].lines < all_of[THEIRS].lines
    assert all_of[OURS].names < all_of[THEIRS].names


def stock(request: ServerRequest) -> Answer:
    return f"There are {request.text}." if request.turn else call("get_stock", item="bolts")


def city(request: ServerRequest) -> Answer:
    (answer,) = {"return", "final_result"} & set(offered(request))
    return call(answer, name="Chicago", country="USA")


def clock(request: ServerRequest) -> Answer:
    if request.turn:
        return "It is 14:20." if "14:20" in request.text else request.text
    return call(next(name for name in offered(request) if name.endswith("now")))


def team(request: ServerRequest) -> Answer:
    if request.turn:
        return f"{LIMERICK}, and it was good." if LIMERICK in request.text else request.text
    if "message_agent" in offered(request):
        return call("message_agent", agent_name="writer", message="The sea.")
    return call("write", topic="The sea.")


def tidy(request: ServerRequest) -> Answer:
    return request.text if request.turn else call("delete_file", path="notes.txt")


def offered(request: ServerRequest) -> list[str]:
    return [tool["function"]["name"] for tool in request.body.get("tools", ())]


SAYING: Final[dict[str, Callable[[ServerRequest], Answer]]] = {
    "Answer in one sentence.": lambda _: "In Norway.",
    "Answer questions about the stock.": stock,
    "Find the city.": city,
    "Tell the time.": clock,
    "Write a limerick.": lambda _: f"{LIMERICK}.",
    "Get limericks from the writer.": team,
    "Tidy up.": tidy,
    "Write a poem.": lambda _: "Waves come, waves go.",
}
PRINTED: Final = {
    "Hello": "In Norway.",
    "Tools with deps": "There are 7.",
    "Structured output": "name='Chicago' country='USA'",
    "MCP": "It is 14:20.",
    "A team": f"{LIMERICK}, and it was good.",
    "Approval": "notes.txt is gone",
    "Streaming": "Waves come, waves go.",
    "Testing": "",
}
ONE_AFTER_THE_OTHER: Final = """
import runpy, sys

for name in sys.argv[1:]:
    print(f"\\n== {name}", flush=True)
    runpy.run_path(f"{name}.py", run_name="__main__")
"""


def answer(request: ServerRequest) -> Answer:
    prompt = str(request.body["messages"][0]["content"])
    return next(says for known, says in SAYING.items() if known in prompt)(request)


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return printed(sys.executable, OURS, tmp_path_factory.mktemp("ours"))


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    peers = os.environ.get("STAGEPOST_PEERS") or (sys.executable if find_spec("pydantic_ai") else None)
    if peers is None:
        pytest.skip("pydantic-ai is not installed, and STAGEPOST_PEERS names no interpreter that has it")
    return printed(peers, THEIRS, tmp_path_factory.mktemp("theirs"))


@pytest.mark.parametrize("title", PROGRAMS)
def test_our_program_does_what_it_is_there_for(title: str, ours: dict[str, str]) -> None:
    assert PRINTED[title] in ours[title]


@pytest.mark.parametrize("title", PROGRAMS)
def test_their_program_does_the_same(title: str, theirs: dict[str, str]) -> None:
    assert PRINTED[title] in theirs[title]


def printed(python: str, side: str, folder: Path) -> dict[str, str]:
    """What the programs of one side print, run one after the other in one process."""
    for title, sides in PROGRAMS.items():
        (folder / f"{title}.py").write_text(sides[side])
    (folder / "clock.py").write_text(CLOCK)
    (folder / "all.py").write_text(ONE_AFTER_THE_OTHER)
    server = LocalServer(answer)
    server.open()
    try:
        done = subprocess.run(
            [python, "all.py", *PROGRAMS],
            cwd=folder,
            env=environment(python, side, server.url),
            input="y\n",
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
    finally:
        server.close()
    assert done.returncode == 0, done.stderr
    return {title: text for title, _, text in (part.partition("\n") for part in done.stdout.split("\n== ")[1:])}


def environment(python: str, side: str, url: str) -> dict[str, str]:
    layers = [str(ROOT / layer) for layer in ("hub", "checkpoint", "workflows", "agents")]
    return {
        **os.environ,
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": url,
        "PATH": os.pathsep.join([str(Path(python).absolute().parent), os.environ.get("PATH", "")]),
        **({"PYTHONPATH": os.pathsep.join(layers)} if side == OURS else {}),
    }
