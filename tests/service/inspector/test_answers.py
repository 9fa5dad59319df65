"""Answering on the pages of the inspector: forms from schemas, approvals, questions, doubts, and who was first."""

import re
from pathlib import Path
from urllib.parse import quote

import anyio
import pytest
from tests.service.inspector import _office as office
from tests.service.inspector._pages import pages

from stagepost.agents import Agent, ScriptedModel, Tasks, call, tool
from stagepost.checkpoint import MemoryStore, RunStatus
from stagepost.service import Key
from stagepost.workflows import Runner

WAITS = "/inspect/waits/"


async def wait_of(runner: Runner, run_id: str) -> str:
    (found,) = await runner.waits(run_id)
    return found.id


def address(wait_id: str) -> str:
    return WAITS + quote(wait_id)


async def test_the_inbox_has_a_form_made_from_what_each_wait_takes() -> None:
    async with pages() as http:
        page = (await http.get("/inspect")).text
        assert "clerk wants to call <code>pay_invoice</code>" in page
        assert '<input type="radio" name="value/carrier" value="&#34;courier&#34;"' in page
        assert 'name="value/weight" type="number"' in page
        assert "payment-7" in page
        assert page.count("<article") == 4
        for kind, number in (("signal", 1), ("timer", 0), ("child", 0)):
            assert (await http.get(f"/inspect?kind={kind}")).text.count("<article") == number, kind


async def test_an_answer_is_typed_into_fields_and_stored_as_said_by_the_key() -> None:
    runner = office.runner(deps={"printer": True})
    async with pages(runner, filled=True, keys=[Key.of("x" * 40, name="ann", scopes=["read", "decide"])]) as http:
        http.headers["X-API-Key"] = "x" * 40
        form = {"value/carrier": '"van"', "value/express": "true", "value/weight": "2.5", "value/note": "<b>"}
        assert "<strong>ann</strong>" in (await http.get(f"{WAITS}order-1041/release")).text
        wrong = await http.post(f"{WAITS}order-1041/release", data={**form, "value/weight": "heavy"})
        assert wrong.status_code == 422
        assert 'value="heavy"' in wrong.text
        assert "&lt;b&gt;" in wrong.text
        low = await http.post(f"{WAITS}order-1041/release", data={**form, "value/weight": "-1"})
        assert low.status_code == 422
        told = await http.post(f"{WAITS}order-1041/release", data={**form, "back": "run"})
        assert told.headers["location"] == "/inspect/runs/order-1041"
        assert await (await runner.get("order-1041")).settled() is RunStatus.COMPLETED
        assert (await runner.runs.get("order-1041")).state["release"].carrier == "van"
        assert re.search(
            r"answered.*by <strong>ann</strong>", (await http.get("/inspect/runs/order-1041/history")).text
        )


async def test_who_comes_second_is_told_who_was_first_and_when() -> None:
    runner = office.runner()
    async with pages(runner, filled=True) as http:
        wait_id = await wait_of(runner, "article-tides")
        assert (await http.get(address(wait_id))).status_code == 200
        await runner.answer(wait_id, True, by="bob")
        late = await http.post(address(wait_id), data={"value": "false"})
        assert late.status_code == 409
        assert "Somebody else was first" in late.text
        assert re.search(r"answered \d\d \w+ 2\d+ [\d:]+ UTC by <strong>bob</strong>", late.text)
        assert (await http.get(address(wait_id))).status_code == 404


async def test_a_call_is_allowed_with_other_arguments_or_denied_with_a_reason() -> None:
    runner = office.runner()
    async with pages(runner, filled=True) as http:
        wait_id = await wait_of(runner, "clerk-1")
        assert (await http.post(address(wait_id), data={"choice": "deny", "reason": ""})).status_code == 422
        for arguments in ("{", "[1]"):
            wrong = await http.post(address(wait_id), data={"choice": "allow", "arguments": arguments})
            assert wrong.status_code == 422
        arguments = '{"supplier": "Acme", "euros": 200}'
        assert (await http.post(address(wait_id), data={"choice": "allow", "arguments": arguments})).status_code == 303
        assert await (await runner.get("clerk-1")).settled() is RunStatus.COMPLETED
        assert "paid 200.00 EUR" in (await http.get("/inspect/runs/clerk-1/conversation")).text


async def test_a_call_is_allowed_as_it_is() -> None:
    runner = office.runner()
    async with pages(runner, filled=True) as http:
        wait_id = await wait_of(runner, "clerk-1")
        assert (await http.post(address(wait_id), data={"choice": "allow"})).status_code == 303
        await (await runner.get("clerk-1")).settled()
        assert "paid 240.00 EUR" in (await http.get("/inspect/runs/clerk-1/conversation")).text


async def test_a_call_is_denied() -> None:
    runner = office.runner()
    async with pages(runner, filled=True) as http:
        wait_id = await wait_of(runner, "clerk-1")
        assert (await http.post(address(wait_id), data={"choice": "deny", "reason": "too dear"})).status_code == 303
        await (await runner.get("clerk-1")).settled()
        assert "too dear" in (await http.get("/inspect/runs/clerk-1/conversation")).text


@pytest.mark.parametrize(
    ("form", "said"),
    [({"value": '"on Friday"'}, "on Friday"), ({"choice": "refuse", "reason": "nobody knows"}, "nobody knows")],
    ids=["answer", "refuse"],
)
async def test_a_question_is_answered_or_refused(form: dict[str, str], said: str) -> None:
    runner = office.runner()
    async with pages(runner, filled=True) as http:
        wait_id = await wait_of(runner, "clerk-2")
        assert (await http.post(address(wait_id), data={"value": ""})).status_code == 422
        assert (await http.post(address(wait_id), data=form)).status_code == 303
        await (await runner.get("clerk-2")).settled()
        assert said in (await http.get("/inspect/runs/clerk-2/conversation")).text


async def test_a_signal_is_sent_from_the_inbox() -> None:
    runner = office.runner()
    async with pages(runner, filled=True) as http:
        assert (await http.post(f"{WAITS}mail-1/letter", data={"value": "Dear Ann"})).status_code == 303
        assert await (await runner.get("mail-1")).settled() is RunStatus.COMPLETED


@pytest.mark.parametrize(
    ("form", "result"),
    [({"choice": "done", "result": "sent before"}, "sent before"), ({"choice": "retry"}, "sent now")],
    ids=["it has happened", "it has not"],
)
async def test_a_call_in_doubt_is_settled(form: dict[str, str], result: str) -> None:
    begun = anyio.Event()

    @tool(on_unknown="park")
    async def send(text: str) -> str:
        """Send something."""
        if begun.is_set():
            return "sent now"
        begun.set()
        await anyio.sleep_forever()
        return "never"

    def made(store: MemoryStore) -> Runner:
        agent = Agent("sender", "S.", model=ScriptedModel([call("send", text="hi"), "done"]), tools=[send])
        return Runner(store, workflows=[agent], grace=0)

    store = MemoryStore()
    async with store:
        async with made(store) as first:
            await Tasks(first).start("sender", "go", task_id="sender-1")
            await begun.wait()
        async with made(store) as runner:
            await runner.recover()
            async with pages(runner) as http:
                run = await runner.get("sender-1")
                assert await run.settled() is RunStatus.WAITING
                page = (await http.get("/inspect")).text
                assert "Has <code>send</code> happened?" in page
                (doubt,) = await runner.waits("sender-1")
                assert (await http.post(address(doubt.id), data={"choice": "guess"})).status_code == 422
                assert (await http.post(address(doubt.id), data=form)).status_code == 303
                await run.settled()
                assert result in (await http.get("/inspect/runs/sender-1/conversation")).text
                assert "<strong>local</strong> settle" in (await http.get("/inspect/runs/sender-1")).text


async def test_a_key_that_may_not_decide_sees_no_form_and_cannot_answer() -> None:
    async with pages(keys=[Key.of("x" * 40, name="ann", scopes=["read"])]) as http:
        http.headers["X-API-Key"] = "x" * 40
        assert 'method="post"' not in (await http.get("/inspect")).text
        assert (await http.post(f"{WAITS}order-1041/release", data={"value/carrier": '"van"'})).status_code == 403


def test_the_script_has_at_most_60_lines() -> None:
    script = Path(office.__file__).parents[3] / "service/stagepost/service/_inspector/pages/assets/inspect.js"
    assert len(script.read_text().splitlines()) <= 60
