"""Conversations and doubts over HTTP."""

from typing import Any

import anyio
import pytest
from tests._needs import need

need("starlette", "sse_starlette", "limits", "httpx")

from tests.service.http._runs import client_of, error_of, service, started  # noqa: E402  # after the check

from stagepost.checkpoint import MemoryStore  # noqa: E402
from stagepost.service import RequestLimits, create_app  # noqa: E402
from stagepost.workflows import Chain, Runner, State, StepContext, step  # noqa: E402


def to_mailer(request: str) -> dict[str, Any]:
    return {"agent": "mailer", "request": request}


async def test_a_conversation_is_said_shown_and_goes_on() -> None:
    path = "/conversations/talk"
    async with service() as http:
        shown = (await http.get(path, params={"agent": "weather"})).json()
        assert (shown["said"], shown["before"], shown["open"]) == ([], 0, None)
        for number in range(2):
            said = await http.post(path, json={"agent": "weather", "request": f"Oslo? {number}"})
            assert (said.status_code, said.json()["run_id"]) == (202, f"talk-{number}")
            await http.get(f"/runs/talk-{number}/events")
        shown = (await http.get(path, params={"agent": "weather", "limit": 3})).json()
        assert [(each["role"], each["text"]) for each in shown["said"]] == [
            ("assistant", "It rains."),
            ("user", "Oslo? 1"),
            ("assistant", "It rains."),
        ]
        assert shown["before"] == 1
        assert error_of(await http.get(path, params={"agent": "mailer"}), 409) == "RunConflict"


async def test_a_message_is_refused_while_the_last_one_is_answered_and_joined_with_its_key() -> None:
    path, key = "/conversations/talk", {"Idempotency-Key": "once"}
    async with service() as http:
        assert (await http.post(path, json=to_mailer("mail"), headers=key)).status_code == 202
        await http.get("/runs/talk-0/events", params={"view": "watch", "settled": "true"})
        assert (await http.get(path, params={"agent": "mailer"})).json()["open"] == "talk-0"
        assert error_of(await http.post(path, json=to_mailer("more")), 409) == "TaskNotFinished"
        assert error_of(await http.post(path, json=to_mailer("other"), headers=key), 409) == "RunConflict"
        joined = await http.post(path, json=to_mailer("mail"), headers=key)
        assert (joined.status_code, joined.json()["run_id"]) == (202, "talk-0")


@pytest.mark.parametrize("key", [None, "once"], ids=["no key", "key"])
async def test_of_messages_at_once_one_is_said_and_the_others_do_not_wait(key: str | None) -> None:
    path, answers = "/conversations/talk", list[tuple[int, str]]()

    async def say(number: int) -> None:
        headers = {} if key is None else {"Idempotency-Key": key}
        body = {"agent": "mailer", "request": f"mail {number}" if key is None else "mail"}
        answer = await http.post(path, json=body, headers=headers)
        answers.append((answer.status_code, answer.json().get("run_id") or error_of(answer, 409)))

    with anyio.fail_after(30):  # the turn waits for a person, for as long as that takes
        async with service() as http:
            async with anyio.create_task_group() as group:
                for number in range(8):
                    group.start_soon(say, number)
            runs = (await http.get("/run-counts", params={"label": "conversation=talk"})).json()["total"]
    refused = (202, "talk-0") if key else (409, "TaskNotFinished")
    assert sorted(answers) == sorted([(202, "talk-0"), *[refused] * 7])
    assert runs == 1


@step
async def pay(state: State, context: StepContext) -> dict[str, object]:
    return {"paid": await context.once("charge", _lost)}


async def _lost() -> str:
    raise ConnectionResetError


async def test_a_doubt_is_settled_by_the_id_of_its_wait() -> None:
    app = create_app(Runner(MemoryStore(), workflows=[Chain("shop", [pay])]), limits=RequestLimits.none())
    async with client_of(app) as http:
        run_id = await started(http, "shop")
        (wait,) = (await http.get("/waits")).json()["waits"]
        assert wait["kind"] == "effect"
        path = f"/waits/{wait['wait_id'].replace('#', '%23')}"
        assert error_of(await http.post(path, json={"answer": "paid"}), 404) == "WaitNotFound"
        assert (await http.post(path, json={"retry": True})).json()["action"] == "settled"
        await http.get(f"/runs/{run_id}/events", params={"view": "watch", "settled": "true"})
        (wait,) = (await http.get("/waits")).json()["waits"]  # it is in doubt again
        path = f"/waits/{wait['wait_id'].replace('#', '%23')}"
        assert (await http.post(path, json={"result": "paid"})).json()["id"] == wait["wait_id"]
        await http.get(f"/runs/{run_id}/events")
        assert (await http.get(f"/runs/{run_id}")).json()["run"]["status"] == "completed"
        assert error_of(await http.post(path, json={"result": "paid"}), 404) == "WaitNotFound"


async def test_a_question_is_refused_with_a_reason() -> None:
    async with service() as http:
        await started(http, "buyer", request="tea", run_id="buy")
        (wait,) = (await http.get("/waits")).json()["waits"]
        path = f"/waits/{wait['wait_id'].replace('#', '%23')}"
        assert (await http.post(path, json={"refuse": "too dear"})).status_code == 200
        assert "too dear" in (await http.get("/runs/buy/events")).text
