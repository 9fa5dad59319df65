"""Pages of the inspector: what they show, to whom, and that nothing which was stored is taken for markup."""

import re
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from tests.service.inspector import _office as office
from tests.service.inspector._pages import pages

from stagepost.checkpoint import MemoryStore
from stagepost.service import Key, RequestLimits, Scope, ServiceSettings, create_app, new_key
from stagepost.service._inspector._words import Words
from stagepost.workflows import END, Chain, Graph, Parallel, Runner, State, Wait, key_equals, step

HOSTILE = "<script>alert(1)</script>\x00\x1b[31m\u202e&amp;\"'"
ALL = ("", "/runs", "/runs/order-1043", "/runs/order-1042/history", "/runs/clerk-1/conversation", "/check?go=yes")


async def test_each_page_has_one_heading_and_loads_little() -> None:
    async with pages() as http:
        for path in ALL:
            page = await http.get(f"/inspect{path}")
            assert page.status_code == 200, path
            assert page.text.count("<h1") == 1, path
            assets = await _weight(http, page.text)
            assert len(page.content) + assets < 60_000, (path, len(page.content), assets)
            assert "style=" not in page.text
            assert not re.search(r"<script(?! src=)", page.text)
            assert not re.search(r"\son[a-z]+=", page.text)


async def test_pages_of_long_runs_load_little() -> None:
    async def count(state: State) -> dict[str, object]:
        return {"count": state.get("count", 0) + 1}

    async def same(number: int) -> int:
        return number

    chain = Chain("long", [step(f"step_number_{number}", count) for number in range(120)])
    loop = Graph("loop")
    loop.add("count", step("count", count))
    loop.start("count")
    loop.edge("count", END, when=key_equals("count", 150))
    loop.edge("count", "count")
    workflows = [chain, loop, Chain("wide", [Parallel("each", same, over="numbers")])]
    runner = Runner(MemoryStore(), workflows=workflows, keep="all")
    async with pages(runner) as http:
        for workflow in workflows:
            run = await runner.start(workflow, {"numbers": list(range(300))}, run_id=workflow.name)
            await run.settled()
            for path in (f"/inspect/runs/{workflow.name}", f"/inspect/runs/{workflow.name}/history"):
                page = await http.get(path)
                assets = await _weight(http, page.text)
                assert len(page.content) + assets < 60_000, (path, len(page.content), assets)


async def _weight(http: httpx.AsyncClient, page: str) -> int:
    """How many bytes are sent of what a page loads."""
    found = set(re.findall(r'(?:href|src)="(/assets/[^"]+)"', page))
    assert found
    return sum([(await http.get(each)).num_bytes_downloaded for each in found])


@pytest.mark.parametrize(
    ("attempt", "retries", "told"),
    [
        (None, 0, []),
        (1, 0, ["tried once"]),
        (1, 1, ["tried 2 times: 1 retry"]),
        (None, 2, ["tried 3 times: 2 retries"]),
        (2, 0, ["begun 2 times: again after a crash or a wait, or when the run was resumed"]),
        (
            3,
            2,
            [
                "begun 3 times: again after a crash or a wait, or when the run was resumed",
                "the last time tried 3 times: 2 retries",
            ],
        ),
    ],
)
def test_beginnings_and_retries_are_told_apart(attempt: int | None, retries: int, told: list[str]) -> None:
    assert Words.tries(attempt, retries) == told


async def test_a_failed_run_says_first_why_where_and_at_which_attempt() -> None:
    async with pages() as http:
        page = (await http.get("/inspect/runs/order-1043")).text
        assert page.index("Why it failed") < page.index("label printer at dock 4") < page.index("<code>ship</code>")
        assert "tried 2 times: 1 retry" in page
        assert "attempt 1" not in page[page.index("failure-title") : page.index("Traceback")]
        assert "print_label" in page[page.index("Traceback") :]
        assert page.index("Resume") < page.index("Why it failed")


async def test_runs_are_filtered_by_what_is_combined() -> None:
    async with pages() as http:
        for query, expected in (
            ({"status": "failed"}, ["order-1043", "order-1042"]),
            ({"status": "failed", "text": "printer"}, ["order-1043"]),
            ({"label": "customer=7", "workflow": "orders"}, ["order-1041"]),
            ({"text": "nothing of the kind"}, []),
            ({"since": "2001-01-01T00:00", "status": "cancelled"}, ["mail-0"]),
            ({"until": "2001-01-01T00:00"}, []),
        ):
            page = (await http.get("/inspect/runs", params=query)).text
            assert re.findall(r'class="id" href="/inspect/runs/([^"]+)"', page) == expected, query


async def test_a_filter_that_makes_no_sense_is_said_beside_its_field_and_stays_typed() -> None:
    async with pages() as http:
        page = await http.get("/inspect/runs", params={"label": "customer", "text": "printer"})
        assert page.status_code == 200
        assert "a label is of the form NAME=VALUE" in page.text
        assert 'value="customer"' in page.text
        assert 'value="printer"' in page.text


async def test_pages_of_the_list_hold_each_run_once() -> None:
    runner = office.runner()
    async with pages(runner) as http:
        for number in range(90):
            await (await runner.start(office.mail, run_id=f"mail-{number:03}")).settled()
        seen: list[str] = []
        address = "/inspect/runs?workflow=mail"
        while address:
            page = (await http.get(address)).text
            seen += re.findall(r'class="id" href="/inspect/runs/([^"]+)"', page)
            found = re.search(r'rel="next" href="([^"]+)"', page)
            address = found[1].replace("&amp;", "&") if found else ""
        assert seen == [f"mail-{number:03}" for number in reversed(range(90))]
        combined = (await http.get("/inspect/runs?workflow=mail&since=2001-01-01T00:00")).text
        assert "Act on all that match" in combined  # to count these would be to read them
        assert 'class="number"' not in combined


async def test_whatever_was_stored_is_text() -> None:
    @step
    async def fail(state: State) -> None:
        raise ValueError(f"{HOSTILE} {state['text']}")

    def shown(state: State) -> Any:
        return {"text": state["text"], HOSTILE: HOSTILE}

    runner = Runner(
        MemoryStore(),
        workflows=[Chain("fails", [fail]), Chain("waits", [Wait("answer", expect=str, show=shown)])],
        keep="all",
    )
    async with pages(runner) as http:
        long = HOSTILE + "x" * 1_000_000
        for name in ("fails", "waits"):
            state = {"text": long, "key": HOSTILE}
            run = await runner.start(runner.workflow(name), state, run_id=name, labels={"label": HOSTILE[:25]})
            await run.settled()
        for path in ("", "/runs", "/runs/fails", "/runs/waits", "/runs/fails/history", "/waits/waits/answer"):
            page = await http.get(f"/inspect{path}")
            assert page.status_code == 200, path
            assert len(page.content) < 50_000, path
            assert "<script>alert" not in page.text, path
            assert not re.search("[\x00\x1b\u202e]", page.text), path
        assert "Show all" in (await http.get("/inspect/runs/waits")).text
        whole = await http.get("/inspect/runs/waits/whole", params={"of": "state", "key": "text"})
        assert whole.text == long
        assert whole.headers["content-type"] == "text/plain; charset=utf-8"
        assert whole.headers["x-content-type-options"] == "nosniff"


async def test_the_conversation_has_thinking_calls_tokens_and_cost() -> None:
    async with pages() as http:
        page = (await http.get("/inspect/runs/clerk-1/conversation")).text
        for text in ("I have to find it before", "find_invoice", "invoice 118", "$0.00", "420", "24 thinking"):
            assert text in page, text
        assert (await http.get("/inspect/runs/order-1043/conversation")).status_code == 404


async def test_a_step_shows_what_it_was_given_and_what_it_changed() -> None:
    async with pages() as http:
        history = (await http.get("/inspect/runs/article-tides/history")).text
        number = re.search(r"/steps/(\d+)\"[^/]*</a></td>(?:(?!<tr>).)*?<code>draft</code>", history, re.DOTALL)
        assert number is not None
        page = (await http.get(f"/inspect/runs/article-tides/steps/{number[1]}")).text
        assert "What it changed" in page
        assert "<code>text</code>" in page
        assert "tides" in page[page.index("What it was given") :]
        assert (await http.get("/inspect/runs/article-tides/steps/9999")).status_code == 404


async def test_the_deploy_check_says_what_becomes_of_open_runs() -> None:
    async with pages() as http:
        assert "Check 5 open runs" in (await http.get("/inspect/check")).text
        assert "All 5 open runs can go on" in (await http.get("/inspect/check?go=yes")).text


async def test_without_a_key_a_browser_is_sent_to_log_in_and_comes_back() -> None:
    secret, key = new_key("ann", [Scope.READ])
    async with pages(keys=[key]) as http:
        asked = await http.get("/inspect/runs?status=failed", headers={"accept": "text/html"})
        assert asked.status_code == 303
        form = {"key": secret, "next": "/inspect/runs?status=failed"}
        entered = await http.post("/login", data=form, headers={"origin": "http://localhost"})
        assert entered.headers["location"] == "/inspect/runs?status=failed"


@pytest.mark.parametrize(
    ("scopes", "seen"),
    [(["read"], set()), (["read", "run"], {"resume"}), (["admin"], {"resume", "fork", "delete"})],
    ids=["read", "run", "admin"],
)
async def test_acts_are_offered_to_whom_the_key_allows_them(scopes: list[str], seen: set[str]) -> None:
    async with pages(keys=[Key.of("x" * 40, name="ann", scopes=scopes)]) as http:
        http.headers["X-API-Key"] = "x" * 40
        page = (await http.get("/inspect/runs/order-1043")).text
        assert set(re.findall(r"/do/(\w+)", page)) == seen
        for act, status in (("resume", 200), ("delete", 200), ("fork", 200)):
            expected = status if act in seen else 403
            assert (await http.get(f"/inspect/runs/order-1043/do/{act}")).status_code == expected


async def test_a_run_that_is_not_there_is_said_as_a_page() -> None:
    async with pages() as http:
        found = await http.get("/inspect/runs/none", headers={"accept": "text/html"})
        assert found.status_code == 404
        assert "<h1>Not Found</h1>" in found.text


async def test_below_a_prefix_all_addresses_have_it() -> None:
    async with MemoryStore() as store, office.runner(store) as runner:
        await office.fill(runner)
        outer = Starlette(routes=[Mount("/agents", app=create_app(runner, limits=RequestLimits.none()))])
        async with httpx.AsyncClient(transport=httpx.ASGITransport(outer), base_url="http://localhost") as http:
            for path in ("", "/runs", "/runs/order-1042", "/runs/order-1042/do/fork", "/waits/order-1041/release"):
                page = (await http.get(f"/agents/inspect{path}")).text
                found = re.findall(r'(?:href|src|action)="(/[^"]*)"', page)
                assert found
                assert not [each for each in found if not each.startswith("/agents/")], path
            done = await http.post("/agents/inspect/runs/mail-1/do/cancel", data={})
            assert done.headers["location"] == "/agents/inspect/runs/mail-1"
            assert "The run was cancelled." in (await http.get("/agents/inspect/runs/mail-1")).text


async def test_the_inspector_can_be_left_out() -> None:
    async with pages(inspector=False) as http:
        assert (await http.get("/inspect")).status_code == 404
        assert (await http.get("/login")).status_code == 404
    settings = ServiceSettings.from_environment({"STAGEPOST_INSPECTOR": "0"})
    assert settings.app_options()["inspector"] is False
