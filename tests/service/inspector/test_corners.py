"""What happens seldom on the pages of the inspector."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import anyio
import httpx
import pytest
from tests.service import _flows as flows
from tests.service.inspector import _office as office
from tests.service.inspector._pages import pages

from stagepost.checkpoint import MemoryStore, RunStatus, Statement, StatementFailed
from stagepost.service._inspector._words import seconds
from stagepost.workflows import END, Chain, Graph, Parallel, Runner, State, StepContext, Wait, key_equals, step

RELEASE = "/inspect/waits/order-1041/release"


async def test_of_many_who_answer_at_once_one_is_first() -> None:
    async with pages() as http:
        statuses: list[int] = []

        async def answer(carrier: str) -> None:
            statuses.append((await http.post(RELEASE, data={"value/carrier": carrier})).status_code)

        async with anyio.create_task_group() as group:
            for carrier in ('"post"', '"van"', '"courier"') * 3:
                group.start_soon(answer, carrier)
        assert sorted(statuses) == [303, *[409] * 8]


async def test_a_wait_of_a_run_that_is_not_there_is_not_found() -> None:
    async with pages() as http:
        assert (await http.get("/inspect/waits/none/release")).status_code == 404
        assert (await http.post("/inspect/waits/none/release", data={"value": "1"})).status_code == 404


async def test_a_run_that_the_code_does_not_fit_says_why_and_takes_no_answer() -> None:
    store = MemoryStore()
    async with store:
        async with Runner(store, workflows=flows.workflows) as before:
            await (await before.start(flows.digest, run_id="digest-1")).settled()
        async with Runner(store, workflows=flows.changed) as runner:
            await runner.recover()
            async with pages(runner) as http:
                page = (await http.get("/inspect/runs/digest-1")).text
                assert "Nobody can go on with it" in page
                assert "/do/resume" in page
                assert "nothing is accepted" in (await http.get("/inspect")).text
                answer = await http.post("/inspect/waits/digest-1/approval", data={"value": "true"})
                assert answer.status_code == 409
                assert "The answer was not stored." in answer.text
                assert (await http.post("/inspect/runs/digest-1/do/resume", data={})).status_code == 409
                check = (await http.get("/inspect/check?go=yes")).text
                assert "left open" in check
                assert "digest-1" in check


async def test_runs_below_end_with_the_one_that_has_started_them() -> None:
    waiting = Chain("waiting", [Wait("word", expect=str)])

    @step
    async def begin(state: State, context: StepContext) -> Mapping[str, object]:
        return {"said": (await context.child(waiting, "one", {}))["word"]}

    runner = Runner(MemoryStore(), workflows=[Chain("above", [begin]), waiting], keep="all")
    async with pages(runner) as http:
        run = await runner.start(runner.workflow("above"), run_id="above-1")
        await run.settled()
        page = (await http.get("/inspect/runs/above-1")).text
        assert "Runs below it" in page
        (child,) = set(re.findall(r"above-1\.[\w.-]+", page[page.index("children-title") :]))
        assert f"Runs below it end, too, 1 of them: {child}" in (await http.get("/inspect/runs/above-1/do/cancel")).text
        assert (await http.get("/inspect?kind=child")).text.count("<article") == 1
        assert child in (await http.get("/inspect/runs", params={"below": "above-1"})).text
        opened = await http.get("/inspect/runs/above-1", params={"open": "begin"})
        assert "word" in opened.text[opened.text.index('id="graph"') :]
        await http.post("/inspect/runs/above-1/do/cancel", data={})
        assert "Runs below it are forgotten, too" in (await http.get("/inspect/runs/above-1/do/delete")).text


async def test_items_that_failed_are_retried_though_their_run_went_on() -> None:
    async def work(number: int) -> int:
        if number == 2:
            raise ValueError("two")
        return number

    chain = Chain("collects", [Parallel("each", work, over="numbers", failures="failed")])
    runner = Runner(MemoryStore(), workflows=[chain], keep="all")
    async with pages(runner) as http:
        await (await runner.start(chain, {"numbers": [1, 2, 3]}, run_id="collects-1")).settled()
        page = (await http.get("/inspect/runs/collects-1")).text
        assert "completed" in page
        assert "/do/retry_items" in page
        assert (await http.post("/inspect/runs/collects-1/do/retry_items", data={})).status_code == 303


async def test_very_many_runs_are_cancelled_page_by_page() -> None:
    runner = office.runner()
    async with pages(runner) as http:
        for number in range(105):
            await runner.start(office.mail, run_id=f"mail-{number}")
        answer = (await http.post("/inspect/many/cancel?workflow=mail", data={"sure": "yes"})).text
        assert "105 done" in answer
        assert (await runner.runs.count(status=RunStatus.CANCELLED)).total == 105


async def test_entries_of_a_history_that_are_no_attempts_have_a_page_too() -> None:
    async with pages() as http:
        for number in (1, 7):
            page = await http.get(f"/inspect/runs/article-tides/steps/{number}")
            assert page.status_code == 200
            assert f"number {number}" in page.text


async def test_a_value_that_is_not_there_is_not_found() -> None:
    async with pages() as http:
        for query in ({"of": "state", "key": "none"}, {"of": "message", "key": "1"}, {"of": "all"}):
            assert (await http.get("/inspect/runs/order-1040/whole", params=query)).status_code == 404


async def test_filters_that_have_no_field_can_be_taken_away() -> None:
    async with pages() as http:
        query = {"below": "none", "key": "k", "label": "customer=7"}
        page = (await http.get("/inspect/runs", params=query)).text
        for chip in ("below none", "key k", "label customer=7"):
            assert chip in page
        assert "No run matches." in page


async def test_a_history_that_is_too_long_to_be_drawn_is_drawn_in_part() -> None:
    async def count(state: State) -> Mapping[str, object]:
        return {"count": state.get("count", 0) + 1}

    loop = Graph("loop", max_steps=None)
    loop.add("count", step("count", count))
    loop.start("count")
    loop.edge("count", END, when=key_equals("count", 1_600))
    loop.edge("count", "count")
    runner = Runner(MemoryStore(), workflows=[loop], keep="all")
    async with pages(runner) as http:
        run = await runner.start(loop, run_id="loop-1")
        await run.settled()
        page = (await http.get("/inspect/runs/loop-1")).text
        assert "only its first 1,500 entries are drawn" in page


class Forgetful(MemoryStore):
    """Keeps no tables of others."""

    async def execute(self, *statements: Statement) -> None:
        raise StatementFailed(statements[0].text, "no room")


async def test_what_was_done_is_done_though_it_cannot_be_recorded(caplog: pytest.LogCaptureFixture) -> None:
    runner = office.runner(Forgetful())
    async with pages(runner, filled=True) as http:
        assert (await http.post("/inspect/runs/mail-1/do/cancel", data={})).status_code == 303
        assert "Who did what" not in (await http.get("/inspect/runs/mail-1")).text
    assert "act not recorded" in caplog.text


@pytest.mark.parametrize(
    ("span", "said"),
    [(0.0123, "12 ms"), (59.94, "59.9 s"), (61, "1 min 1 s"), (7_260, "2 h 1 min"), (200_000, "2 d 7 h")],
    ids=["milliseconds", "seconds", "minutes", "hours", "days"],
)
def test_a_span_is_said_in_two_units(span: float, said: str) -> None:
    assert seconds(span) == said


async def test_a_question_of_a_server_leads_to_web_pages_only() -> None:
    def shown(url: str) -> Sequence[Any]:
        return [{"agent": "a", "tool": "t", "arguments": {}, "schema": {"type": "string"}, "url": url}]

    asks = Chain("asks", [Wait("ask", show=lambda state: shown(state["url"])[0])])
    runner = Runner(MemoryStore(), workflows=[asks])
    async with pages(runner) as http:
        for name, url in (("web", "https://example.com/x"), ("script", "javascript:alert(1)")):
            await (await runner.start(asks, {"url": url}, run_id=name)).settled()
        page = (await http.get("/inspect")).text
        assert 'href="https://example.com/x"' in page
        assert "javascript:" not in page
        wrong = await http.post("/inspect/waits/web/ask", data={"choice": "refuse", "reason": ""})
        assert wrong.status_code == 422


async def test_a_form_that_is_no_text_is_refused() -> None:
    async with pages() as http:
        headers = {"content-type": "application/x-www-form-urlencoded"}
        for body in (b"\xff\xfe", b"&".join(b"a=1" for _ in range(600))):
            answer: httpx.Response = await http.post(RELEASE, content=body, headers=headers)
            assert answer.status_code == 422
