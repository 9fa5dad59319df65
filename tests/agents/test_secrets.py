"""Nothing that is secret is found in the bytes of a store's files."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.agents._ways import result_of, started, working
from tests.agents._weather import results

from stagepost.agents import Agent, LiteLLM, ScriptedModel, ToolContext, call, tool
from stagepost.agents.testing import LocalServer, Status
from stagepost.checkpoint import SqliteStore
from stagepost.workflows import RunFailed, Runner

SECRET = "open-sesame-4711"  # noqa: S105  # nobody else's


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def working_in(folder: Path, agent: Agent[Any], **options: Any) -> AsyncIterator[Runner]:
    async with SqliteStore(folder / "runs.db") as store, working(agent, store=store, **options) as runner:
        yield runner
        assert SECRET.encode() not in stored(folder), "its write-ahead log is a file of its own"
    assert SECRET.encode() not in stored(folder)


def stored(folder: Path) -> bytes:
    """All bytes of a store that has runs."""
    found = b"".join(file.read_bytes() for file in folder.iterdir())
    assert b"infer" in found
    return found


@tool
async def tell(context: ToolContext) -> str:
    return f"the key is {context.deps}"


@tool(idempotent=True)
async def deny(context: ToolContext) -> str:
    raise ValueError(f"401 for key {context.deps}")


@tool(on_unknown="park")
async def show(context: ToolContext) -> dict[str, str]:
    return {"key": context.deps}


@pytest.mark.parametrize(
    ("name", "said"),
    [("tell", "the key is ***"), ("deny", "ValueError: 401 for key ***"), ("show", '{"key":"***"}')],
)
async def test_p11_secret_that_a_tool_tells_is_masked_for_the_store_and_for_the_model(
    tmp_path: Path, name: str, said: str
) -> None:
    below = ScriptedModel([call(name), "known"])
    model = ScriptedModel([[call("message_agent", agent_name="below", message="?"), call(name)], "done"])
    tools = [tell, deny, show]
    lead = Agent(
        "lead", prompt="", model=model, tools=tools, sub_agents=[Agent("below", prompt="", model=below, tools=tools)]
    )
    async with working_in(tmp_path, lead, deps=SECRET, secrets={"key": SECRET}) as runner:
        result = await result_of(await started(runner, lead), lead)
    assert results(result)[1].text == said
    assert below.requests[-1].messages[-1].text == said
    assert result.output == "done"


@pytest.mark.skipif(find_spec("litellm") is None, reason="needs litellm: pip install 'stagepost[llm]'")
@pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier", "ignore::DeprecationWarning:litellm")
async def test_p11_key_of_a_model_is_not_stored_even_if_its_provider_repeats_it(tmp_path: Path) -> None:
    refused = Status(401, message=f"Incorrect API key provided: {SECRET}")
    async with LocalServer([call("look"), refused, refused, "done"]) as server:
        model = LiteLLM("openai/local", api_base=server.url, api_key=SECRET)
        lead = Agent("lead", prompt="", model=model, tools=[deny])
        async with working_in(tmp_path, lead) as runner:
            run = await started(runner, lead)
            with pytest.raises(RunFailed, match="Incorrect API key provided"):
                await run.result()
        assert len(server.requests) == 2


async def test_tool_reads_a_secret_of_the_run_and_cannot_tell_it() -> None:
    used: list[str] = []

    @tool
    async def use(context: ToolContext) -> str:
        used.append(context.secrets["key"])
        return f"used {context.secrets['key']}"

    agent = Agent("user", prompt="Use.", model=ScriptedModel([call("use"), "done"]), tools=[use])
    (result,) = results(await agent.run("go", secrets={"key": SECRET}))
    assert (used, result.text) == ([SECRET], "used ***")
