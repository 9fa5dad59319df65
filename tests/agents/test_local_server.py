import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from time import monotonic
from typing import Any, get_origin

import httpx2
import pytest
from anyio import create_task_group, fail_after, move_on_after
from tests.checkpoint._processes import environment

from stagepost.agents import ModelResponse, Usage, call, testing
from stagepost.agents.testing import (
    Cut,
    Drip,
    Garbage,
    Hang,
    LocalServer,
    ServerEntry,
    ServerRequest,
    ServerScript,
    Slow,
    Status,
)

ASKED = {"model": "local", "messages": [{"role": "user", "content": "Miami?"}]}
STREAMED = {**ASKED, "stream": True, "stream_options": {"include_usage": True}}
SCRIPT: list[ServerEntry] = [call("look", city="Oslo"), "fine"]


@asynccontextmanager
async def asking(script: ServerScript) -> AsyncIterator[tuple[LocalServer, httpx2.AsyncClient]]:
    with fail_after(10):
        async with LocalServer(script) as server, httpx2.AsyncClient(base_url=server.url) as client:
            yield server, client


async def ask(client: httpx2.AsyncClient, body: Mapping[str, Any] = ASKED) -> httpx2.Response:
    return await client.post("/chat/completions", json=body)


def events(response: httpx2.Response) -> list[str]:
    return [line.removeprefix("data: ") for line in response.text.splitlines() if line]


def deltas(response: httpx2.Response) -> list[dict[str, Any]]:
    chunks = map(json.loads, events(response)[:-1])
    return [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]


def test_everything_public_is_documented_and_sorted() -> None:
    assert sorted(testing.__all__, key=lambda name: (not name.isupper(), name)) == testing.__all__  # as ruff sorts
    for name in testing.__all__:
        found = getattr(testing, name)
        assert found.__doc__ or get_origin(found) is not None, name  # an alias of a type has none


async def test_a_text_is_answered_with_its_usage() -> None:
    async with asking([ModelResponse("30 °C", usage=Usage(input_tokens=7, output_tokens=3))]) as (server, client):
        answer = (await ask(client)).json()
    assert answer["choices"] == [
        {"index": 0, "message": {"role": "assistant", "content": "30 °C"}, "finish_reason": "stop"}
    ]
    assert answer["usage"] == {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    assert answer["model"] == "local"
    assert [request.body for request in server.requests] == [ASKED]
    assert server.requests[0].text == "Miami?"


async def test_calls_are_answered_with_ids() -> None:
    async with asking([call("look", city="Oslo")]) as (_, client):
        (choice,) = (await ask(client)).json()["choices"]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] is None
    assert choice["message"]["tool_calls"] == [
        {"id": "call-0-0", "type": "function", "function": {"name": "look", "arguments": '{"city":"Oslo"}'}}
    ]


async def test_a_stream_comes_in_pieces_and_ends_with_usage() -> None:
    response = ModelResponse("it is fine", usage=Usage(input_tokens=7, output_tokens=3))
    async with asking([response]) as (_, client):
        streamed = await ask(client, STREAMED)
    assert [delta.get("content") for delta in deltas(streamed)] == ["", "it ", "is ", "fine", None]
    assert events(streamed)[-1] == "[DONE]"
    assert json.loads(events(streamed)[-2])["usage"]["total_tokens"] == 10


async def test_a_stream_without_the_wish_for_it_has_no_usage() -> None:
    async with asking(["fine"]) as (_, client):
        streamed = await ask(client, {**ASKED, "stream": True})
    assert "usage" not in streamed.text


async def test_streamed_calls_come_in_pieces() -> None:
    async with asking([[call("look", city="Oslo"), call("stop")]]) as (_, client):
        streamed = await ask(client, STREAMED)
    pieces = [piece for delta in deltas(streamed) for piece in delta.get("tool_calls", ())]
    written = ["".join(p["function"]["arguments"] for p in pieces if p["index"] == index) for index in (0, 1)]
    assert written == ['{"city":"Oslo"}', "{}"]
    assert [piece["id"] for piece in pieces if "id" in piece] == ["call-0-0", "call-0-1"]


async def test_the_answer_depends_on_the_conversation() -> None:
    later = {**ASKED, "messages": [*ASKED["messages"], {"role": "assistant", "content": "…"}]}
    async with asking(SCRIPT) as (_, client):
        texts = [(await ask(client, body)).json()["choices"][0]["message"]["content"] for body in (later, ASKED, later)]
    assert texts == ["fine", None, "fine"]


async def test_a_fault_is_met_once_before_the_answer_behind_it() -> None:
    async with asking([Status(429, retry_after=0.5, message="busy"), Status(503), "fine"]) as (server, client):
        answers = [await ask(client) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [429, 503, 200]
    assert answers[0].headers["retry-after"] == "0.5"
    assert answers[0].json()["error"]["message"] == "busy"
    assert "retry-after" not in answers[1].headers
    assert len(server.requests) == 3


async def test_a_function_of_the_request_may_decide() -> None:
    def decide(request: ServerRequest) -> str | Status:
        return Status(401) if request.headers.get("authorization") is None else request.text.upper()

    async with asking(decide) as (_, client):
        assert (await ask(client)).status_code == 401
        client.headers["authorization"] = "Bearer key"
        assert (await ask(client)).json()["choices"][0]["message"]["content"] == "MIAMI?"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ([], "the script has 0 answers"),
        (lambda _: str(1 / 0), "ZeroDivisionError"),
        (lambda _: Slow(1), "sleeps by itself"),
    ],
    ids=["ended", "function", "slow-function"],
)
async def test_a_script_that_does_not_work_is_told_to_the_client(script: ServerScript, said: str) -> None:
    async with asking(script) as (_, client):
        answer = await ask(client)
    assert answer.status_code == 400
    assert said in answer.json()["error"]["message"]


async def test_other_places_are_not_there() -> None:
    async with asking(["fine"]) as (_, client):
        assert (await client.post("/embeddings", json=ASKED)).status_code == 404
        assert (await client.get("/models")).status_code == 404
        assert (await ask(client)).status_code == 200


async def test_a_request_that_is_no_json_is_refused_and_the_connection_goes_on() -> None:
    async with asking(["fine"]) as (server, client):
        assert (await client.post("/chat/completions", content=b"{")).status_code == 400
        assert (await ask(client)).status_code == 200
    assert len(server.requests) == 1


async def test_the_requests_can_be_asked_for() -> None:
    async with asking(["fine"]) as (server, client):
        await ask(client)
        seen = (await client.get(server.url.replace("/v1", "/requests"))).json()
    assert seen == [{"path": "/v1/chat/completions", "body": ASKED}]


async def test_slow_takes_its_time() -> None:
    async with asking([Slow(0.2), "fine"]) as (_, client):
        began = monotonic()
        assert (await ask(client)).status_code == 200
    assert monotonic() - began >= 0.2


async def test_garbage_is_no_json() -> None:
    async with asking([Garbage()]) as (_, client):
        answer = await ask(client)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html")
    assert answer.text.startswith("<!doctype html>")


@pytest.mark.parametrize("body", [ASKED, STREAMED], ids=["whole", "stream"])
async def test_a_cut_ends_the_connection_in_the_middle(body: Mapping[str, Any]) -> None:
    async with asking([Cut(), "fine"]) as (_, client):
        with pytest.raises(httpx2.RemoteProtocolError):
            await ask(client, body)
        assert (await ask(client, body)).status_code == 200


async def test_a_clean_cut_looks_like_an_end_but_says_none() -> None:
    async with asking([Cut(after=2, clean=True), "it is fine"]) as (_, client):
        streamed = await ask(client, STREAMED)
    assert "it " in streamed.text
    assert "fine" not in streamed.text
    assert 'finish_reason":"stop' not in streamed.text


@pytest.mark.parametrize(("body", "after"), [(ASKED, 0), (STREAMED, 0), (STREAMED, 2)], ids=["whole", "none", "stream"])
async def test_a_hang_lasts_until_the_server_closes(body: Mapping[str, Any], after: int) -> None:
    chunks: list[str] = []
    async with asking([Hang(after=after)]) as (_, client), create_task_group() as tasks:

        async def read() -> None:
            with move_on_after(0.2):
                async with client.stream("POST", "/chat/completions", json=body, timeout=None) as response:
                    chunks.extend([line async for line in response.aiter_lines() if line])

        tasks.start_soon(read)
    assert not chunks


async def test_closing_refuses_what_comes_later_and_keeps_the_requests() -> None:
    async with asking(["fine"]) as (server, client):
        await ask(client)
    server.close()  # once more does no harm
    assert len(server.requests) == 1
    with pytest.raises(httpx2.ConnectError):
        httpx2.post(f"{server.url}/chat/completions", json=ASKED)


@pytest.mark.parametrize(
    ("arguments", "said"), [([], "Miami?"), (["tests.agents.test_local_server:SCRIPT"], None)], ids=["echo", "script"]
)
def test_a_process_of_its_own_serves_until_it_is_told_to_end(arguments: list[str], said: str | None) -> None:
    command = [sys.executable, "-W", "error", "-m", "stagepost.agents.testing", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        url = process.stdout.readline().decode().strip()
        answer = httpx2.post(f"{url}/chat/completions", json=ASKED).json()
        asked = httpx2.get(url.replace("/v1", "/requests")).json()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
        assert (process.stdout.read(), process.stderr.read()) == (b"", b"")
    assert answer["choices"][0]["message"]["content"] == said
    assert len(asked) == 1


def test_a_drip_is_alive_and_says_nothing() -> None:
    server = LocalServer([Drip(every=0.01)])
    server.open()
    with (
        closing(server),
        httpx2.stream("POST", f"{server.url}/chat/completions", json=ASKED, timeout=5) as response,
    ):
        lines = response.iter_lines()
        assert [next(lines) for _ in range(3)] == ["", "", ""]
