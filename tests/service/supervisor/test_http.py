"""A supervisor over HTTP: what is sent, what comes back, what is refused."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx
import pytest
from httpx_sse import ServerSentEvent, aconnect_sse
from tests.service.supervisor._shop import (
    HOT,
    STOCK,
    WEATHER,
    WORKERS,
    Gate,
    both,
    echo,
    new_session,
    stock_model,
    supervisor,
    weather_model,
)

from stagepost.agents import Agent, FunctionModel, ModelResponse, ScriptedModel, ToolCall, call
from stagepost.checkpoint import MemoryStore
from stagepost.service import HealthCheck, Key, RequestLimits, Scope
from stagepost.service.supervisor import ChatTurn, SessionBusy, TurnLimits, create_supervisor_app
from stagepost.service.supervisor._sending import sent
from stagepost.workflows import RunCancelled, RunConflict, Runner, RunnerStopped

SECRET = "a-secret-of-the-supervisor"  # noqa: S105  # of this test


@asynccontextmanager
async def serving(agent: Agent[str], *, workers: Any = WORKERS, **options: Any) -> AsyncIterator[httpx.AsyncClient]:
    options.setdefault("limits", RequestLimits(requests=None))
    app = create_supervisor_app(Runner(MemoryStore(), workflows=[agent]), agent, workers, **options)
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=20) as client,
    ):
        yield client


async def streamed(client: httpx.AsyncClient, body: object, after: str = "") -> list[ServerSentEvent]:
    async with aconnect_sse(client, "POST", "/chat", json=body, headers={"Last-Event-ID": after}) as source:
        return [event async for event in source.aiter_sse()]


def text_in(events: list[ServerSentEvent]) -> str:
    return "".join(event.json()["content"] for event in events if event.event == "token")


async def test_a_message_is_answered_with_events_that_a_foreign_client_reads() -> None:
    async with serving(supervisor(both())) as client:
        session = new_session()
        events = await streamed(client, {"message": "Both?", "session_id": session})
        assert events[-1].event == "done"
        assert text_in(events) == "Let me ask.\n\n28 °C, and 150.25 USD."
        resumed = await streamed(client, {"message": "Both?", "session_id": session}, events[5].id)
        shown = await client.get(f"/chat/{session}")
        again = await client.get(f"/chat/{session}/events", headers={"Last-Event-ID": events[-1].id})
    assert resumed[-1].event == "done"
    assert text_in(events[:6]) + text_in(resumed) == text_in(events)
    (turn,) = shown.json()["turns"]
    assert (turn["message"], turn["status"], turn["turn"]) == ("Both?", "completed", 0)
    assert turn["response"] == text_in(events)
    assert again.status_code == 204


async def test_a_whole_answer_has_the_fields_of_the_contract() -> None:
    async with serving(supervisor(both())) as client:
        answer = await client.post("/chat/complete", json={"message": "Both?", "session_id": new_session()})
    body = answer.json()
    assert set(body) == {"response", "supervisor_tool_calls", "worker_details"}
    assert body["supervisor_tool_calls"][0] == {"tool": "ask_weather_agent", "input": {"request": "Miami?"}}
    detail = body["worker_details"][0]
    assert detail.pop("duration_ms") > 0
    assert detail == {
        "worker_name": "weather",
        "worker_request": "Miami?",
        "worker_response": HOT,
        "internal_tool_calls": [{"tool": "get_weather", "input": {"city_name": "Miami"}}],
        "status": "ok",
    }


async def test_a_failing_worker_is_marked_and_a_failing_model_is_an_error_without_insides() -> None:
    stock = ScriptedModel([ConnectionError("hunter2"), call("get_stock_price", ticker="AAPL")])
    async with serving(supervisor(both(), stock=stock)) as client:
        answer = await client.post("/chat/complete", json={"message": "Both?", "session_id": new_session()})
        assert [each["status"] for each in answer.json()["worker_details"]] == ["ok", "failed"]
        assert "hunter2" not in answer.text
    async with serving(supervisor(ScriptedModel([ConnectionError("hunter2")]))) as client:
        answer = await client.post("/chat/complete", json={"message": "Both?", "session_id": new_session()})
        events = await streamed(client, {"message": "Both?", "session_id": new_session()})
    assert answer.status_code == 500
    assert answer.json()["error"]["type"] == "TurnFailed"
    assert "hunter2" not in answer.text + events[-1].data
    assert [event.event for event in events] == ["error"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"message": "", "session_id": new_session()}, "message"),
        ({"message": "x" * 32_001, "session_id": new_session()}, "message"),
        ({"message": 5, "session_id": new_session()}, "message"),
        ({"session_id": new_session()}, "message"),
        ({"message": "x", "session_id": "not-a-uuid"}, "session_id"),
        ({"message": "x", "session_id": ""}, "session_id"),
        ({"message": "x", "session_id": "\N{ARABIC-INDIC DIGIT ONE}" * 32}, "session_id"),
        ({"message": "x", "session_id": "+0c0db6037_34e56b419b92aa72ee456"}, "session_id"),
        ({"message": "x", "session_id": "}a0c0db60-3723-4e56-b419-b92aa72ee456{"}, "session_id"),
        ({"message": "x"}, "session_id"),
        ({"message": "x", "session_id": new_session(), "more": 1}, "more"),
    ],
    ids=range(11),
)
async def test_a_request_that_does_not_fit_is_refused_with_the_field(body: object, field: str) -> None:
    async with serving(supervisor()) as client:
        for path in ("/chat", "/chat/complete"):
            answer = await client.post(path, json=body)
            assert answer.status_code == 422
            assert [each["field"] for each in answer.json()["error"]["details"]] == [field]


async def test_the_longest_message_and_any_form_of_a_uuid_are_taken() -> None:
    async with serving(supervisor()) as client:
        session = new_session()
        forms = (session, session.upper(), session.replace("-", ""), f"urn:uuid:{session}", f"{{{session}}}")
        for given, message in zip(forms, ("\N{GRINNING FACE}" * 32_000, *"2345"), strict=True):
            answer = await client.post("/chat/complete", json={"message": message, "session_id": given})
            assert answer.status_code == 200
        assert len((await client.get(f"/chat/{session}")).json()["turns"]) == 5
        assert (await client.get(f"/chat/{new_session()}")).json()["turns"] == []
        assert (await client.get("/chat/nobody")).status_code == 422


@pytest.mark.parametrize(
    ("headers", "query", "status"),
    [
        ({"Idempotency-Key": "x" * 201}, "", 422),
        ({"Idempotency-Key": ""}, "", 422),
        ({"Last-Event-ID": "nonsense"}, "", 400),
        ({}, "?detach=perhaps", 422),
    ],
    ids=["long", "empty", "id", "detach"],
)
async def test_headers_that_do_not_fit_are_refused(headers: dict[str, str], query: str, status: int) -> None:
    async with serving(supervisor()) as client:
        body = {"message": "one", "session_id": new_session()}
        assert (await client.post(f"/chat{query}", json=body, headers=headers)).status_code == status


async def test_a_key_joins_its_turn_and_stands_for_one_message() -> None:
    gate = Gate(FunctionModel(echo), is_open=True)
    async with serving(supervisor(gate)) as client:
        session = new_session()
        headers = {"Idempotency-Key": "k"}
        one = await client.post("/chat/complete", json={"message": "one", "session_id": session}, headers=headers)
        same = await client.post("/chat/complete", json={"message": "one", "session_id": session}, headers=headers)
        other = await client.post("/chat/complete", json={"message": "two", "session_id": session}, headers=headers)
    assert one.json() == same.json()
    assert gate.asked == 1
    assert (other.status_code, other.json()["error"]["type"]) == (422, "KeyReused")


async def test_what_keeps_a_turn_from_beginning_has_its_own_status() -> None:
    async with serving(supervisor()) as client:
        session, key = new_session(), {"Idempotency-Key": "k"}
        body = {"message": "one", "session_id": session}
        order = {"workflow": "supervisor", "request": "one"}
        await client.post("/runs", json=order, headers={"Idempotency-Key": f"{session}/k"})
        for path in ("/chat", "/chat/complete"):
            taken = await client.post(path, json=body, headers=key)
            assert (taken.status_code, taken.json()["error"]["type"]) == (422, "KeyReused")
        await client.post("/runs", json={**order, "run_id": f"{session}-0"})
        conflict = await client.post("/chat/complete", json=body)
    assert (conflict.status_code, conflict.json()["error"]["type"]) == (409, "RunConflict")


async def test_a_new_message_with_an_old_event_id_is_not_lost() -> None:
    async with serving(supervisor()) as client:
        body = {"message": "one", "session_id": new_session()}
        last = (await streamed(client, body))[-1].id
        refused = await client.post("/chat", json=body, headers={"Idempotency-Key": "new", "Last-Event-ID": last})
    assert (refused.status_code, refused.json()["error"]["type"]) == (400, "InvalidEventId")


class Keyless(ScriptedModel):
    name = "large"
    secrets = ()


async def test_health_tells_of_each_model_unless_the_application_does() -> None:
    async def look() -> str:
        return "free"

    shared = WEATHER.model_copy(update={"name": "storms"})
    agent = supervisor(Keyless(["Yes."]), workers=(*WORKERS, shared))
    async with serving(agent, checks=[HealthCheck("model of stock", look)]) as client:
        found = (await client.get("/health")).json()
    assert found["status"] == "degraded"
    assert {name: (check["status"], check["detail"]) for name, check in found["checks"].items()} == {
        "store": ("ok", "takes writes"),
        "model large": ("degraded", "LookupError: it has no key: set the variable of its provider, or give api_key="),
        "model of weather": ("ok", "needs no key"),
        "model of stock": ("ok", "free"),
    }


async def test_the_document_describes_the_routes_of_a_supervisor() -> None:
    from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # it has no stubs

    def check(path: str, method: str, answer: httpx.Response) -> None:
        described = document["paths"][path][method]["responses"][str(answer.status_code)]
        schema = described["content"]["application/json"]["schema"]
        Draft202012Validator({**schema, "components": document["components"]}).validate(answer.json())

    async with serving(supervisor(both())) as client:
        document = (await client.get("/openapi.json")).json()
        body = {"message": "one", "session_id": new_session()}
        check("/chat/complete", "post", await client.post("/chat/complete", json=body))
        check("/chat/complete", "post", await client.post("/chat/complete?detach=perhaps", json=body))
        check("/chat/{session_id}", "get", await client.get(f"/chat/{body['session_id']}"))
        check("/chat/{session_id}", "get", await client.get("/chat/nobody"))
        found = {path: list(methods) for path, methods in document["paths"].items() if path.startswith("/chat")}
        assert found == {
            "/chat": ["post"],
            "/chat/complete": ["post"],
            "/chat/{session_id}": ["get"],
            "/chat/{session_id}/events": ["get"],
        }


async def test_numbers_that_json_has_not_are_no_failure() -> None:
    asked = ModelResponse(calls=(ToolCall(id="1", name="ask_weather_agent", arguments='{"request": "x", "n": NaN}'),))
    async with serving(supervisor(ScriptedModel([asked, "Odd."]))) as client:
        body = {"message": "one", "session_id": new_session()}
        whole = await client.post("/chat/complete", json=body, headers={"Idempotency-Key": "k"})
        async with aconnect_sse(client, "POST", "/chat", json=body, headers={"Idempotency-Key": "k"}) as source:
            events = [event async for event in source.aiter_sse()]
        shown = await client.get(f"/chat/{body['session_id']}")
    assert [answer.status_code for answer in (whole, shown)] == [200, 200]
    assert "NaN" not in whole.text + shown.text + "".join(event.data for event in events)


async def test_a_busy_session_may_refuse() -> None:
    gate = Gate(FunctionModel(echo))
    async with serving(supervisor(gate), turns=TurnLimits(waits=False)) as client, anyio.create_task_group() as group:
        body = {"message": "one", "session_id": new_session()}
        group.start_soon(lambda: client.post("/chat/complete", json=body))
        with anyio.fail_after(20):
            await gate.reached.wait()
        refused = await client.post("/chat/complete", json=body)
        gate.opened.set()
    assert (refused.status_code, refused.headers["Retry-After"]) == (409, "1")


async def test_wrong_keys_and_scopes_are_refused_and_the_61st_request_of_a_minute() -> None:
    keys = [Key.of(SECRET, name="app", scopes=[Scope.RUN])]
    async with serving(supervisor(), keys=keys, limits=None) as client:
        body = {"message": "one", "session_id": new_session()}
        for given in ({}, {"X-API-Key": "a-wrong-secret-though"}):
            assert (await client.post("/chat", json=body, headers=given)).status_code == 401
        headers = {"X-API-Key": SECRET}
        assert (await client.get(f"/chat/{new_session()}", headers=headers)).status_code == 403
        answers = [(await client.post("/chat", json={}, headers=headers)) for _ in range(60)]
        assert [answer.status_code for answer in answers] == [422] * 59 + [429]
        assert int(answers[-1].headers["Retry-After"]) > 0


async def test_a_worker_is_approved_through_the_routes_of_runs() -> None:
    careful = WEATHER.model_copy(update={"needs_approval": True})
    model = ScriptedModel([call("ask_weather_agent", request="Miami?"), "Hot."])
    workers = (careful, STOCK)
    agent = supervisor(model, weather=weather_model(), stock=stock_model(), workers=workers)
    async with serving(agent, workers=workers) as client, anyio.create_task_group() as group:
        session, answers = new_session(), []

        async def ask() -> None:
            answers.append(await client.post("/chat/complete", json={"message": "Miami?", "session_id": session}))

        group.start_soon(ask)
        with anyio.fail_after(20):
            while not (waits := (await client.get("/waits")).json()["waits"]):  # noqa: ASYNC110  # over HTTP there is no event
                await anyio.sleep(0.01)
        assert (await client.get(f"/chat/{session}")).json()["turns"][0]["status"] == "waiting"
        wait = waits[0]["wait_id"].replace("#", "%23").replace("/", "%2F")
        answered = await client.post(f"/waits/{wait}", json={"allow": True})
        assert answered.status_code in (200, 204), answered.text
    assert answers[0].json()["worker_details"][0]["status"] == "ok"


async def test_events_are_one_line_of_json_each() -> None:
    async with serving(supervisor(FunctionModel(lambda _: "two\nlines\r\n€"))) as client:
        answer = await client.post("/chat", json={"message": "x", "session_id": new_session()})
    lines = answer.text.split("\n")
    assert {line.partition(":")[0] for line in lines} <= {"event", "id", "data", ""}
    told = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    assert "".join(each.get("content", "") for each in told) == "two\nlines\r\n€"


async def test_a_client_that_has_gone_leaves_its_turn_to_the_grace() -> None:
    gate, sent_back = Gate(FunctionModel(echo)), []
    agent, session = supervisor(gate), new_session()
    runner = Runner(MemoryStore(), workflows=[agent])
    app = create_supervisor_app(runner, agent, WORKERS, turns=TurnLimits(grace=0.01))
    body = [{"type": "http.request", "body": json.dumps({"message": "x", "session_id": session}).encode()}]

    async def receive() -> Any:
        if body:
            return body.pop()
        await gate.reached.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent_back.append(message)

    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/chat/complete",
        "raw_path": b"/chat/complete",
        "headers": headers,
    }
    scope |= {"query_string": b"", "client": ("127.0.0.1", 1), "server": ("localhost", 80), "scheme": "http"}
    with anyio.fail_after(20):
        async with app.router.lifespan_context(app):
            await app({**scope, "http_version": "1.1"}, receive, send)
            with pytest.raises(RunCancelled):
                await (await runner.get(f"{session}-0")).result()
            assert sent_back[0]["status"] == 204
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
                assert (await client.get(f"/chat/{session}")).json()["turns"][0]["status"] == "cancelled"


@pytest.mark.parametrize(
    ("error", "count"),
    [(RunnerStopped("r"), 0), (SessionBusy("s"), 1), (RunConflict("r", "message"), 1)],
    ids=["end", "busy", "conflict"],
)
async def test_what_goes_wrong_once_the_answer_has_begun_is_its_last_event(error: Exception, count: int) -> None:
    @asynccontextmanager
    async def failing() -> AsyncIterator[Any]:
        raise error
        yield

    events = [event async for event in sent(ChatTurn("s", None, failing))]
    assert len(events) == count
    assert all(event.startswith(b"event: error\ndata: ") for event in events)


async def test_a_session_shows_turns_that_have_failed() -> None:
    async with serving(supervisor(ScriptedModel([]))) as client:
        session = new_session()
        await client.post("/chat/complete", json={"message": "x", "session_id": session})
        (turn,) = (await client.get(f"/chat/{session}")).json()["turns"]
    assert (turn["status"], turn["response"]) == ("failed", "")
