import json
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing

import anyio
import pytest
from anyio import fail_after
from starlette.responses import Response
from tests.agents.webhooks._hooks import PATIENT, SECRET, SOON, Said, forgotten, hooks, texts, until
from tests.agents.webhooks._receiver import ENDLESS, NEVER, Receiver

from stagepost.agents import Retries, StreamPart, Tasks, verify_webhook
from stagepost.checkpoint import MemoryStore


async def test_the_numbered_parts_of_a_task_come_in_order_and_its_end_ends_it(receiver: Receiver) -> None:
    said = Said()
    said.say("t", "a", "b")
    with fail_after(30):
        async with hooks(MemoryStore(), said, "t") as opened:
            added = await opened.add("t", f"{receiver.url}/hook")
            assert (added.task_id, added.status) == ("t", "active")
            assert texts(await receiver.received(2)) == ["a", "b"]
            said.say("t", "c", end=True)
            got = await receiver.received(4)
            await forgotten(opened)
    assert texts(got) == ["a", "b", "c", "completed"]
    assert len({each.key for each in got}) == 4
    for each in got:
        assert each.headers["content-type"] == "application/json"
        assert verify_webhook(each.headers, each.body, SECRET) == each.part


async def test_a_part_whose_delivery_fails_is_sent_again_and_the_later_ones_wait(receiver: Receiver) -> None:
    said = Said()
    said.say("t", "a", "b", end=True)
    receiver.plan("/hook", 204, 500, 404, 204)
    with fail_after(30):
        async with hooks(MemoryStore(), said, "t") as opened:
            await opened.add("t", f"{receiver.url}/hook")
            await forgotten(opened)
    assert texts(receiver.of(ok=False)) == ["a", "b", "b", "b", "completed"]
    assert [each.status for each in receiver.of(ok=False)] == [204, 500, 404, 204, 204]
    first, second, third = receiver.of(ok=False)[1:4]
    assert first.key == second.key == third.key
    assert first.headers["webhook-id"] == third.headers["webhook-id"]


async def test_other_tasks_do_not_wait_for_a_part_that_is_not_delivered(receiver: Receiver) -> None:
    said = Said()
    for task_id in ("t", "u"):
        said.say(task_id, "a", end=True)
    receiver.plan("/t", 500)
    with fail_after(30):
        async with hooks(MemoryStore(), said, "t", "u", retries=PATIENT) as opened:
            await opened.add("t", f"{receiver.url}/t")
            await until(opened, "failed")
            await opened.add("u", f"{receiver.url}/u")
            await receiver.received(2, "/u")
            while len(await opened.list()) > 1:
                await anyio.wait_all_tasks_blocked()
            (left,) = await opened.list()
            assert (left.task_id, left.tasks[0].failures) == ("t", 1)
            assert left.tasks[0].error == "the receiver answered 500"
            assert left.tasks[0].next_attempt is not None


async def test_after_the_last_attempt_a_task_is_paused_and_can_be_resumed(
    receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    said = Said()
    said.say("t", "a", "b", end=True)
    receiver.plan("/hook", 204, 500, 500, 503)
    with fail_after(30), caplog.at_level(logging.WARNING, "stagepost"):
        async with hooks(MemoryStore(), said, "t") as opened:
            await opened.add("t", f"{receiver.url}/hook?key=concealed")
            paused = await until(opened, "paused")
            (task,) = paused.tasks
            assert (paused.status, task.failures, task.next_attempt) == ("paused", 3, None)
            assert task.error == "the receiver answered 503"
            assert task.cursor == "2"
            assert "concealed" not in repr(paused)
            assert (await opened.resume(paused.id)).status == "active"
            await forgotten(opened)
    assert texts(receiver.of()) == ["a", "b", "completed"]
    told = [record.getMessage() for record in caplog.records if "webhook_paused" in record.getMessage()]
    assert len(told) == 1
    assert "concealed" not in caplog.text
    assert SECRET not in caplog.text


async def test_410_removes_a_webhook_with_all_its_tasks(receiver: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    said = Said()
    for task_id in ("t", "u"):
        said.say(task_id, "a")
    with fail_after(30):
        async with hooks(MemoryStore(), said) as opened:
            await opened.add_for_all(f"{receiver.url}/hook")
            for task_id in ("t", "u"):
                await Tasks(opened._runner).start("lead", "Go.", task_id=task_id)
            await receiver.received(2)
            receiver.plan("/hook", 410)
            said.say("t", "b", end=True)
            await forgotten(opened)
            said.say("u", "b", end=True)
            await anyio.wait_all_tasks_blocked()
    assert [each.status for each in receiver.of(ok=False)] == [204, 204, 410]
    assert "webhook_removed" in caplog.text


async def test_a_pause_that_the_receiver_asks_for_is_kept(receiver: Receiver) -> None:
    said = Said()
    said.say("t", "a", end=True)
    receiver.plan("/hook", Response(status_code=429, headers={"retry-after": "1800"}))
    with fail_after(30):
        async with hooks(MemoryStore(), said, "t", retries=Retries(first=1, most=1, patience=3600)) as opened:
            before = opened._runner.clock()
            await opened.add("t", f"{receiver.url}/hook")
            (task,) = (await until(opened, "failed")).tasks
    assert task.next_attempt is not None
    assert task.next_attempt.timestamp() - before >= 1800


async def test_a_receiver_that_wants_to_be_left_alone_for_too_long_is_paused(receiver: Receiver) -> None:
    said = Said()
    said.say("t", "a", end=True)
    receiver.plan("/hook", Response(status_code=503, headers={"retry-after": "100000"}))
    with fail_after(30):
        async with hooks(MemoryStore(), said, "t", retries=PATIENT) as opened:
            await opened.add("t", f"{receiver.url}/hook")
            assert (await until(opened, "paused")).tasks[0].failures == 1


async def test_a_redirect_is_not_followed(receiver: Receiver) -> None:
    said = Said()
    said.say("t", "a", end=True)
    receiver.plan("/hook", *(Response(status_code=307, headers={"location": "/elsewhere"}) for _ in range(3)))
    with fail_after(30):
        async with hooks(MemoryStore(), said, "t") as opened:
            await opened.add("t", f"{receiver.url}/hook")
            (task,) = (await until(opened, "paused")).tasks
    assert "redirects are not followed" in str(task.error)
    assert receiver.of("/elsewhere", ok=False) == []


async def test_a_receiver_that_never_answers_is_given_up_after_the_time_limit(receiver: Receiver) -> None:
    said = Said()
    said.say("t", "a", end=True)
    receiver.plan("/hook", NEVER)
    with fail_after(30):
        async with hooks(MemoryStore(), said, "t", retries=PATIENT, timeout=0.3) as opened:
            await opened.add("t", f"{receiver.url}/hook")
            (task,) = (await until(opened, "failed")).tasks
    assert task.error == "the receiver did not answer within 0.3 s"


async def test_of_an_endless_answer_only_the_beginning_is_read(receiver: Receiver) -> None:
    said = Said()
    said.say("t", "a", end=True)
    receiver.plan("/hook", ENDLESS, ENDLESS)
    with fail_after(30):
        async with hooks(MemoryStore(), said, "t") as opened:
            await opened.add("t", f"{receiver.url}/hook")
            await forgotten(opened)
    assert texts(receiver.of()) == ["a", "completed"]


async def test_a_receiver_that_hangs_up_or_is_not_there_is_a_failure() -> None:
    said = Said()
    said.say("t", "a", end=True)

    async def hang_up(stream: anyio.abc.ByteStream) -> None:
        async with stream:
            await stream.receive(10)

    with fail_after(30):
        async with anyio.create_task_group() as group:
            listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
            port = listener.extra(anyio.abc.SocketAttribute.local_port)  # noqa: S610  # no Django
            group.start_soon(listener.serve, hang_up)
            async with hooks(MemoryStore(), said, "t") as opened:
                await opened.add("t", f"http://127.0.0.1:{port}/")
                (task,) = (await until(opened, "paused")).tasks
                assert "has hung up" in str(task.error)
            group.cancel_scope.cancel()
        await listener.aclose()
    with fail_after(30):
        async with hooks(MemoryStore(), said, "t") as opened:
            await opened.add("t", f"http://127.0.0.1:{port}/")
            (task,) = (await until(opened, "paused")).tasks
            assert "cannot be reached" in str(task.error)


async def test_requests_are_limited_at_all_and_per_host(receiver: Receiver) -> None:
    said, tasks = Said(), [f"t{number}" for number in range(6)]
    for task_id in tasks:
        said.say(task_id, "a", "b", end=True)
    with fail_after(60):
        async with hooks(MemoryStore(), said, *tasks, max_requests_per_host=2) as opened:
            for task_id in tasks:
                await opened.add(task_id, f"{receiver.url}/hook")
            await forgotten(opened)
    assert receiver.most <= 2
    assert len(receiver.of()) == 18
    for task_id in tasks:
        own = [each for each in receiver.of() if each.part["task_id"] == task_id]
        assert texts(own) == ["a", "b", "completed"]


async def test_a_stream_that_fails_is_opened_again(receiver: Receiver) -> None:
    said = Said()
    said.error = OSError("the disk")
    said.say("t", "a", end=True)
    with fail_after(30):
        async with hooks(MemoryStore(), said, "t", retries=Retries(first=0.001, jitter=0)) as opened:
            await opened.add("t", f"{receiver.url}/hook")
            failed = await until(opened, "failed")
            assert failed.tasks[0].error == "the task cannot be read (OSError)"
            said.error = None
            await forgotten(opened)
    assert texts(receiver.of()) == ["a", "completed"]


async def test_a_task_that_cannot_be_read_is_not_paused_so_that_the_next_process_tries(
    receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    said, store = Said(), MemoryStore()
    said.error = OSError("the disk")
    said.say("t", "a", end=True)
    with fail_after(30):
        async with hooks(store, said, "t") as opened:
            await opened.add("t", f"{receiver.url}/hook")
            while "webhook_task_unreadable" not in caplog.text:
                await anyio.wait_all_tasks_blocked()
            (task,) = (await opened.list())[0].tasks
            assert (task.status, task.failures) == ("active", 3)
        said.error = None
        async with hooks(store, said) as opened:
            await forgotten(opened)
    assert texts(receiver.of()) == ["a", "completed"]


async def test_a_stream_that_breaks_after_each_part_is_not_given_up(receiver: Receiver) -> None:
    class Breaking(Said):
        async def _from(self, task_id: str, number: int) -> AsyncGenerator[StreamPart, None]:
            async with aclosing(super()._from(task_id, number)) as parts:
                async for part in parts:
                    yield part
                    if part.cursor is not None and not part.is_last:
                        raise OSError

    said, letters = Breaking(), [str(number) for number in range(9)]
    said.say("t", *letters, end=True)
    with fail_after(30):
        async with hooks(MemoryStore(), said, "t") as opened:
            await opened.add("t", f"{receiver.url}/hook")
            await forgotten(opened)
    assert texts(receiver.got) == [*letters, "completed"]


async def test_the_secret_may_depend_on_the_url_and_be_several(receiver: Receiver) -> None:
    said = Said()
    said.say("t", "a", end=True)
    other = SECRET.replace("c3", "d3")

    def secrets(url: str) -> list[str]:
        if url.endswith("/broken"):
            raise KeyError(url)
        return [other, SECRET] if url.endswith("/one") else [other]

    with fail_after(30):
        async with hooks(MemoryStore(), said, "t", secret=secrets) as opened:
            for path in ("/one", "/two", "/broken"):
                await opened.add("t", receiver.url + path)
            await receiver.received(2, "/one")
            await receiver.received(2, "/two")
            assert (await until(opened, "paused")).tasks[0].error == "it could not be sent (KeyError)"
    for path, secret in (("/one", SECRET), ("/one", other), ("/two", other)):
        for each in receiver.of(path):
            assert verify_webhook(each.headers, each.body, secret) == json.loads(each.body)


async def test_user_and_password_of_a_url_are_sent_but_not_shown(
    receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    said = Said()
    said.say("t", "a", end=True)
    url = receiver.url.replace("http://", "http://me:hidden@") + "/hook/in-the-path?key=concealed"
    receiver.plan("/hook/in-the-path", 500)
    with fail_after(30), caplog.at_level(logging.DEBUG):
        async with hooks(MemoryStore(), said, "t") as opened:
            added = await opened.add("t", url)
            await forgotten(opened)
    assert receiver.of("/hook/in-the-path")[0].headers["authorization"].startswith("Basic ")
    ours = "\n".join(record.getMessage() for record in caplog.records if not record.name.startswith("uvicorn"))
    assert "HTTP Request" in ours
    for hidden in ("hidden", "concealed"):
        assert hidden not in repr(added)
        assert hidden not in ours
    assert "in-the-path" not in ours


async def test_a_receiver_sets_no_cookies(receiver: Receiver) -> None:
    said = Said()
    said.say("t", "a", end=True)
    receiver.plan("/hook", Response(status_code=200, headers={"set-cookie": "a=b; Path=/"}))
    with fail_after(30):
        async with hooks(MemoryStore(), said, "t") as opened:
            await opened.add("t", f"{receiver.url}/hook")
            await forgotten(opened)
    assert "cookie" not in receiver.of()[1].headers


async def test_retries_that_are_none_pause_at_the_first_failure(receiver: Receiver) -> None:
    said = Said()
    said.say("t", "a", end=True)
    receiver.plan("/hook", 500)
    with fail_after(30):
        async with hooks(MemoryStore(), said, "t", retries=Retries(attempts=1)) as opened:
            await opened.add("t", f"{receiver.url}/hook")
            assert (await until(opened, "paused")).tasks[0].failures == 1
    assert SOON.attempts > 1
