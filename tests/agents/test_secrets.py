"""Nothing that is secret is found in the bytes of a store's files."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.agents._ways import result_of, started, the_wait, working
from tests.agents._weather import Report, results

from stagepost.agents import (
    Agent,
    Allow,
    AssistantMessage,
    Fallback,
    LiteLLM,
    McpServer,
    ModelResponse,
    ProviderContent,
    RateLimited,
    ScriptedModel,
    ToolCall,
    ToolContext,
    call,
    tool,
)
from stagepost.agents.testing import LocalServer, Status
from stagepost.checkpoint import CannotStore, SqliteStore
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


@tool(needs_approval=True)
async def send(body: str) -> str:
    return f"sent {body}"


@tool
async def read(body: str) -> str:
    return f"read {body}"


def spoken(text: str = "", *, id: str = "c", name: str = "read", arguments: str = "{}") -> ModelResponse:  # noqa: A002
    return ModelResponse(text, [ToolCall(id=id, name=name, arguments=arguments)])


IN_JSON = "\\u006fpen-sesame\\u002D4711"  # as some write it


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (spoken(f"I know {SECRET}!"), spoken("I know ***!")),
        (spoken(arguments=f'{{"body": "as {SECRET}"}}'), spoken(arguments='{"body": "as ***"}')),
        (spoken(arguments=f'{{"body": "\\t{IN_JSON}\\""}}'), spoken(arguments='{"body": "\\t***\\""}')),
        (spoken(arguments=f'{{"{SECRET}": 1}}'), spoken(arguments='{"***": 1}')),
        (spoken(arguments=f"{{{SECRET}"), spoken(arguments="{***")),
        (spoken(arguments=f"\\x {IN_JSON} \\ud800"), spoken(arguments="\\x *** \\ud800")),
        (spoken(name=f"read-{SECRET}"), spoken(name="read-***")),
        (spoken(id=SECRET), spoken(id="***")),
        (spoken(f"It is {IN_JSON[:14]}.", arguments='{"body": "\\u0061"}'), None),
    ],
    ids=["text", "arguments", "escapes", "key", "no-json", "no-escapes", "name", "id", "nothing"],
)
async def test_p11_secret_that_a_model_writes_is_masked_before_it_is_kept(
    tmp_path: Path, said: ModelResponse, kept: ModelResponse | None
) -> None:
    kept = kept or said
    model = ScriptedModel([said, "done"])
    agent = Agent("chatty", prompt="", model=model, tools=[read])
    async with working_in(tmp_path, agent, secrets={"key": SECRET}) as runner:
        result = await result_of(await started(runner, agent), agent)
    assert result.messages[1] == AssistantMessage(text=kept.text, calls=tuple(kept.calls))
    assert result.output == "done"


async def test_p11_tool_is_called_with_stars_where_its_model_has_written_a_secret(tmp_path: Path) -> None:
    model = ScriptedModel([call("send", body=SECRET), [call("read", body=IN_JSON), call("read", body=SECRET)], "done"])
    agent = Agent("chatty", prompt="", model=model, tools=[send, read])
    async with working_in(tmp_path, agent, secrets={"key": SECRET}) as runner:
        run = await started(runner, agent)
        wait = await the_wait(runner, run)
        assert wait.shown["arguments"] == {"body": "***"}
        await runner.answer(wait.id, Allow())
        result = await result_of(run, agent)
    assert [message.text for message in results(result)] == ["sent ***", "read ***", "read ***"]


@pytest.mark.parametrize("secret", [SECRET, IN_JSON], ids=["plain", "escapes"])
@pytest.mark.parametrize("as_call", [False, True], ids=["text", "return"])
async def test_p11_secret_in_a_final_answer_is_masked(tmp_path: Path, secret: str, *, as_call: bool) -> None:
    answer = f'{{"city": "{secret}", "degrees": 3}}'
    model = ScriptedModel([spoken(name="return", arguments=answer) if as_call else answer])
    agent = Agent("chatty", prompt="", model=model, output=Report)
    async with working_in(tmp_path, agent, secrets={"key": SECRET}) as runner:
        result = await result_of(await started(runner, agent), agent)
    assert result.output == Report(city="***", degrees=3)


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


@tool
async def repeat(context: ToolContext) -> str:
    return f"I was called with {SECRET}"


class Keyed:
    """A model with a key."""

    def __init__(self, *script: Any) -> None:
        self._model = ScriptedModel(script)
        self.answer = self._model.answer
        self.requests = self._model.requests

    @property
    def secrets(self) -> list[str]:
        return [SECRET]


@pytest.mark.parametrize(
    "around", [lambda model: model, lambda model: Fallback([RateLimited(model)])], ids=["it", "inside"]
)
async def test_p11_key_of_a_model_is_masked_wherever_it_comes_from_though_nobody_has_declared_it(
    tmp_path: Path, around: Any
) -> None:
    below = Agent("below", prompt="", model=around(Keyed(call("repeat"), f"it is {SECRET}")), tools=[repeat])
    model = ScriptedModel([[call("message_agent", agent_name="below", message="?"), call("repeat")], f"{SECRET}!"])
    lead = Agent("lead", prompt="", model=model, tools=[repeat], sub_agents=[below])
    async with working_in(tmp_path, lead) as runner:
        result = await result_of(await started(runner, lead), lead)
        with pytest.raises(CannotStore, match="it holds the text of the key of"):
            await started(runner, lead, f"use {SECRET}")
    assert results(result)[1].text == "I was called with ***"
    assert "***" in results(result)[0].text
    assert result.output == "***!"


async def test_p11_key_of_a_server_is_masked_in_what_a_model_writes() -> None:
    server = McpServer.http(f"https://tools.example/mcp?key={SECRET}", name="web")
    agent = Agent("chatty", prompt="", model=ScriptedModel([f"{SECRET}!"]), servers=[server])
    assert dict(agent.as_workflow().hidden) == {"a key of MCP server 'web'": SECRET}


async def test_tool_reads_a_secret_of_the_run_and_cannot_tell_it() -> None:
    used: list[str] = []

    @tool
    async def use(context: ToolContext) -> str:
        used.append(context.secrets["key"])
        return f"used {context.secrets['key']}"

    agent = Agent("user", prompt="Use.", model=ScriptedModel([call("use"), "done"]), tools=[use])
    (result,) = results(await agent.run("go", secrets={"key": SECRET}))
    assert (used, result.text) == ([SECRET], "used ***")


async def test_secret_in_thinking_is_masked_and_what_belongs_to_the_provider_is_kept_only_without_it(
    tmp_path: Path,
) -> None:
    said = ProviderContent(provider="p", model="m", data=({"thinking": f"the key is {SECRET}"},))
    own = ProviderContent(provider="p", model="m", data=({"signature": "x"},))
    model = Keyed(ModelResponse("done", thinking=f"The key is {SECRET}.", provider=[said, own]))
    lead = Agent("lead", prompt="", model=model)
    async with working_in(tmp_path, lead) as runner:
        result = await result_of(await started(runner, lead), lead)
    answer = result.messages[-1]
    assert isinstance(answer, AssistantMessage)
    assert SECRET not in answer.thinking
    assert answer.provider == (own,)
