"""The routes of runs: what they answer, and what they refuse."""

from datetime import timedelta
from typing import Any
from urllib.parse import quote

import anyio
import anyio.lowlevel
import httpx
import pytest
from tests.service.http._page import PAGE, written
from tests.service.http._runs import client_of, error_of, service, started, workflows

from stagepost.checkpoint import MemoryStore
from stagepost.service import Key, RequestLimits, Scope, create_app, new_key
from stagepost.service._http._runs._operations import OPERATIONS
from stagepost.service._verbs._scopes import SCOPES
from stagepost.service._verbs._verbs import Verbs
from stagepost.workflows import Runner


async def test_a_run_is_started_answered_and_shown() -> None:
    async with service() as http:
        run_id = await started(http, "digest", run_id="digest-1", labels={"customer": "7"})
        assert run_id == "digest-1"
        (wait,) = (await http.get("/waits", params={"run": run_id})).json()["waits"]
        answered = await http.post(f"/waits/{wait['wait_id']}", json={"answer": True})
        assert (answered.status_code, answered.json()["action"]) == (200, "answered")
        await http.get(f"/runs/{run_id}/events")
        shown = (await http.get(f"/runs/{run_id}")).json()
        assert (shown["run"]["status"], shown["state"]["approval"]) == ("completed", True)
        history = (await http.get(f"/runs/{run_id}/history", params={"limit": 2})).json()
        assert [each["type"] for each in history["items"]] == ["run", "attempt"]
        rest = (await http.get(f"/runs/{run_id}/history", params={"after": history["next"]})).json()
        assert next(each["by"] for each in rest["items"] if each.get("status") == "answered") == "local"


async def test_an_agent_is_started_with_a_request_and_has_an_output() -> None:
    async with service() as http:
        run_id = await started(http, "weather", request="Oslo?")
        assert (await http.get(f"/runs/{run_id}")).json()["output"] == "It rains."
        follow = await http.post(f"/runs/{run_id}/follow-up", json={"request": "And now?", "run_id": "next-1"})
        assert (follow.status_code, follow.json()["run_id"]) == (202, "next-1")
        assert error_of(await http.post(f"/runs/{run_id}/tell", json={"text": "Hm."}), 409) == "TaskFinished"


async def test_a_key_starts_one_run() -> None:
    async with service() as http:
        body, headers = {"workflow": "mail", "state": {}}, {"Idempotency-Key": "order-7"}
        first, again = [await http.post("/runs", json=body, headers=headers) for _ in range(2)]
        assert first.json()["run_id"] == again.json()["run_id"]
        other = await http.post("/runs", json={"workflow": "mail", "state": {"n": 1}}, headers=headers)
        assert error_of(other, 409) == "RunConflict"
        for key in ("", "x" * 201):
            refused = await http.post("/runs", json=body, headers={"Idempotency-Key": key})
            assert error_of(refused, 400) == "InputRefused"


async def test_runs_are_listed_by_pages_both_ways() -> None:
    async with service() as http:
        for n in range(3):
            await started(http, "quick", run_id=f"quick-{n}", labels={"n": str(n)})
        first = (await http.get("/runs", params={"limit": 2})).json()
        assert [each["run_id"] for each in first["runs"]] == ["quick-2", "quick-1"]
        second = (await http.get("/runs", params={"limit": 2, "after": first["next"]})).json()
        assert [each["run_id"] for each in second["runs"]] == ["quick-0"]
        back = (await http.get("/runs", params={"limit": 2, "before": second["previous"]})).json()
        assert back["runs"] == first["runs"]
        found = await http.get("/runs", params={"label": "n=1", "status": ["completed", "open"], "workflow": "quick"})
        assert [each["run_id"] for each in found.json()["runs"]] == ["quick-1"]
        counts = (await http.get("/run-counts", params={"by": "workflow"})).json()
        assert (counts["total"], counts["counts"]) == (3, {"quick": 3})


async def test_calls_of_agents_are_approved_and_denied() -> None:
    async with service() as http:
        run_id = await started(http, "mailer", request="Write.")
        waits = (await http.get("/waits", params={"kind": "answer"})).json()["waits"]
        ann, bob = (each["wait_id"] for each in waits)
        allowed = await http.post(f"/waits/{quote(ann)}", json={"allow": True, "arguments": {"to": "eve"}})
        denied = await http.post(f"/waits/{quote(bob, safe='')}", json={"deny": "no"})
        assert (allowed.status_code, denied.status_code) == (200, 200)
        told = (await http.get(f"/runs/{run_id}/events")).text
        assert "sent to eve" in told
        assert '"type":"approval_decided"' in told
        assert (await http.get(f"/runs/{run_id}")).json()["output"] == "Done."


async def test_a_value_for_an_external_tool_is_given_as_it_is() -> None:
    async with service() as http:
        run_id = await started(http, "buyer", request="Tea?")
        (wait,) = (await http.get("/waits", params={"run": run_id})).json()["waits"]
        assert (await http.post(f"/waits/{quote(wait['wait_id'])}", json={"answer": 3})).status_code == 200
        await http.get(f"/runs/{run_id}/events")
        assert (await http.get(f"/runs/{run_id}")).json()["output"] == "It costs 3."


async def test_runs_are_signalled_cancelled_resumed_forked_and_deleted() -> None:
    async with service() as http:
        run_id = await started(http, "mail")
        signal = {"name": "letter", "value": "Dear Ada", "dedup": "1"}
        assert [(await http.post(f"/runs/{run_id}/signal", json=signal)).json()["is_new"] for _ in range(2)] == [
            True,
            False,
        ]
        other = await started(http, "mail")
        assert error_of(await http.delete(f"/runs/{other}"), 409) == "RunNotEnded"
        assert (await http.post(f"/runs/{other}/cancel")).json()["action"] == "cancelled"
        assert error_of(await http.post(f"/runs/{other}/cancel"), 409) == "RunNotOpen"
        assert (await http.delete(f"/runs/{other}")).json()["action"] == "deleted"
        failed = await started(http, "quick", state={"boom": "nowhere"})
        assert (await http.post(f"/runs/{failed}/resume")).status_code == 202
        fork = await http.post(f"/runs/{failed}/fork", json={"at": "draft", "changes": {"boom": None}, "run_id": "f-1"})
        assert (fork.status_code, fork.json()["run_id"]) == (202, "f-1")
        assert error_of(await http.post(f"/runs/{failed}/retry-items", json={}), 409) == "ForkRefused"


async def test_an_id_that_was_deleted_is_gone() -> None:
    async with service() as http:
        run_id = await started(http, "quick", run_id="quick-1")
        await http.delete(f"/runs/{run_id}")
        answer = await http.get(f"/runs/{run_id}")
        assert error_of(answer, 404) == "RunNotFound"


async def test_a_key_of_a_run_that_was_deleted_stays_taken() -> None:
    runner = Runner(MemoryStore(), workflows=workflows(), keep="none")
    async with client_of(create_app(runner, limits=RequestLimits.none())) as http:
        begin, headers = {"workflow": "quick", "state": {}, "run_id": "quick-1"}, {"Idempotency-Key": "k"}
        assert (await http.post("/runs", json=begin, headers=headers)).status_code == 202
        await until_gone(http, "quick-1")
        assert error_of(await http.post("/runs", json=begin, headers=headers), 410) == "RunForgotten"


async def until_gone(http: httpx.AsyncClient, run_id: str) -> None:
    with anyio.fail_after(10):
        while (await http.get(f"/runs/{run_id}")).status_code != 404:
            await anyio.lowlevel.checkpoint()


async def test_a_run_that_cannot_go_on_takes_nothing_and_says_why() -> None:
    async with MemoryStore() as store:
        async with Runner(store, workflows=workflows()) as runner:
            await (await runner.start(runner.workflow("digest"), {}, run_id="digest-1")).settled()
        others = [each for each in workflows() if each.name != "digest"]
        async with Runner(store, workflows=others) as runner, client_of(create_app(runner)) as http:
            await runner.recover()
            (wait,) = (await http.get("/waits")).json()["waits"]
            assert "digest" in wait["blocked"]
            refused = await http.post("/waits/digest-1/approval", json={"answer": True})
            assert error_of(refused, 409) == "UnknownWorkflow"
            shown = await http.get("/runs/digest-1")
            assert (shown.status_code, "digest" in shown.json()["run"]["blocked"]) == (200, True)
            assert (await http.post("/runs/digest-1/cancel")).status_code == 200


async def test_a_service_that_ends_says_when_to_come_back() -> None:
    async with MemoryStore() as store:
        runner = Runner(store, workflows=workflows())
        async with runner:
            app = create_app(runner, limits=RequestLimits.none())
        refused = await httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost").get("/runs")
    assert error_of(refused, 503) == "NotServing"
    assert int(refused.headers["retry-after"]) > 0


REFUSED: list[tuple[str, str, Any, int, str]] = [
    ("POST", "/runs", {"workflow": "nothing", "state": {}}, 404, "WorkflowNotFound"),
    ("POST", "/runs", {"workflow": "weather", "state": {}}, 400, "InputRefused"),
    ("POST", "/runs", {"workflow": "digest", "request": "x"}, 400, "InputRefused"),
    ("POST", "/runs", {"workflow": "weather", "request": {"no": 1}}, 422, "InvalidRequest"),
    ("POST", "/runs", {"workflow": "digest", "state": {}, "run_id": "a/b"}, 400, "InvalidName"),
    (
        "POST",
        "/runs",
        {"workflow": "digest", "state": {}, "labels": dict.fromkeys("abcdefghijklmnopq", "x")},
        422,
        "InvalidBody",
    ),
    ("POST", "/runs", {"workflow": "digest", "state": {"run": "r"}, "key": "k"}, 422, "InvalidBody"),
    ("POST", "/runs", {"workflow": "weather", "state": {}, "request": "x"}, 422, "InvalidBody"),
    ("POST", "/runs", [], 422, "InvalidBody"),
    ("GET", "/runs?after=zzz", None, 400, "InputRefused"),
    ("GET", "/runs?after=a&before=b", None, 422, "InvalidBody"),
    ("GET", "/runs?limit=0", None, 422, "InvalidBody"),
    ("GET", "/runs?limit=1&limit=2", None, 422, "InvalidBody"),
    ("GET", "/runs?status=lost", None, 422, "InvalidBody"),
    ("GET", "/runs?since=2026-01-01T00:00:00", None, 422, "InvalidBody"),
    ("GET", "/runs?nothing=1", None, 422, "InvalidBody"),
    ("GET", "/runs?label=x", None, 422, "InvalidBody"),
    ("GET", "/runs/nobody", None, 404, "RunNotFound"),
    ("GET", "/runs/%2e%2e%2fetc", None, 400, "MalformedRequest"),
    ("GET", "/runs/nobody/history", None, 404, "RunNotFound"),
    ("GET", "/runs/digest-1/history?after=99999999999999999999", None, 422, "InvalidBody"),
    ("GET", "/runs/nobody/events", None, 404, "RunNotFound"),
    ("GET", "/runs/nobody/events?view=watch", None, 404, "RunNotFound"),
    ("GET", "/runs/digest-1/events?after=zzz", None, 400, "CursorRefused"),
    ("GET", "/runs/digest-1/events?after=999999", None, 400, "CursorRefused"),
    ("GET", "/runs/digest-1/events?after=" + "9" * 5000, None, 422, "InvalidBody"),
    ("GET", "/waits?run=nobody", None, 404, "RunNotFound"),
    ("GET", "/waits?kind=else", None, 422, "InvalidBody"),
    ("POST", "/waits/digest-1/approval", {"answer": "maybe"}, 422, "CannotStore"),
    ("POST", "/waits/digest-1/approval", {}, 422, "InvalidBody"),
    ("POST", "/waits/digest-1/approval", {"answer": True, "deny": "x"}, 422, "InvalidBody"),
    ("POST", "/waits/digest-1/approval", {"answer": True, "arguments": {}}, 422, "InvalidBody"),
    ("POST", "/waits/digest-1/approval", {"result": None, "answer": None}, 422, "InvalidBody"),
    ("POST", "/waits/digest-1/approval", {"result": "x"}, 404, "WaitNotFound"),
    ("POST", "/waits/digest-1/approval", {"retry": True}, 404, "WaitNotFound"),
    ("POST", "/waits/digest-1/else", {"answer": True}, 404, "WaitNotFound"),
    ("POST", "/waits/nobody/approval", {"answer": True}, 404, "RunNotFound"),
    ("POST", "/waits/no-slash", {"answer": True}, 404, "RunNotFound"),
    ("POST", "/runs/digest-1/tell", {"text": "x"}, 422, "NotAnAgent"),
    ("POST", "/runs/digest-1/signal", {"name": "letter"}, 404, "UnknownSignal"),
    ("POST", "/runs/digest-1/settle", {"key": "k"}, 422, "InvalidBody"),
    ("POST", "/runs/digest-1/settle", {"key": "k", "retry": True}, 404, "EffectNotFound"),
    ("POST", "/runs/digest-1/fork", {"at": 99}, 404, "NotInHistory"),
    ("POST", "/runs/digest-1/fork", {"effects": "x"}, 422, "InvalidBody"),
    ("POST", "/runs/digest-1/follow-up", {"request": "x"}, 422, "NotAnAgent"),
    ("GET", "/conversations/talk", None, 422, "InvalidBody"),
    ("GET", "/conversations/talk?agent=nobody", None, 404, "WorkflowNotFound"),
    ("GET", "/conversations/talk?agent=digest", None, 422, "NotAnAgent"),
    ("GET", "/conversations/%20?agent=weather", None, 400, "InvalidName"),
    ("POST", "/conversations/" + "x" * 81, {"agent": "weather", "request": "x"}, 400, "InputRefused"),
    ("POST", "/conversations/talk", {"agent": "weather", "request": {"no": 1}}, 422, "InvalidRequest"),
    ("DELETE", "/schedules/a/b", None, 404, "ScheduleNotFound"),
    ("POST", "/schedules/a/b/pause", None, 404, "ScheduleNotFound"),
    ("GET", "/schedules?after=%00", None, 200, ""),
]


async def test_what_makes_no_sense_is_refused_by_name() -> None:
    async with service() as http:
        await started(http, "digest", run_id="digest-1")
        for method, path, body, status, kind in REFUSED:
            answer = await http.request(method, path, **({} if body is None else {"json": body}))
            found = answer.json().get("error", {}).get("type", "")
            assert (answer.status_code, found) == (status, kind), (method, path, body, answer.text)


async def test_a_refused_body_names_its_fields_and_repeats_nothing() -> None:
    async with service() as http:
        refused = await http.post("/runs", json={"workflow": 7, "labels": {"a": ["hidden"]}, "else": "hidden"})
        assert [each["field"] for each in refused.json()["error"]["details"]] == ["workflow", "labels.a", "else"]
        assert "hidden" not in refused.text


async def test_schedules_are_listed_paused_and_deleted() -> None:
    async with (
        MemoryStore() as store,
        Runner(store, workflows=workflows()) as runner,
        client_of(create_app(runner, limits=RequestLimits.none())) as http,
    ):
        await runner.schedule(runner.workflow("quick"), timedelta(days=1), key="each/day")
        (row,) = (await http.get("/schedules")).json()["schedules"]
        assert row["key"] == "each/day"
        assert (await http.post("/schedules/each/day/pause")).json()["action"] == "paused"
        assert (await http.post("/schedules/each%2Fday/resume")).json()["next_due"] is not None
        assert (await http.delete("/schedules/each/day")).json()["action"] == "deleted"


def test_each_verb_has_a_scope_and_each_operation_a_verb() -> None:
    verbs = {name for name in dir(Verbs) if not name.startswith("_")}
    assert set(SCOPES) == verbs
    only_pages = {
        "acts",
        "bell",
        "check",
        "hub",
        "inspect",
        "letter",
        "resend",
        "resends",
        "schema",
        "state",
        "version",
    }
    assert {each.verb for each in OPERATIONS} == verbs - only_pages - {
        "heard_all",
        "say_stream",
        "settle_wait",
        "start_stream",
        "watch",
    }
    assert set(SCOPES.values()) == set(Scope)


async def test_each_operation_is_refused_to_a_key_without_its_scope() -> None:
    made = {scope: new_key(scope.value, [scope]) for scope in Scope}
    keys: list[Key] = [key for _, key in made.values()]
    async with service(keys=keys) as http:
        for operation in OPERATIONS:
            scope = SCOPES[operation.verb]
            path = operation.path.replace(":path", "").format(run_id="r", wait_id="r/w", key="k", conversation_id="c")
            for other in set(Scope) - {scope, Scope.ADMIN}:
                refused = await http.request(operation.method, path, headers={"X-API-Key": made[other][0]})
                assert error_of(refused, 403) == "ScopeRequired"
            allowed = await http.request(operation.method, path, headers={"X-API-Key": made[scope][0]})
            assert allowed.status_code not in (401, 403), (operation, allowed.text)
            assert error_of(await http.request(operation.method, path), 401) == "KeyRequired"


async def test_the_document_describes_each_route() -> None:
    from openapi_spec_validator import validate

    async with service() as http:
        document = (await http.get("/openapi.json")).json()
    validate(document)
    found = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert found == {("GET", "/health"), *((each.method, each.path.replace(":path", "")) for each in OPERATIONS)}
    ids = [each["operationId"] for methods in document["paths"].values() for each in methods.values()]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(("path", "allowed"), [("/runs", "GET, HEAD, POST"), ("/runs/r", "DELETE, GET, HEAD")])
async def test_a_method_that_a_path_has_not_is_answered_with_those_that_it_has(path: str, allowed: str) -> None:
    async with service() as http:
        refused = await http.put(path)
    assert error_of(refused, 405) == "MethodNotAllowed"
    assert sorted(refused.headers["allow"].split(", ")) == allowed.split(", ")


async def test_answers_are_what_the_document_says() -> None:
    from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # it has no stubs

    async with service() as http:
        document = (await http.get("/openapi.json")).json()

        def check(path: str, method: str, answer: httpx.Response) -> None:
            described = document["paths"][path][method]["responses"][str(answer.status_code)]
            schema = described["content"]["application/json"]["schema"]
            Draft202012Validator({**schema, "components": document["components"]}).validate(answer.json())

        run_id = await started(http, "digest")
        check("/runs/{run_id}", "get", await http.get(f"/runs/{run_id}"))
        check("/runs", "get", await http.get("/runs"))
        check("/runs/{run_id}/history", "get", await http.get(f"/runs/{run_id}/history"))
        check("/waits", "get", await http.get("/waits"))
        check("/workflows", "get", await http.get("/workflows"))
        check("/waits/{wait_id}", "post", await http.post(f"/waits/{run_id}/approval", json={"answer": "maybe"}))
        check("/runs", "post", await http.post("/runs", json={}))
        check("/health", "get", await http.get("/health"))


def test_the_page_has_the_routes_of_the_program() -> None:
    """``python -m tests.service.http._page`` writes them anew."""
    assert written(PAGE.read_text()) == PAGE.read_text()
