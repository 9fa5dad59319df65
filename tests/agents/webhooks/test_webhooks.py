import logging
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from anyio import fail_after
from tests.agents.webhooks._hooks import PATIENT, SECRET, SOON, Hooks, Said, forgotten, hooks, lead, texts, until
from tests.agents.webhooks._receiver import Receiver

from stagepost.agents import (
    InvalidWebhook,
    NotAnAgent,
    Tasks,
    WebhookNotFound,
    Webhooks,
    WebhooksNotOpen,
)
from stagepost.checkpoint import MemoryStore, RunNotFound, StoreFailed, StoreFull
from stagepost.workflows import Chain, Runner, RunnerNotOpen, step


@step
def plain(state: object) -> dict[str, int]:
    return {"n": 1}


async def start(opened: Webhooks, *tasks: str, **labels: str) -> None:
    for task_id in tasks:
        await Tasks(opened._runner).start("lead", "Go.", task_id=task_id, labels=labels)


async def test_all_tasks_that_are_started_on_a_runner_are_followed(receiver: Receiver) -> None:
    said = Said()
    for task_id in ("before", "t", "u"):
        said.say(task_id, task_id, end=True)
    with fail_after(30):
        async with hooks(MemoryStore(), said, "before") as opened:
            added = await opened.add_for_all(f"{receiver.url}/hook")
            assert (added.task_id, added.tasks) == (None, ())
            await start(opened, "t", "u")
            got = await receiver.received(4)
            while (await opened.list())[0].tasks:
                await anyio.wait_all_tasks_blocked()
            assert len(await opened.list()) == 1
    assert sorted(texts(got)) == ["completed", "completed", "t", "u"]


async def test_only_tasks_with_all_the_labels_are_followed(receiver: Receiver) -> None:
    said = Said()
    for task_id in ("t", "u", "v", "w"):
        said.say(task_id, task_id, end=True)
    with fail_after(30):
        async with hooks(MemoryStore(), said) as opened:
            added = await opened.add_for_all(f"{receiver.url}/hook", labels={"tenant": "acme", "kind": "trip"})
            assert added.labels == {"tenant": "acme", "kind": "trip"}
            await start(opened, "t", tenant="acme")
            await start(opened, "u", tenant="acme", kind="trip", more="x")
            await start(opened, "v", tenant="other", kind="trip")
            await start(opened, "w", tenant="acme", kind="trip")
            got = await receiver.received(4)
            await anyio.wait_all_tasks_blocked()
    assert {each.part["task_id"] for each in receiver.of()} == {"u", "w"}
    assert len(got) == 4


async def test_runs_that_are_no_agents_are_not_followed(receiver: Receiver) -> None:
    chain = Chain("plain", [plain])
    with fail_after(30):
        async with (
            MemoryStore() as store,
            Runner(store, workflows=[lead(), chain]) as runner,
            Webhooks(runner, secret=SECRET, retries=SOON) as opened,
        ):
            await opened.add_for_all(f"{receiver.url}/hook")
            await (await runner.start(chain, {}, run_id="p")).result()
            while (await opened.list())[0].tasks:
                await anyio.wait_all_tasks_blocked()
            with pytest.raises(NotAnAgent):
                await opened.add("p", f"{receiver.url}/hook")
    assert receiver.got == []


async def test_after_a_restart_it_goes_on_after_what_was_delivered(receiver: Receiver) -> None:
    said, store = Said(), MemoryStore()
    said.say("t", "a", "b")
    with fail_after(30):
        async with hooks(store, said, "t") as opened:
            await opened.add("t", f"{receiver.url}/hook")
            await receiver.received(2)
            while (await opened.list())[0].tasks[0].cursor != "4":
                await anyio.wait_all_tasks_blocked()
        said.say("t", "c", end=True)
        async with hooks(store, said) as opened:
            await forgotten(opened)
    assert texts(receiver.of()) == ["a", "b", "c", "completed"]
    assert said.opened == [("t", None), ("t", "4")]


async def test_tasks_that_were_started_while_no_webhooks_were_open_are_followed_later(receiver: Receiver) -> None:
    said, store = Said(), MemoryStore()
    for task_id in ("t", "u"):
        said.say(task_id, task_id, end=True)
    with fail_after(30):
        async with hooks(store, said) as opened:
            await opened.add_for_all(f"{receiver.url}/hook")
        async with store, Runner(store, workflows=[lead()]) as runner:
            for task_id in ("t", "u"):
                await (await Tasks(runner).start("lead", "Go.", task_id=task_id)).result()
        async with hooks(store, said):
            got = await receiver.received(4)
    assert {each.part["task_id"] for each in got} == {"t", "u"}


async def test_the_pause_before_the_next_attempt_outlives_a_restart(receiver: Receiver) -> None:
    said, store = Said(), MemoryStore()
    said.say("t", "a", end=True)
    receiver.plan("/hook", 500)
    with fail_after(30):
        async with hooks(store, said, "t", retries=PATIENT) as opened:
            await opened.add("t", f"{receiver.url}/hook")
            before = await until(opened, "failed")
        async with hooks(store, said, retries=PATIENT) as opened:
            await anyio.wait_all_tasks_blocked()
            assert await opened.list() == [before]
    assert len(receiver.got) == 1


async def test_a_paused_task_stays_paused_after_a_restart(receiver: Receiver) -> None:
    said, store = Said(), MemoryStore()
    said.say("t", "a", end=True)
    receiver.plan("/hook", 500, 500, 500)
    with fail_after(30):
        async with hooks(store, said, "t") as opened:
            await opened.add("t", f"{receiver.url}/hook")
            paused = await until(opened, "paused")
        async with hooks(store, said) as opened:
            await anyio.wait_all_tasks_blocked()
            assert await opened.list() == [paused]
            await opened.resume(paused.id)
            await forgotten(opened)
    assert texts(receiver.of()) == ["a", "completed"]


async def test_a_webhook_that_is_added_twice_is_one(receiver: Receiver) -> None:
    said = Said()
    with fail_after(30):
        async with hooks(MemoryStore(), said, "t") as opened:
            for _ in range(2):
                await opened.add("t", f"{receiver.url}/hook")
                await opened.add_for_all(f"{receiver.url}/hook", labels={"a": "1", "b": "2"})
                await opened.add_for_all(f"{receiver.url}/hook", labels={"b": "2", "a": "1"})
            assert len(await opened.list()) == 2
            await opened.add_for_all(f"{receiver.url}/hook")
            await opened.add_for_all(f"{receiver.url}/other")
            assert len(await opened.list()) == 4


async def test_after_it_was_removed_nothing_is_sent(receiver: Receiver) -> None:
    said = Said()
    said.say("t", "a", "b", end=True)
    let_go = receiver.hold("/hook")
    with fail_after(30):
        async with hooks(MemoryStore(), said, "t") as opened:
            added = await opened.add("t", f"{receiver.url}/hook")
            await receiver.until(lambda: receiver.under_way == 1)
            await opened.remove(added.id)
            let_go()
            assert await opened.list() == []
            with pytest.raises(WebhookNotFound, match=added.id):
                await opened.remove(added.id)
            await anyio.wait_all_tasks_blocked()
    assert len(receiver.got) <= 1  # the one that was under way


async def test_a_request_under_way_ends_before_webhooks_are_left(receiver: Receiver) -> None:
    said, store = Said(), MemoryStore()
    said.say("t", "a", "b", end=True)
    let_go = receiver.hold("/hook")
    with fail_after(30):
        async with anyio.create_task_group() as group, hooks(store, said, "t", grace=None) as opened:
            await opened.add("t", f"{receiver.url}/hook")
            await receiver.until(lambda: receiver.under_way == 1)

            async def later() -> None:
                await anyio.wait_all_tasks_blocked()
                let_go()

            group.start_soon(later)
        async with hooks(store, said) as opened:
            await forgotten(opened)
    assert texts(receiver.got) == ["a", "b", "completed"]


async def test_a_request_that_takes_longer_than_the_grace_is_given_up_and_sent_again(receiver: Receiver) -> None:
    said, store = Said(), MemoryStore()
    said.say("t", "a", end=True)
    let_go = receiver.hold("/hook")
    with fail_after(30):
        async with hooks(store, said, "t", grace=0.01) as opened:
            await opened.add("t", f"{receiver.url}/hook")
            await receiver.until(lambda: receiver.under_way == 1)
        let_go()
        async with hooks(store, said) as opened:
            await forgotten(opened)
    assert set(texts(receiver.got)) == {"a", "completed"}
    assert texts(receiver.got)[-1] == "completed"


async def test_an_error_in_the_block_leaves_without_grace_and_comes_out_as_it_is(receiver: Receiver) -> None:
    said, store = Said(), MemoryStore()
    said.say("t", "a", end=True)
    let_go = receiver.hold("/hook")
    with fail_after(30):
        with pytest.raises(KeyError, match="mine"):  # noqa: PT012  # what leaves the block is the fact
            async with hooks(store, said, "t", grace=None) as opened:
                await opened.add("t", f"{receiver.url}/hook")
                await receiver.until(lambda: receiver.under_way == 1)
                raise KeyError("mine")
        let_go()


async def test_the_block_can_be_cancelled(receiver: Receiver) -> None:
    said = Said()
    said.say("t", "a")
    with fail_after(30):
        with anyio.CancelScope() as scope:
            async with hooks(MemoryStore(), said, "t") as opened:
                await opened.add("t", f"{receiver.url}/hook")
                await receiver.received(1)
                scope.cancel()
                await anyio.sleep_forever()
        assert scope.cancelled_caught


async def test_a_task_that_was_deleted_is_forgotten(receiver: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    said = Said()
    said.error = RunNotFound("t")
    with fail_after(30), caplog.at_level(logging.WARNING, "stagepost"):
        async with hooks(MemoryStore(), said, "t") as opened:
            await opened.add("t", f"{receiver.url}/hook")
            await forgotten(opened)
    assert "webhook_task_missing" in caplog.text


async def test_what_the_store_refuses_for_a_while_is_saved_later_and_not_sent_twice(receiver: Receiver) -> None:
    said, store = Said(), MemoryStore()
    said.say("t", "a", end=True)
    with fail_after(60):
        async with hooks(store, said, "t") as opened:
            execute, full = opened._book._store.execute, [StoreFull(Path("in memory"))]

            async def refused(*statements: object) -> None:
                if "cursor = ?" in str(statements) and full:
                    raise full.pop()
                await execute(*statements)  # type: ignore[arg-type]  # as it was given

            opened._book._store.execute = refused  # type: ignore[method-assign]  # a disk that is full for a moment
            await opened.add("t", f"{receiver.url}/hook")
            await forgotten(opened)
    assert texts(receiver.got) == ["a", "completed"]
    assert full == []


async def test_what_is_not_there_is_told(receiver: Receiver) -> None:
    said = Said()
    async with hooks(MemoryStore(), said, "t") as opened:
        with pytest.raises(RunNotFound):
            await opened.add("nobody", f"{receiver.url}/hook")
        for refused in ("ftp://example.org", "http://a\u0300.\u0300/", "nonsense"):
            with pytest.raises(InvalidWebhook):
                await opened.add("t", refused)
            with pytest.raises(InvalidWebhook):
                await opened.add_for_all(refused)
        with pytest.raises(WebhookNotFound, match="wh_0"):
            await opened.resume("wh_0")
        added = await opened.add_for_all(f"{receiver.url}/hook")
        with pytest.raises(WebhookNotFound, match="nobody"):
            await opened.resume(added.id, "nobody")
        assert await opened.resume(added.id) == added
    for use in (opened.list, lambda: opened.add("t", receiver.url), lambda: opened.remove("wh_0")):
        with pytest.raises(WebhooksNotOpen, match="async with"):
            await use()


async def test_the_runner_has_to_be_open() -> None:
    async with MemoryStore() as store:
        runner = Runner(store, workflows=[lead()])
        with pytest.raises(RunnerNotOpen):
            async with Webhooks(runner, secret=SECRET):
                pass


async def test_what_cannot_be_is_refused_when_it_is_made() -> None:
    async with MemoryStore() as store, Runner(store) as runner:
        with pytest.raises(InvalidWebhook):
            Webhooks(runner, secret="guess me")  # noqa: S106
        for limits in ({"max_requests": 0}, {"max_requests_per_host": 0}, {"timeout": -1}, {"grace": -1}):
            with pytest.raises(ValueError, match=next(iter(limits))):
                Hooks(runner, Said(), **limits)


async def test_the_secret_is_not_stored(receiver: Receiver) -> None:
    said, store = Said(), MemoryStore()
    said.say("t", "a", end=True)
    receiver.plan("/hook", 500, 500, 500)
    with fail_after(30):
        async with hooks(store, said, "t") as opened:
            await opened.add("t", f"{receiver.url}/hook")
            await until(opened, "paused")
    assert store._kept is not None
    assert receiver.url.encode() in store._kept
    assert SECRET.removeprefix("whsec_").encode() not in store._kept
    assert b"s" * 32 not in store._kept


@pytest.mark.parametrize("package", ["httpx2", "tenacity"])
def test_a_missing_package_gives_the_command_that_installs_it(package: str) -> None:
    script = f"""
import sys
sys.path = {sys.path!r}
sys.modules[{package!r}] = None
import anyio
from stagepost.agents import Webhooks
from stagepost.checkpoint import MemoryStore
from stagepost.workflows import ExtraMissing, Runner
async def main():
    async with MemoryStore() as store, Runner(store) as runner:
        try:
            async with Webhooks(runner, secret={SECRET!r}):
                pass
        except ExtraMissing as error:
            print(error)
anyio.run(main)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120)
    assert package in done.stdout
    assert "[webhooks]" in done.stdout


@pytest.mark.parametrize("place", ["follow_new", "active", "delivered"])
async def test_a_store_that_takes_nothing_more_ends_the_delivery_and_harms_nobody(
    receiver: Receiver, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    said = Said()
    said.say("t", "a", end=True)

    async def failed(*_: object) -> None:
        raise StoreFailed(Path("in memory"), "the disk is gone")

    with fail_after(30):
        async with hooks(MemoryStore(), said, "t") as opened:
            await opened.add_for_all(f"{receiver.url}/hook")
            monkeypatch.setattr(opened._book, place, failed)
            await start(opened, "u")
            said.say("u", "b", end=True)
            while "stopped" not in caplog.text and not said.opened:
                await anyio.wait_all_tasks_blocked()
            if place == "delivered":
                await receiver.received(1)
            assert (await opened.list())[0].status == "active"


async def test_a_webhook_whose_removal_cannot_be_stored_is_removed_when_it_is_told_so_again(
    receiver: Receiver, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    said, store = Said(), MemoryStore()
    said.say("t", "a", end=True)
    receiver.plan("/hook", 410, 410)

    async def failed(*_: object) -> None:
        raise StoreFailed(Path("in memory"), "the disk is gone")

    with fail_after(30):
        async with hooks(store, said, "t") as opened:
            monkeypatch.setattr(opened._book, "remove", failed)
            await opened.add("t", f"{receiver.url}/hook")
            while "webhook_stopped" not in caplog.text:
                await anyio.wait_all_tasks_blocked()
            assert len(await opened.list()) == 1
        async with hooks(store, said) as opened:
            await forgotten(opened)
    assert len(receiver.got) == 2
