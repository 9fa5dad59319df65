"""Acts on the pages of the inspector: what is said before, what is done, by whom, and what is refused."""

import re

import httpx
import pytest
from tests.service.inspector import _office as office
from tests.service.inspector._pages import pages

from stagepost.checkpoint import RunStatus
from stagepost.service import Key

RUN = "/inspect/runs/"


def ids(page: str) -> list[str]:
    return re.findall(r'class="id" href="/inspect/runs/([^"?]+)"', page)


async def did(answer: httpx.Response) -> str:
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


async def test_a_failed_run_goes_on_and_who_let_it_is_shown() -> None:
    deps: dict[str, object] = {}
    runner = office.runner(deps=deps)
    async with pages(runner, filled=True, keys=[Key.of("x" * 40, name="ann", scopes=["read", "run"])]) as http:
        http.headers["X-API-Key"] = "x" * 40
        before = (await http.get(f"{RUN}order-1043/do/resume")).text
        assert "It goes on where it stopped" in before
        assert "It stands at ship." in before
        deps["printer"] = True
        assert await did(await http.post(f"{RUN}order-1043/do/resume", data={})) == f"{RUN}order-1043"
        assert await (await runner.get("order-1043")).settled() is RunStatus.COMPLETED
        page = (await http.get(f"{RUN}order-1043")).text
        assert "The run goes on." in page
        assert re.search(r"<strong>ann</strong> resume", page)


async def test_cancelling_says_who_cannot_answer_any_more() -> None:
    runner = office.runner()
    async with pages(runner, filled=True) as http:
        before = (await http.get(f"{RUN}order-1041/do/cancel")).text
        assert "Nobody can answer order-1041/release any more." in before
        await did(await http.post(f"{RUN}order-1041/do/cancel", data={}))
        assert (await runner.runs.info("order-1041")).status is RunStatus.CANCELLED
        late = await http.post(f"{RUN}order-1041/do/cancel", data={})
        assert late.status_code == 409
        assert "Nothing was done." in late.text
        assert "The run is cancelled now" in late.text


async def test_a_run_that_was_cancelled_does_not_go_on_waiting() -> None:
    async with pages() as http:
        page = (await http.get(f"{RUN}mail-0")).text
        picture = page[page.index('id="waterfall"') :]
        assert "place letter: cancelled" in picture
        again = (await http.get(f"{RUN}mail-0")).text
        assert again[again.index('id="waterfall"') :] == picture


async def test_a_fork_with_changes_goes_on_and_effects_are_asked_about() -> None:
    runner = office.runner(deps={"printer": True})
    async with pages(runner, filled=True) as http:
        path = f"{RUN}order-1040/do/fork"
        form = {"at": "check", "changes": '{"customer": 8}', "labels": "try=2", "new_id": "again"}
        refused = await http.post(path, data=form)
        assert refused.status_code == 409
        assert "<code>charge</code> at <code>charge</code>" in refused.text
        assert "&#34;customer&#34;: 8" in refused.text  # what was typed is still there
        assert await did(await http.post(path, data={**form, "effects": "again"})) == f"{RUN}again"
        assert await (await runner.get("again")).settled() is RunStatus.COMPLETED
        state = (await runner.runs.get("again")).state
        assert (state["customer"], state["payment"]) == (8, "payment-8")
        assert "again" in ids((await http.get(f"{RUN}order-1040")).text)


@pytest.mark.parametrize(
    ("field", "typed", "problem"),
    [
        ("changes", "{", "this is no JSON"),
        ("changes", "[1]", "give a JSON object"),
        ("labels", "shop", "is not of the form NAME=VALUE"),
    ],
    ids=["no JSON", "no object", "no label"],
)
async def test_a_form_that_does_not_fit_says_where(field: str, typed: str, problem: str) -> None:
    async with pages() as http:
        answer = await http.post(f"{RUN}order-1040/do/fork", data={field: typed, "at": "check"})
        assert answer.status_code == 422
        assert f'id="{field}-problem"' in answer.text
        assert problem in answer.text
        assert 'value="check"' in answer.text


async def test_failed_items_run_again_in_a_new_run() -> None:
    deps: dict[str, object] = {}
    runner = office.runner(deps=deps)
    async with pages(runner, filled=True) as http:
        assert "reserve: 1 of 3 items have failed" in (await http.get(f"{RUN}order-1042/do/retry_items")).text
        deps["has_unicorns"] = True
        new = (await did(await http.post(f"{RUN}order-1042/do/retry_items", data={}))).partition("?")[0]
        run = await runner.get(new.removeprefix(RUN))
        assert await run.settled() is RunStatus.WAITING


async def test_a_run_is_deleted_for_good() -> None:
    async with pages() as http:
        assert await did(await http.post(f"{RUN}order-1040/do/delete", data={})) == "/inspect/runs"
        assert (await http.get(f"{RUN}order-1040")).status_code == 404
        assert (await http.post(f"{RUN}mail-1/do/delete", data={})).status_code == 409


async def test_a_task_is_told_something_and_a_run_is_sent_a_signal() -> None:
    runner = office.runner()
    async with pages(runner, filled=True) as http:
        assert "<option>letter</option>" in (await http.get(f"{RUN}mail-1/do/signal")).text
        wrong = await http.post(f"{RUN}mail-1/do/signal", data={"name": "letter", "value": "7"})
        assert wrong.status_code == 422
        assert "it is no valid str" in wrong.text
        await did(await http.post(f"{RUN}mail-1/do/signal", data={"name": "letter", "value": '"Dear Ann"'}))
        assert await (await runner.get("mail-1")).settled() is RunStatus.COMPLETED
        assert (await http.post(f"{RUN}clerk-1/do/tell", data={"text": " "})).status_code == 422
        await did(await http.post(f"{RUN}clerk-1/do/tell", data={"text": "quick"}))


async def test_what_is_no_act_and_a_body_that_is_no_form_are_refused() -> None:
    async with pages() as http:
        assert (await http.get(f"{RUN}mail-1/do/explode")).status_code == 404
        assert (await http.get("/inspect/many/fork")).status_code == 404
        assert (await http.post(f"{RUN}mail-1/do/cancel", json={"sure": 1})).status_code == 422
        assert (await http.get(f"{RUN}none/do/cancel")).status_code == 404


async def test_a_page_of_another_site_can_do_nothing() -> None:
    async with pages() as http:
        answer = await http.post(f"{RUN}mail-1/do/cancel", data={}, headers={"origin": "https://evil.example"})
        assert answer.status_code == 403


async def test_the_same_is_done_to_all_that_match() -> None:
    deps: dict[str, object] = {}
    runner = office.runner(deps=deps)
    async with pages(runner, filled=True) as http:
        before = (await http.get("/inspect/many/resume?workflow=quick_orders")).text
        assert "<strong>1 run</strong> with workflow: quick_orders" in before
        deps.update(printer=True)
        after = (await http.post("/inspect/many/resume", data={})).text
        assert "2 done" in after
        assert await (await runner.get("order-1043")).settled() is RunStatus.COMPLETED
        assert "tick this first" in (await http.post("/inspect/many/cancel?status=waiting", data={})).text
        assert "done" in (await http.post("/inspect/many/cancel?status=waiting", data={"sure": "yes"})).text
        assert (await runner.runs.count(status=RunStatus.WAITING)).total == 0
        assert (await http.get("/inspect/many/cancel?label=wrong")).status_code == 422


async def test_one_that_refuses_does_not_keep_the_others_from_it() -> None:
    async with pages() as http:
        answer = (await http.post("/inspect/many/retry_items", data={})).text
        assert "1 done, " in answer
        assert "order-1040" in answer
