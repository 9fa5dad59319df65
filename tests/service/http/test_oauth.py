"""A person lets a service in at an MCP server: over real HTTP, with the authorization server of the MCP SDK."""

import logging
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import pytest
from anyio import fail_after

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from mcp.shared.auth import OAuthClientInformationFull
from pydantic import AnyUrl
from tests.agents.mcp._authority import Authority, serving
from tests.checkpoint._processes import environment
from tests.service.http._letting_in import ASK, CALLBACK, clerk, office, query, said, server

from stagepost.agents import (
    FunctionModel,
    ModelRequest,
    QuestionAnswered,
    QuestionAsked,
    StoredTokens,
    Tasks,
    ToolCall,
    ToolMessage,
    call,
)
from stagepost.checkpoint import RunStatus, SqliteStore
from stagepost.service import Scope, new_key
from stagepost.workflows import Runner

FILES = ("runs.db", "runs.db-wal")
ECHO = call("echo", text="hi")
LIFE = """
import sys, anyio
from tests.service.http.test_oauth import first_life

anyio.run(first_life, *sys.argv[1:])
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_a_run_waits_for_a_person_and_goes_on_once_access_is_given(tmp_path: Path) -> None:
    with fail_after(60):
        async with serving(Authority()) as authority, office(authority, tmp_path) as place:
            await place.tasks.start(place.agent, "go", task_id="t")
            question = await place.asked()
            assert question.url is not None
            assert question.url.startswith("http://localhost/oauth/start/")
            assert (question.server, question.schema) == ("vault", {"type": "null"})
            begun = await place.app.get(question.url)
            sent = query(begun.headers["location"])
            assert (sent["redirect_uri"], sent["code_challenge_method"]) == (CALLBACK, "S256")
            assert (sent["resource"], sent["scope"]) == (f"{authority.base}/mcp", "read")
            answer = await place.app.get(await place.back(begun))
            assert (answer.status_code, answer.headers["location"]) == (303, "/oauth/given")
            assert "Access is given" in (await place.app.get("/oauth/given")).text
            assert "Nothing was decided here" in (await place.app.get("/oauth/given")).text  # a link says nothing
            task = await place.ended()
            parts = await place.parts()
    assert said(task) == ["Access is authorized. Tools that can be called now: echo, leak", "hi"]
    assert authority.log == [
        f"register stagepost {[AnyUrl(CALLBACK)]}",
        f"exchange {authority.base}/mcp",
        "echo hi",
    ]
    asked = [part for part in parts if isinstance(part, QuestionAsked)]
    assert [part.url for part in asked] == [question.url]
    assert [part.by for part in parts if isinstance(part, QuestionAnswered)] == ["local"]


async def test_a_token_that_has_expired_is_refreshed_and_nobody_is_asked(tmp_path: Path) -> None:
    calls = [ASK, ECHO, call("echo", text="again"), call("echo", text="later")]
    with fail_after(60):
        async with serving(Authority()) as authority:
            async with office(authority, tmp_path, [ASK]) as place:
                await place.tasks.start(place.agent, "go", task_id="t")
                await place.consent(await place.asked())
                await place.ended()
            authority.expire()
            async with office(authority, tmp_path, calls[1:3]) as place:  # another process
                await place.tasks.start(place.agent, "go", task_id="u")
                assert said(await place.ended("u")) == ["hi", "again"]
            authority.expire()
            async with office(authority, tmp_path, calls[3:]) as place:
                await place.tasks.start(place.agent, "go", task_id="v")
                assert said(await place.ended("v")) == ["later"]
    assert authority.log.count("refresh") == 2
    assert sum(line.startswith(("register", "exchange")) for line in authority.log) == 2


async def test_a_call_that_is_refused_waits_for_a_person_and_is_made_once(tmp_path: Path) -> None:
    def answer(request: ModelRequest) -> str | ToolCall:
        last = request.messages[-1]
        return "done" if isinstance(last, ToolMessage) else ECHO if last.text == "echo" else ASK

    with fail_after(60):
        async with serving(Authority()) as authority, office(authority, tmp_path, FunctionModel(answer)) as place:
            await place.tasks.start(place.agent, "ask", task_id="t")
            await place.consent(await place.asked())
            await place.ended()
            authority.revoke()
            await place.tasks.start(place.agent, "echo", task_id="u")
            question = await place.asked("u")
            assert question.tool == "echo"
            await place.consent(question)
            assert said(await place.ended("u")) == ["hi"]
    assert authority.log.count("echo hi") == 1
    assert sum(line.startswith("register") for line in authority.log) == 1


async def test_a_server_that_wants_more_than_was_granted_has_a_person_asked_again(tmp_path: Path) -> None:
    with fail_after(60):
        async with serving(Authority()) as authority, office(authority, tmp_path) as place:
            await place.tasks.start(place.agent, "go", task_id="t")
            question = await place.asked()
            back = await place.decided(question)
            next(iter(authority.codes.values())).scopes.clear()  # it grants less
            await place.app.get(back)
            again = await place.asked()
            assert again.url != question.url
            await place.consent(again)
            assert said(await place.ended())[-1] == "hi"


async def test_a_person_who_refuses_is_told_of(tmp_path: Path) -> None:
    with fail_after(60):
        async with serving(Authority(consents=False)) as authority, office(authority, tmp_path, [ASK]) as place:
            await place.tasks.start(place.agent, "go", task_id="t")
            answer = await place.consent(await place.asked())
            assert answer.headers["location"] == "/oauth/refused"
            assert "not given" in (await place.app.get("/oauth/refused")).text
            (told,) = said(await place.ended())
    assert "a person has declined" in told


async def test_one_consent_answers_all_runs_that_wait_for_it(tmp_path: Path) -> None:
    with fail_after(60):
        async with serving(Authority()) as authority, office(authority, tmp_path) as place:
            for task in ("t", "u"):
                await place.tasks.start(place.agent, "go", task_id=task)
            questions = [await place.asked(task) for task in ("t", "u")]
            await place.consent(questions[0])
            assert [said(await place.ended(task))[-1] for task in ("t", "u")] == ["hi", "hi"]
    assert sum(line.startswith("exchange") for line in authority.log) == 1


async def test_a_callback_counts_once_and_only_in_the_browser_where_it_began(tmp_path: Path) -> None:
    with fail_after(60):
        async with serving(Authority()) as authority, office(authority, tmp_path) as place:
            await place.tasks.start(place.agent, "go", task_id="t")
            back = await place.decided(await place.asked())
            cookies = dict(place.app.cookies)
            place.app.cookies.clear()
            other = await place.app.get(back)  # somebody has had another person open the address
            assert (other.status_code, other.json()["error"]["type"]) == (400, "AuthorizationFailed")
            for name, value in cookies.items():
                place.app.cookies.set(name, value)
            wrong = await place.app.get(back.replace("state=", "state=x"))
            assert wrong.status_code == 400
            assert authority.log[1:] == []
            first = await place.app.get(back)
            assert first.status_code == 303
            for name, value in cookies.items():
                place.app.cookies.set(name, value)
            assert (await place.app.get(back)).status_code == 400
            await place.ended()
    assert sum(line.startswith("exchange") for line in authority.log) == 1


@pytest.mark.parametrize(("issuer", "status"), [("https://evil.example", 400), ("", 303)], ids=["another", "own"])
async def test_another_authorization_server_cannot_answer(tmp_path: Path, issuer: str, status: int) -> None:
    with fail_after(60):
        async with serving(Authority()) as authority, office(authority, tmp_path) as place:
            authority.issuer = issuer or authority.base
            await place.tasks.start(place.agent, "go", task_id="t")
            question = await place.asked()
            answer = await place.consent(question)
            assert answer.status_code == status
            assert any(line.startswith("exchange") for line in authority.log) == (status == 303)
            if status == 400:
                assert "another authorization server" in answer.json()["error"]["message"]
                authority.issuer = None
                assert (await place.consent(question)).status_code == 303  # the address can be opened again
            await place.ended()


async def test_an_attempt_is_over_after_ten_minutes_and_its_question_is_not(tmp_path: Path) -> None:
    now = [time.time()]
    with fail_after(60):
        async with serving(Authority()) as authority, office(authority, tmp_path, clock=lambda: now[0]) as place:
            await place.tasks.start(place.agent, "go", task_id="t")
            back = await place.decided(question := await place.asked())
            now[0] += 601
            late = await place.app.get(back)
            assert (late.status_code, "too old" in late.text) == (400, True)
            assert (await place.consent(question)).status_code == 303
            await place.ended()


async def test_an_error_of_the_authorization_server_leaves_the_question_open(tmp_path: Path) -> None:
    with fail_after(60):
        async with serving(Authority()) as authority, office(authority, tmp_path) as place:
            await place.tasks.start(place.agent, "go", task_id="t")
            question = await place.asked()
            back = urlsplit(await place.decided(question))
            state = query(back.geturl())["state"]
            answer = await place.app.get(f"/oauth/callback?error=server_error&error_description=secret&state={state}")
            assert answer.status_code == 400
            assert "secret" not in answer.text
            authority.codes.clear()
            spent = await place.consent(question)
            authority.codes.clear()
            assert spent.status_code == 303
            await place.ended()


async def test_a_code_that_is_refused_is_told_without_what_the_server_says(tmp_path: Path) -> None:
    with fail_after(60):
        async with serving(Authority()) as authority, office(authority, tmp_path) as place:
            await place.tasks.start(place.agent, "go", task_id="t")
            back = await place.decided(await place.asked())
            authority.codes.clear()
            answer = await place.app.get(back)
            assert answer.status_code == 400
            assert "vault cannot be authorized (OAuthTokenError)" in answer.json()["error"]["message"]
            assert (await place.tasks.get("t")).questions


@pytest.mark.parametrize(
    ("auth", "why"),
    [
        ({"issuer": "https://elsewhere.example"}, "issuer= is https://elsewhere.example"),
        ({"client_id": "ours", "issuer": "https://elsewhere.example"}, "issuer="),
    ],
    ids=["registering", "known"],
)
async def test_no_other_authorization_server_is_asked_than_the_one_that_was_given(
    tmp_path: Path, auth: dict[str, Any], why: str
) -> None:
    with fail_after(60):
        async with serving(Authority()) as authority, office(authority, tmp_path, auth=auth) as place:
            await place.tasks.start(place.agent, "go", task_id="t")
            question = await place.asked()
            answer = await place.app.get(str(question.url))
    assert answer.status_code == 400
    assert why in answer.json()["error"]["message"]
    assert authority.log == []


async def test_a_client_that_is_known_does_not_register(tmp_path: Path) -> None:
    with fail_after(60):
        async with serving(Authority()) as authority:
            authority.clients["ours"] = OAuthClientInformationFull(
                client_id="ours",
                client_secret="hush-hush",  # noqa: S106  # a test's
                redirect_uris=[AnyUrl(CALLBACK)],
                token_endpoint_auth_method="client_secret_basic",  # noqa: S106  # the name of a method
                scope="read",
            )
            auth = {"client_id": "ours", "client_secret": "hush-hush", "issuer": authority.base, "scope": "read"}
            async with office(authority, tmp_path, auth=auth) as place:
                await place.tasks.start(place.agent, "go", task_id="t")
                await place.consent(await place.asked())
                assert said(await place.ended())[-1] == "hi"
    assert [line.split()[0] for line in authority.log] == ["exchange", "echo"]


async def test_a_client_that_the_authorization_server_has_forgotten_is_registered_again(tmp_path: Path) -> None:
    with fail_after(60):
        async with serving(Authority()) as authority, office(authority, tmp_path) as place:
            for task in ("t", "u"):
                await place.tasks.start(place.agent, "go", task_id=task)
                if task == "t":
                    await place.consent(await place.asked())
                    await place.ended()
                    authority.revoke()
                    authority.clients.clear()
            question = await place.asked("u")
            lost = await place.web.get((await place.app.get(str(question.url))).headers["location"])
            assert lost.status_code == 400
            await place.consent(question)
            await place.ended("u")
    assert sum(line.startswith("register") for line in authority.log) == 2


async def test_who_may_decide_may_begin_and_nobody_else(tmp_path: Path) -> None:
    reader, reads = new_key("reader", [Scope.READ])
    boss, decides = new_key("boss", [Scope.DECIDE])
    with fail_after(60):
        async with (
            serving(Authority()) as authority,
            office(authority, tmp_path, app_keys=[reads, decides]) as place,
        ):
            await place.tasks.start(place.agent, "go", task_id="t")
            url = str((await place.asked()).url)
            assert (await place.app.get(url)).status_code == 401
            assert (await place.app.get(url, headers={"X-API-Key": reader})).status_code == 403
            begun = await place.app.get(url, headers={"X-API-Key": boss})
            assert (await place.app.get(await place.back(begun))).status_code == 303  # without a key
            await place.ended()
            parts = await place.parts()
            unknown = await place.app.get("/oauth/start/none", headers={"X-API-Key": boss})
    assert [part.by for part in parts if isinstance(part, QuestionAnswered)] == ["boss"]
    assert unknown.status_code == 400


async def test_an_address_that_is_opened_again_after_access_was_given_answers_the_question(tmp_path: Path) -> None:
    with fail_after(60):
        async with serving(Authority()) as authority, office(authority, tmp_path) as place:
            await place.tasks.start(place.agent, "go", task_id="t")
            await place.consent(question := await place.asked())
            await place.ended()
            answer = await place.app.get(str(question.url))
            assert (answer.status_code, answer.headers["location"]) == (303, "/oauth/given")


async def test_no_token_is_in_a_file_a_log_a_result_or_what_the_model_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "stagepost")
    caplog.set_level(logging.DEBUG, "mcp.client")
    with fail_after(60):
        async with (
            serving(Authority()) as authority,
            office(authority, tmp_path, [ASK, call("leak")], keys=b"k" * 32) as place,
        ):
            await place.tasks.start(place.agent, "go", task_id="t")
            await place.consent(await place.asked())
            task = await place.ended()
            (token,) = authority.access
            (refresh,) = authority.refreshing
        stored = b"".join(map(Path.read_bytes, filter(Path.is_file, (tmp_path / name for name in FILES))))
    assert said(task)[-1] == "***"
    assert [secret for secret in (token, refresh) if secret.encode() in stored or secret in caplog.text] == []
    assert token not in str(task)


async def test_the_tokens_outlive_the_process_that_asked_for_them(tmp_path: Path) -> None:
    with fail_after(60):
        async with serving(Authority()) as authority:
            async with office(authority, tmp_path) as place:
                await place.tasks.start(place.agent, "go", task_id="t")
                question = await place.asked()
                back = await place.decided(question)
                cookies = dict(place.app.cookies)
            async with office(authority, tmp_path) as place:  # another process gets the callback
                place.app.cookies.update(cookies)
                assert (await place.app.get(back)).status_code == 303
                assert said(await place.ended())[-1] == "hi"


async def first_life(folder: str, base: str) -> None:
    """Start a task, say when it waits, and wait to be killed."""
    async with SqliteStore(Path(folder) / "runs.db") as store:
        agent = clerk(server(Authority(base=base), StoredTokens(store)), [ASK, ECHO])
        async with Runner(store, workflows=[agent]) as runner:
            await Tasks(runner).start(agent, "go", task_id="t")
            assert await (await runner.get("t")).settled() is RunStatus.WAITING
            os.write(1, b"asked\n")
            await anyio.sleep_forever()


async def test_a_process_killed_while_a_person_thinks_costs_nothing(tmp_path: Path) -> None:
    with fail_after(120):
        async with serving(Authority()) as authority:
            command = [sys.executable, "-c", LIFE, str(tmp_path), authority.base]
            async with await anyio.open_process(command, stderr=subprocess.DEVNULL, env=environment()) as process:
                assert process.stdout is not None
                assert await process.stdout.receive() == b"asked\n"
                process.kill()
                with suppress(anyio.EndOfStream):
                    await process.stdout.receive()
                await process.wait()
            async with office(authority, tmp_path) as place:
                await place.consent(await place.asked())
                assert said(await place.ended())[-1] == "hi"
    assert authority.log.count("echo hi") == 1


async def test_two_servers_of_one_address_have_two_accounts(tmp_path: Path) -> None:
    with fail_after(60):
        async with serving(Authority()) as authority:
            async with office(authority, tmp_path, [ASK]) as place:
                await place.tasks.start(place.agent, "go", task_id="t")
                await place.consent(await place.asked())
                await place.ended()
            async with office(authority, tmp_path, [call("authorize_other")], name="other") as place:
                await place.tasks.start(place.agent, "go", task_id="u")
                assert (await place.asked("u")).server == "other"
