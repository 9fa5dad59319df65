"""Who wants to do harm, or has very much: other sites, lesser keys, hostile texts, runs with many waits and keys."""

import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any
from urllib.parse import quote

import pytest
from tests.service.inspector import _office as office
from tests.service.inspector._bank import opened
from tests.service.inspector._pages import pages
from tests.service.inspector.test_pages import HOSTILE, _weight

from stagepost.agents import Agent, FunctionModel, ModelResponse, Tasks, call, tool
from stagepost.checkpoint import MemoryStore, RunStatus
from stagepost.service import Key
from stagepost.service._inspector import _answering
from stagepost.service._inspector._acts import ACTS
from stagepost.workflows import Chain, Parallel, Runner, State, StepContext, Wait, step

SECRET = "x" * 40
DOORS = (
    *(f"/runs/mail-1/do/{act}" for act in ACTS),
    *(f"/many/{act.name}" for act in ACTS.values() if act.of_many),
    "/waits/order-1041/release",
    "/waits/clerk-1/tool",
    "/hub/letters/none",
)
OTHERS: Sequence[Mapping[str, str]] = (
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"origin": "http://localhost.evil.example"},
    {"origin": "http://localhost:9"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
)


async def statuses(runner: Runner) -> Mapping[str, RunStatus]:
    return {each.run_id: each.status for each in (await runner.runs.list(limit=50)).items}


async def test_no_door_opens_for_a_page_of_another_site() -> None:
    runner = office.runner(deps={"printer": True})
    async with pages(runner, filled=True) as http:
        before = await statuses(runner)
        for door in DOORS:
            for headers in OTHERS:
                form = {"sure": "yes", "text": "x", "value": "true", "choice": "answer"}
                refused = await http.post(f"/inspect{door}", data=form, headers=headers)
                assert refused.status_code == 403, (door, headers)
            await http.get(f"/inspect{door}", params={"sure": "yes"}, headers={"sec-fetch-site": "cross-site"})
        assert await statuses(runner) == before


@pytest.mark.parametrize(
    ("path", "did", "said"),
    [
        ("/runs/mail-1", "cancel", "The run was cancelled."),
        ("/runs/mail-1", "answer", "The answer was stored"),
        ("", "answer", "The answer was stored"),
        ("/runs", "delete", "The run was deleted."),
    ],
)
async def test_a_link_makes_no_page_say_that_something_was_done(path: str, did: str, said: str) -> None:
    async with pages() as http:
        assert said not in (await http.get(f"/inspect{path}?did={did}")).text


async def test_what_was_done_is_said_once_and_on_its_page_only() -> None:
    async with pages() as http:
        done = await http.post("/inspect/runs/mail-1/do/cancel", data={})
        cookie = next(iter(http.cookies.items()))
        assert {"HttpOnly", "SameSite=lax", "Max-Age=60"} <= set(done.headers["set-cookie"].split("; "))
        assert "was cancelled" not in (await http.get("/inspect/runs/mail-0")).text
        assert "The run was cancelled." in (await http.get("/inspect/runs/mail-1")).text
        assert "The run was cancelled." not in (await http.get("/inspect/runs/mail-1")).text
        moved = {f"stagepost-did-{sha256(b'/inspect/runs/mail-0').hexdigest()[:16]}": cookie[1]}
        http.cookies.update(moved)
        assert "The run was cancelled." not in (await http.get("/inspect/runs/mail-0")).text


async def test_a_run_that_was_deleted_is_said_on_the_list() -> None:
    async with pages() as http:
        done = await http.post("/inspect/runs/order-1040/do/delete", data={"sure": "yes"})
        assert done.headers["location"] == "/inspect/runs"
        assert "The run was deleted." in (await http.get("/inspect/runs")).text


@pytest.mark.parametrize("value", ["", "a.b", "x.9999999999.00", "é.9999999999.00", "VGhl.x.y", "VA.1.00"])
async def test_a_cookie_that_was_made_by_somebody_else_says_nothing(value: str) -> None:
    name = f"stagepost-did-{sha256(b'/inspect/runs/mail-1').hexdigest()[:16]}"
    async with pages() as http:
        answer = await http.get("/inspect/runs/mail-1", headers=[(b"cookie", f"{name}={value}".encode())])
        assert answer.status_code == 200
        assert 'class="note is-good"' not in answer.text


async def test_a_login_without_an_origin_opens_no_door() -> None:
    runner = office.runner()
    async with pages(runner, filled=True, keys=[Key.of(SECRET, name="ann", scopes=["read", "run", "admin"])]) as http:
        await http.post("/login", data={"key": SECRET}, headers={"origin": "http://localhost"})
        assert (await http.get("/inspect/runs/mail-1/do/cancel")).status_code == 200
        for door in DOORS:
            assert (await http.post(f"/inspect{door}", data={"sure": "yes"})).status_code == 403, door
        assert (await runner.runs.info("mail-1")).status is RunStatus.WAITING


@pytest.mark.parametrize(
    ("scope", "allowed"),
    [
        ("read", set[str]()),
        ("run", {"resume", "tell", "signal", "cancel"}),
        ("decide", set[str]()),
        ("admin", set(ACTS)),
    ],
)
async def test_each_act_needs_its_scope_on_its_page_and_when_it_is_done(scope: str, allowed: set[str]) -> None:
    runner = office.runner()
    key = Key.of(SECRET, name="ann", scopes=sorted({"read", scope}))
    async with pages(runner, filled=True, keys=[key]) as http:
        http.headers["X-API-Key"] = SECRET
        before = await statuses(runner)
        for act in ACTS.values():
            doors = [f"/runs/mail-1/do/{act.name}", *([f"/many/{act.name}"] if act.of_many else [])]
            for door in doors:
                page = await http.get(f"/inspect{door}")
                assert page.status_code == (200 if act.name in allowed else 403), door
                if act.name not in allowed:
                    done = await http.post(f"/inspect{door}", data={"sure": "yes", "text": "x"})
                    assert done.status_code == 403, door
        offered = set(re.findall(r"/runs/mail-1/do/(\w+)", (await http.get("/inspect/runs/mail-1")).text))
        assert offered <= allowed
        assert ("<form" in (await http.get("/inspect/waits/order-1041/release")).text) is (scope in ("decide", "admin"))
        assert await statuses(runner) == before


async def test_whatever_a_model_or_a_tool_has_written_is_text() -> None:
    @tool(needs_approval=True)
    async def erase(name: str) -> str:
        """Erase it."""
        return f"{HOSTILE}{name}"

    def think(request: Any) -> ModelResponse:
        if request.messages[-1].role == "tool":
            return ModelResponse(text=HOSTILE)
        return ModelResponse(text=HOSTILE, thinking=HOSTILE, calls=[call("erase", name=HOSTILE)])

    runner = Runner(
        MemoryStore(), workflows=[Agent("writer", HOSTILE[:25], model=FunctionModel(think), tools=[erase])], keep="all"
    )
    async with pages(runner, filled=False) as http:
        await (await Tasks(runner).start("writer", HOSTILE, task_id="w-1")).settled()
        door = f"/waits/{quote((await runner.waits('w-1'))[0].id)}"
        for path in ("", door, "/runs/w-1/conversation", "/runs/w-1"):
            page = (await http.get(f"/inspect{path}")).text
            assert "<script>alert" not in page, path
            assert not re.search("[\x00\x1b\u202e]", page), path
        form = {"choice": "deny", "reason": HOSTILE}
        assert (await http.post(f"/inspect{door}", data=form)).status_code == 303
        await (await runner.get("w-1")).settled()
        for path in ("/runs/w-1/conversation", "/runs/w-1", "/runs/w-1/history"):
            page = (await http.get(f"/inspect{path}")).text
            assert "&lt;script&gt;" in page, path
            assert "<script>alert" not in page, path
            assert not re.search("[\x00\x1b\u202e]", page), path
        assert (await http.get(f"/inspect{door}")).status_code == 404


@pytest.mark.parametrize("length", [2_000, 1_000_000])
async def test_calls_with_long_arguments_keep_the_inbox_small_and_are_allowed_as_they_are(length: int) -> None:
    given: list[str] = []

    @tool(needs_approval=True)
    async def send(text: str) -> str:
        """Send it."""
        given.append(text)
        return "sent"

    def think(request: Any) -> Any:
        return "done" if request.messages[-1].role == "tool" else call("send", text=HOSTILE + "x" * length)

    runner = Runner(MemoryStore(), workflows=[Agent("sender", "Send it.", model=FunctionModel(think), tools=[send])])
    async with pages(runner, filled=False) as http:
        for number in range(15):
            await (await Tasks(runner).start("sender", "go", task_id=f"s-{number:02}")).settled()
        inbox = await http.get("/inspect")
        assert inbox.text.count("<article") == 15
        assert len(inbox.content) + await _weight(http, inbox.text) < 60_000
        door = f"/inspect/waits/{quote((await runner.waits('s-00'))[0].id)}"
        page = (await http.get(door)).text
        assert ("too long to be changed here" in page) is (length > 4_000)
        assert ('name="arguments"' in page) is (length < 4_000)
        assert (await http.post(door, data={"choice": "allow"})).status_code == 303
        await (await runner.get("s-00")).settled()
        assert given == [HOSTILE + "x" * length]


async def test_a_conversation_of_long_messages_is_a_small_page() -> None:
    def think(request: Any) -> Any:
        said = len([each for each in request.messages if each.role == "assistant"])
        text = f"{said} " + "word " * 1_200
        return text if said == 12 else ModelResponse(text=text, thinking=text, calls=[call("note", text=text)])

    @tool
    async def note(text: str) -> str:
        """Note it."""
        return text

    runner = Runner(MemoryStore(), workflows=[Agent("writer", "Write.", model=FunctionModel(think), tools=[note])])
    async with pages(runner, filled=False) as http:
        await (await Tasks(runner).start("writer", "go", task_id="w-1")).settled()
        page = await http.get("/inspect/runs/w-1/conversation")
        assert "Show all 6,0" in page.text
        assert page.text.count('class="call"') == 12
        assert len(page.content) + await _weight(http, page.text) < 60_000


async def test_names_in_addresses_are_names() -> None:
    async with opened() as (runner, _, _), pages(runner) as http:
        for path in (
            "/runs/..%2fhub",
            "/runs/%2e%2e",
            "/runs/a%2fb",
            "/runs/%3Cscript%3Ealert(1)%3C%2Fscript%3E",
            "/runs/none/steps/99999999999999999999999",
            "/waits/%2e%2e%2fruns",
            "/waits/none",
            "/hub/agents/..%2f..",
            "/hub/agents/%3Cscript%3Ealert(1)%3C%2Fscript%3E",
            "/hub/letters/%3Cscript%3Ealert(1)%3C%2Fscript%3E",
            "/many/%2e%2e",
        ):
            answer = await http.get(f"/inspect{path}", headers={"accept": "text/html"})
            assert answer.status_code in (400, 404, 422), (path, answer.status_code)
            assert "<script>alert" not in answer.text, path


async def test_pages_stay_small_and_each_wait_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_answering, "_PAGE", 7)
    word = Chain("word", [Wait("word", expect=str)])

    @step
    async def make(_: State, context: StepContext) -> Mapping[str, object]:
        for number in range(60):
            await context.once(f"effect-{number}", nothing)
        return {f"key{number:03}": "<b>" + "v" * 3_000 for number in range(200)}

    wide = Chain("wide", [make, step("next", make_more), Wait("word", expect=str)])
    runner = Runner(MemoryStore(), workflows=[Chain("many", [Parallel("each", word, over="items")]), wide], keep="all")
    async with pages(runner, filled=False) as http:
        await (await runner.start(runner.workflow("many"), {"items": list(range(60))}, run_id="many-1")).settled()
        await (await runner.start(runner.workflow("wide"), {}, run_id="wide-1")).settled()
        for path in ("/runs/many-1", "/runs/wide-1", "/runs/wide-1/steps/3", "?run=many-1"):
            page = await http.get(f"/inspect{path}")
            assert len(page.content) + await _weight(http, page.text) < 60_000, path
        assert "These are 20 of 60 waits." in (await http.get("/inspect/runs/many-1")).text
        assert "161 more keys." in (await http.get("/inspect/runs/wide-1")).text
        assert "20 more effects." in (await http.get("/inspect/runs/wide-1")).text
        given = (await http.get("/inspect/runs/wide-1/steps/3")).text
        assert "160 more keys." in given
        then = await http.get("/inspect/runs/wide-1/whole?of=state&at=2")
        assert set(then.json()) == {f"key{number:03}" for number in range(200)}
        assert len((await http.get("/inspect/runs/wide-1/whole?of=state")).json()) == 201
        assert (await http.get("/inspect/runs/wide-1/whole?of=state&at=99")).status_code == 404
        waits = await runner.waits("many-1")
        for wait in (waits[0], waits[31], waits[59]):
            door = f"/inspect/waits/{quote(wait.id)}"
            assert (await http.get(door)).status_code == 200, wait.id
            assert (await http.post(door, data={"value": "yes"})).status_code == 303


async def test_the_inbox_of_a_run_has_its_waits_alone() -> None:
    async with pages() as http:
        page = (await http.get("/inspect?run=clerk-1")).text
        assert set(re.findall(r'id="wait-([^/"]+)/', page)) == {"clerk-1"}
        assert 'href="/inspect?run=clerk-1&amp;kind=timer"' in page
        assert (await http.get("/inspect?run=none")).status_code == 404


async def test_a_preview_says_how_many_runs_end_and_are_deleted_with_it() -> None:
    word = Chain("word", [Wait("word", expect=str)])

    async def begin(number: int, context: StepContext) -> None:
        await context.child(word, str(number), {})

    runner = Runner(MemoryStore(), workflows=[Chain("many", [Parallel("each", begin, over="items")]), word])
    async with pages(runner, filled=False) as http:
        await (await runner.start(runner.workflow("many"), {"items": list(range(12))}, run_id="many-1")).settled()
        assert "Runs below it end, too, 12 of them: " in (await http.get("/inspect/runs/many-1/do/cancel")).text
        waits = (await http.get("/inspect/runs/many-1/do/cancel")).text
        assert "and 2 more any more." in waits
        await http.post("/inspect/runs/many-1/do/cancel", data={})
        assert (
            "Runs below it are forgotten, too, 12 of them: " in (await http.get("/inspect/runs/many-1/do/delete")).text
        )


async def nothing() -> None:
    """An effect that leaves nothing."""


async def make_more(_: State) -> Mapping[str, object]:
    return {"more": 1}
