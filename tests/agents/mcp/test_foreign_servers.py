"""Servers that others have written: one by hand with odd schemas, and those that the protocol's authors publish."""

import shutil
import sys
from pathlib import Path

import anyio
import pytest
from anyio import fail_after
from tests._needs import need
from tests.agents._weather import results
from tests.agents.mcp import _odd
from tests.agents.mcp._calling import use
from tests.agents.test_fitting import root_problems

from stagepost.agents import Agent, McpConnections, McpServer, ScriptedModel, call

need("mcp")

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])  # starting programs takes a second
ODD = McpServer.stdio(sys.executable, str(Path(_odd.__file__)), name="odd")
EVERYTHING = shutil.which("mcp-server-everything")
FILESYSTEM = shutil.which("mcp-server-filesystem")


async def test_odd_schemas_and_answers_are_no_hindrance() -> None:
    with fail_after(30):
        async with McpConnections([ODD]) as connections:
            tools = await connections.tools()
            assert [made.name for made in tools] == ["nothing", "open", "tree", "any_of", "grow"]
            assert not [problem for made in tools for problem in root_problems(made.schema.parameters)]
            assert connections.instructions == "Instructions of the server 'odd' for its tools:\nBe careful."
            assert await use(tools, "nothing") == ("", False, ())
            opened = await use(tools, "open", anything=[1, {"a": None}])
            assert opened.text == '[image 1]\n{"image":"[as above]","width":12}'
            assert [part.data for part in opened.parts] == [b"\x89PNG\r\n\x1a\n" * 200]
            told = await use(tools, "tree", node={"next": {"next": {}}})
            assert told.text == "[image: image/png, which cannot be decoded]"
            assert await use(tools, "any_of", x=None, y=3) == ("McpCallFailed: no", True, ())


async def test_a_server_of_the_protocol_of_2025_tells_of_its_new_tools_by_itself() -> None:
    model = ScriptedModel([call("grow"), call("nothing"), call("late"), "done"])
    with fail_after(30):
        result = await Agent("a", "", model=model, tools=[ODD]).run("?")
    assert [message.text for message in results(result)] == ["grown", "", "better late"]


@pytest.mark.skipif(EVERYTHING is None, reason="mcp-server-everything is not installed")
async def test_the_everything_server() -> None:
    server = McpServer.stdio(EVERYTHING or "", name="everything")
    with fail_after(60):
        async with McpConnections([server]) as connections:
            tools = await connections.tools()
            assert connections.instructions.startswith("Instructions of the server 'everything' for its tools:")
            picture = await use(tools, "get-tiny-image")
            assert "[image 1]" in picture.text
            assert [(part.kind, part.media_type) for part in picture.parts] == [("image", "image/png")]
            weather = await use(tools, "get-structured-content", location="New York")
            assert weather.text.count("temperature") == 1
            blob = await use(tools, "get-resource-reference", resourceType="Blob", resourceId=1)
            assert [part.kind for part in blob.parts] == ["file"]
            links = await use(tools, "get-resource-links", count=2)
            assert links.text.count("[resource '") == 2
            assert (await use(tools, "echo")).is_error


@pytest.mark.skipif(FILESYSTEM is None, reason="mcp-server-filesystem is not installed")
async def test_the_filesystem_server(tmp_path: Path) -> None:
    text, data = 'line one\n"line" two\n', bytes(range(256)) * 20
    await anyio.Path(tmp_path / "a.txt").write_text(text)
    await anyio.Path(tmp_path / "b.png").write_bytes(data)
    server = McpServer.stdio(FILESYSTEM or "", str(tmp_path), name="filesystem")
    with fail_after(60):
        async with McpConnections([server]) as connections:
            tools = await connections.tools()
            assert await use(tools, "read_text_file", path=str(tmp_path / "a.txt")) == (text, False, ())
            picture = await use(tools, "read_media_file", path=str(tmp_path / "b.png"))
            assert picture.text == "[image 1]"
            assert [part.data for part in picture.parts] == [data]
            assert (await use(tools, "read_text_file", path="/etc/passwd")).is_error
