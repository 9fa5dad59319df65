"""Streams of runs as server-sent events: order, cursors, coming back, ends, and what is left behind."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx
import pytest
from httpx_sse import ServerSentEvent, aconnect_sse
from tests.service.http._runs import client_of, error_of, service, started, workflows
from tests.service.http._uvicorn import served

from stagepost.checkpoint import MemoryStore
from stagepost.service import RequestLimits, create_app
from stagepost.service._http._runs._events import _told
from stagepost.workflows import Runner, RunnerStopped


def events_of(answer: httpx.Response) -> list[dict[str, Any]]:
    """The events of a stream that was read whole."""
    return list(_events(answer.text))


def _events(text: str) -> Iterator[dict[str, Any]]:
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if fields:
            yield {"event": fields["event"], "id": fields.get("id"), **json.loads(fields["data"])}


async def test_a_task_is_streamed_from_its_first_token_when_it_is_started() -> None:
    async with service() as http:
        answer = await http.post(
            "/runs", json={"workflow": "weather", "request": "Oslo?"}, headers={"Accept": "text/event-stream"}
        )
        assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (200, "text/event-stream")
        told = events_of(answer)
        kinds = [each["event"] for each in told if each["id"]]
        assert kinds == ["message", "tool_call", "tool_result", "message", "completed"]
        assert all(each["event"] == each["type"] and each["id"] == each["cursor"] for each in told if each["id"])
        again = events_of(await http.get(f"/runs/{told[0]['task_id']}/events"))
        assert [each["id"] for each in again] == [each["id"] for each in told if each["id"]]


async def test_what_is_refused_at_the_start_of_a_stream_is_no_stream() -> None:
    async with service() as http:
        headers = {"Accept": "text/event-stream"}
        refused = await http.post("/runs", json={"workflow": "weather", "request": {"no": 1}}, headers=headers)
        assert error_of(refused, 422) == "InvalidRequest"
        await started(http, "weather", request="Oslo?", run_id="w-1")
        other = {"workflow": "weather", "request": "Rome?", "run_id": "w-1"}
        assert error_of(await http.post("/runs", json=other, headers=headers), 409) == "RunConflict"


@pytest.mark.parametrize(
    ("workflow", "given"), [("weather", {"request": "Oslo?"}), ("quick", {}), ("sizes", {"state": {"paths": []}})]
)
async def test_a_reader_comes_back_after_each_event(workflow: str, given: dict[str, Any]) -> None:
    async with service() as http:
        run_id = await started(http, workflow, **given)
        whole = events_of(await http.get(f"/runs/{run_id}/events"))
        for place, event in enumerate(whole):
            rest = await http.get(f"/runs/{run_id}/events", headers={"Last-Event-ID": event["id"]})
            if place == len(whole) - 1:
                assert (rest.status_code, rest.content) == (204, b"")
            elif workflow == "weather":
                assert events_of(rest) == whole[place + 1 :]
            else:
                assert events_of(rest)[-1] == whole[-1]
        last = whole[-1]["id"]
        assert (await http.get(f"/runs/{run_id}/events", params={"after": last})).status_code == 204


async def test_steps_of_a_plain_workflow_are_told() -> None:
    async with service() as http:
        begin = {"workflow": "teller", "state": {"n": 1}}
        answer = await http.post("/runs", json=begin, headers={"Accept": "text/event-stream"})
        told = events_of(answer)
        assert (told[0]["event"], told[-1]["event"], told[-1]["status"]) == ("state", "end", "completed")


async def test_a_stream_that_cannot_go_on_says_why() -> None:
    async with MemoryStore() as store:
        async with Runner(store, workflows=workflows(), grace=0) as runner:
            await runner.start(runner.workflow("stuck"), {}, run_id="stuck-1")
        others = [each for each in workflows() if each.name != "stuck"]
        async with Runner(store, workflows=others) as runner, client_of(create_app(runner)) as http:
            await runner.recover()
            told = events_of(await http.get("/runs/stuck-1/events"))
            assert [each["event"] for each in told] == ["state", "problem"]
            assert told[-1]["error"]["type"] == "RunLeftOpen"


async def test_a_run_is_watched_until_it_waits() -> None:
    async with service() as http:
        run_id = await started(http, "digest")
        told = events_of(await http.get(f"/runs/{run_id}/events", params={"view": "watch", "settled": "true"}))
        assert [each["event"] for each in told] == ["status", "at", "wait"]
        assert told[-1]["wait_id"] == f"{run_id}/approval"


@asynccontextmanager
async def listened(http: httpx.AsyncClient, path: str, **headers: str) -> AsyncIterator[AsyncIterator[ServerSentEvent]]:
    async with aconnect_sse(http, "GET", path, headers=headers) as source:
        yield source.aiter_sse()


def listeners(runner: Runner) -> int:
    return len(runner._open().presence.rooms._rooms)  # nobody else counts them


async def test_a_reader_who_leaves_is_forgotten_at_once_and_the_run_goes_on() -> None:
    runner = Runner(MemoryStore(), workflows=workflows())
    with anyio.fail_after(20):
        async with (
            served(create_app(runner, limits=RequestLimits.none())) as url,
            httpx.AsyncClient(base_url=url) as http,
        ):
            run_id = await started(http, "mailer", request="Write.")
            async with listened(http, f"/runs/{run_id}/events") as events:
                first = await anext(events)
                assert (first.event, json.loads(first.data)["role"]) == ("message", "user")
                assert listeners(runner) == 1
            while listeners(runner):  # noqa: ASYNC110  # there is no event for that
                await anyio.sleep(0.005)
            assert (await http.get(f"/runs/{run_id}")).json()["run"]["status"] == "waiting"


async def test_whoever_asks_for_the_head_of_a_stream_listens_to_nothing() -> None:
    async with service() as http:
        run_id = await started(http, "digest")
        with anyio.fail_after(20):
            head = await http.head(f"/runs/{run_id}/events")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"].startswith("text/event-stream")


async def test_only_so_many_streams_are_open_at_once() -> None:
    limits = RequestLimits(requests=None, streams=2, streams_per_caller=None)
    app = create_app(Runner(MemoryStore(), workflows=workflows()), limits=limits)
    with anyio.fail_after(20):
        async with served(app) as url, httpx.AsyncClient(base_url=url) as http:
            run_id = await started(http, "digest")
            path = f"/runs/{run_id}/events"
            async with listened(http, path) as one, listened(http, path) as two:
                await anext(one)
                await anext(two)
                assert error_of(await http.get(path), 429) == "TooManyStreams"
                begin = {"workflow": "weather", "request": "Oslo?"}
                refused = await http.post("/runs", json=begin, headers={"Accept": "text/event-stream"})
                assert error_of(refused, 429) == "TooManyStreams"
                assert (await http.get("/runs", params={"workflow": "weather"})).json()["runs"] == []


async def test_a_failure_that_nobody_expects_shows_nothing_of_itself(caplog: pytest.LogCaptureFixture) -> None:
    async def failing() -> AsyncGenerator[bytes, None]:
        yield b":\n\n"
        raise KeyError("a secret inside")

    async def stopping() -> AsyncGenerator[bytes, None]:
        yield b":\n\n"
        raise RunnerStopped("r")

    told = b"".join([event async for event in _told(failing())]).decode()
    (event,) = _events(told)
    assert (event["event"], event["error"]["type"]) == ("problem", "InternalServerError")
    assert "secret" not in told
    assert event["error"]["reference"] in caplog.text
    assert [event async for event in _told(stopping())] == [b":\n\n"]
