"""What a run's pictures link to, and what is opened in them in place."""

import re
from typing import Any

from tests.service.inspector import _office as office
from tests.service.inspector._pages import pages

from stagepost.checkpoint import MemoryStore
from stagepost.workflows import Chain, Parallel, Runner, State, StepContext, step


async def test_places_open_their_last_attempt_and_a_failed_item_its_own() -> None:
    async with pages() as http:
        page = (await http.get("/inspect/runs/order-1042")).text
        picture = page[page.index('id="graph"') : page.index('id="waterfall"')]
        links = re.findall(r'href="/inspect/runs/order-1042/steps/(\d+)"', picture)
        assert len(links) >= 4  # check, reserve, and its items
        for number in dict.fromkeys(links):
            assert (await http.get(f"/inspect/runs/order-1042/steps/{number}")).status_code == 200


async def test_runs_below_and_items_are_opened_in_place_and_closed_again() -> None:
    @step
    async def leaf(state: State) -> dict[str, object]:
        return {"leaf": True}

    below = Chain("below", [leaf])

    @step
    async def begin(state: State, context: StepContext) -> dict[str, object]:
        return {"child": (await context.child(below, "one", {"number": 1}))["leaf"]}

    above = Chain("above", [begin, Parallel("each", Chain("of_each", [step("twice", twice_of)]), over="numbers")])
    runner = Runner(MemoryStore(), workflows=[above, below], keep="all")
    async with pages(runner) as http:
        run = await runner.start(above, {"numbers": [1, 2]}, run_id="above-1")
        await run.settled()
        page = (await http.get("/inspect/runs/above-1")).text
        assert "1 run" in page
        opened = (await http.get("/inspect/runs/above-1?open=begin")).text
        assert "leaf" in opened[opened.index('id="graph"') :]
        assert "close" in opened[opened.index('id="graph"') :]
        assert 'href="/inspect/runs/above-1#part-picture"' in opened
        item = (await http.get("/inspect/runs/above-1?open=each[1]")).text
        assert "close item 1" in item


async def twice_of(state: Any) -> dict[str, object]:
    """Of an item."""
    return {"twice": 2}


async def test_a_run_without_a_history_is_drawn_by_where_it_stands() -> None:
    runner = office.runner(keep="result")
    async with pages(runner) as http:
        run = await runner.start(office.article, {"topic": "tides"}, run_id="article-1")
        await run.settled()
        page = (await http.get("/inspect/runs/article-1")).text
        assert "is-waiting" in page[page.index('id="graph"') :]
        history = (await http.get("/inspect/runs/article-1/history")).text
        assert "keeps no history" in history
