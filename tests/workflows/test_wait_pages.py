"""What runs wait for, page by page."""

import pytest
from tests.workflows._words import Store, running

from stagepost.checkpoint import Page, RunNotFound, WaitKind
from stagepost.hub import Hub
from stagepost.workflows import (
    Ask,
    Chain,
    Inbox,
    Parallel,
    PendingWait,
    Receive,
    Runner,
    State,
    StepContext,
    Wait,
    step,
)

approve = Chain("approve", [Wait("approval", expect=bool, show=lambda state: state)])


async def start_children(state: State, context: StepContext) -> None:
    for name in state["children"]:
        await context.child(approve, name, {})


voting = Chain("voting", [Parallel("fan", Wait("vote", expect=int), over="items", workers=8)])
parent = Chain("parent", [step("children", start_children)])
asking = Chain("asking", [Ask("approve", lambda _: {}, name="ask", into="asked")])
letters = Chain("letters", [Receive("letter", expect=str)])


async def paged(
    inbox: Runner | Inbox, run_id: str | None, limit: int, kind: WaitKind | None = None
) -> list[PendingWait]:
    """All pages, none of which is longer than was asked for."""
    found, after = list[PendingWait](), None
    while True:
        page: Page[PendingWait] = await inbox.list_waits(run_id, kind=kind, after=after, limit=limit)
        assert len(page.items) <= limit
        found += page.items
        if page.next is None:
            return found
        after = page.next


async def begin(runner: Runner) -> None:
    await runner.start(voting, {"items": list(range(5))}, run_id="v")
    await runner.start(parent, {"children": ["a", "b"]}, run_id="p")
    await runner.start(letters, run_id="z")
    for run_id in ("v", "p", "z"):
        await (await runner.get(run_id)).settled()


@pytest.mark.parametrize("limit", [1, 2, 100])
async def test_pages_have_what_all_waits_are(store: Store, limit: int) -> None:
    async with running(store, voting, parent, letters, approve) as runner:
        await begin(runner)
        for inbox in (runner, Inbox(store, workflows=[voting, parent, letters, approve])):
            for run_id in (None, "v", "p", "z"):
                found = await paged(inbox, run_id, limit)
                assert found == list(await inbox.waits(run_id))
                assert found
            answers = await paged(inbox, None, limit, WaitKind.ANSWER)
            assert [wait.id for wait in answers if wait.run_id == "v"] == [f"v/fan[{n}]:vote" for n in range(5)]
            assert len(answers) == 6


async def test_a_run_shows_what_others_wait_for_that_it_waits_for(store: Store) -> None:
    async with Hub(grace=0) as hub, running(store, asking, hub=hub) as runner:
        await runner.serve(approve)
        await (await runner.start(asking, run_id="p")).settled()
        (shown,) = await runner.waits("p")
        own, other = sorted(await runner.waits(), key=lambda wait: wait.kind is not WaitKind.CHILD)
        assert (own.run_id, own.kind, other.id) == ("p", WaitKind.CHILD, shown.id)
        assert await paged(runner, "p", 1) == [shown]
        assert (await runner.list_waits("p", after=shown.id)).items == ()


async def test_a_page_of_nothing_is_refused(store: Store) -> None:
    async with running(store, voting) as runner:
        await runner.start(voting, {"items": []}, run_id="v")
        for run_id in (None, "v"):
            with pytest.raises(ValueError, match="limit=0: a page has one entry at least"):
                await runner.list_waits(run_id, limit=0)
        with pytest.raises(RunNotFound):
            await runner.list_waits("nobody")
