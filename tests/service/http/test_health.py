"""What the service depends on is tried, within a time, and told only to those who may know."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from tests.service.http._served import KEY, SECRET, app, client

from stagepost.agents import Agent, NoOpTracingProvider, Prompts, RegisteredPrompt, ScriptedModel, Tracing
from stagepost.agents.errors import PromptsUnavailable
from stagepost.checkpoint import SqliteStore
from stagepost.service import HealthCheck, Scope, create_app, model_check, new_key, prompts_check, tracing_check
from stagepost.workflows import Runner

WITH_KEY = {"X-API-Key": SECRET}


def saying(text: str) -> Callable[[], Any]:
    async def look() -> str:
        return text

    return look


async def failing() -> str:
    raise ConnectionError("inside out")


async def hanging() -> str:
    await anyio.sleep_forever()
    raise AssertionError


async def test_the_store_is_tried(tmp_path: Path) -> None:
    is_read_only = False

    def run_batch(connection: sqlite3.Connection, *rest: Any) -> Any:
        from stagepost.checkpoint._sqlite._batch import run_batch as run

        connection.execute(f"PRAGMA query_only = {is_read_only:d}")
        return run(connection, *rest)

    served = create_app(Runner(SqliteStore(tmp_path / "runs.db", run_batch=run_batch)), keys=[KEY])
    async with client(served) as http:
        healthy = await http.get("/health", headers=WITH_KEY)
        assert healthy.json()["checks"]["store"]["detail"] == "takes writes"
    served = create_app(Runner(SqliteStore(tmp_path / "runs.db", run_batch=run_batch)), keys=[KEY])
    async with client(served) as http:
        is_read_only = True
        stricken = await http.get("/health", headers=WITH_KEY)
        is_read_only = False
    assert (stricken.status_code, stricken.json()["status"]) == (503, "unavailable")
    assert "StoreNotWritable" in stricken.json()["checks"]["store"]["detail"]


@pytest.mark.parametrize(
    ("is_needed", "status", "condition"), [(True, 503, "unavailable"), (False, 200, "degraded")], ids=["needed", "not"]
)
async def test_what_fails_makes_it_unavailable_or_degraded(is_needed: bool, status: int, condition: str) -> None:  # noqa: FBT001  # a table
    checks = [HealthCheck("prompts", failing, is_needed=is_needed), HealthCheck("other", saying("well"))]
    async with client(app(checks=checks)) as http:
        found = await http.get("/health", headers=WITH_KEY)
    assert (found.status_code, found.json()["status"]) == (status, condition)
    assert found.json()["checks"]["prompts"] | {"seconds": 0} == {
        "status": condition,
        "detail": "ConnectionError: inside out",
        "seconds": 0,
    }
    assert found.json()["checks"]["other"]["status"] == "ok"


async def test_a_check_that_hangs_does_not_hold_up_the_answer() -> None:
    with anyio.fail_after(60):
        async with client(app(checks=[HealthCheck("model", hanging, timeout=0.01)])) as http:
            found = await http.get("/health", headers=WITH_KEY)
    assert found.json()["checks"]["model"]["detail"] == "did not answer within 0.01 s"


@pytest.mark.parametrize("headers", [{}, {"X-API-Key": "wrong"}], ids=["none", "wrong"])
async def test_without_a_key_only_the_condition_is_told(headers: dict[str, str]) -> None:
    async with client(app(checks=[HealthCheck("prompts", failing)])) as http:
        assert (await http.get("/health", headers=headers)).json() == {"status": "unavailable"}


async def test_who_may_not_read_is_told_the_condition() -> None:
    secret, key = new_key("ben", [Scope.RUN])
    async with client(app(keys=[key])) as http:
        assert (await http.get("/health", headers={"X-API-Key": secret})).json() == {"status": "ok"}


async def test_it_is_remembered_for_a_moment() -> None:
    looks = 0

    async def look() -> str:
        nonlocal looks
        looks += 1
        return "well"

    async with client(app(checks=[HealthCheck("model", look)])) as http, anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(http.get, "/health")
    assert looks == 1


async def test_health_is_told_before_the_start() -> None:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app()), base_url="http://localhost") as http:
        assert (await http.get("/health")).status_code == 503


def test_two_checks_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="named store"):
        app(checks=[HealthCheck("store", failing)])


class Keyed(ScriptedModel):
    secrets: tuple[str, ...] = ()


class Remote(ScriptedModel):
    api_base = ""


async def test_a_model_without_its_key_is_not_well() -> None:
    model = Keyed([])
    with pytest.raises(LookupError, match="has no key"):
        await model_check("model", model).look()
    model.secrets = ("sk-1",)
    assert await model_check("model", model).look() == "has a key"
    assert await model_check("model", ScriptedModel([])).look() == "needs no key"
    with pytest.raises(LookupError, match="has no key"):
        await model_check("model", "nobody/knows").look()


async def test_a_model_with_an_address_is_connected_to() -> None:
    model = Remote([])
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        port = listener.extra(anyio.abc.SocketAttribute.local_port)  # noqa: S610  # anyio's, not Django's
        model.api_base = f"http://127.0.0.1:{port}/v1"
        assert await model_check("model", model).look() == "can be reached"
    with pytest.raises(OSError, match="connection"):
        await model_check("model", model).look()
    model.api_base = "nowhere"
    with pytest.raises(ValueError, match="no host"):
        await model_check("model", model).look()


class Registry:
    """Prompts that can be asked for, or not."""

    def __init__(self) -> None:
        self.is_there = True

    async def get(self, _name: str, _label: str) -> RegisteredPrompt:
        if not self.is_there:
            raise ConnectionError("no route")
        return RegisteredPrompt("Say what it is.", "1")

    async def create(self, *given: str) -> None:
        raise AssertionError(given)


async def test_a_registry_of_prompts_that_is_away_degrades_the_service() -> None:
    registry = Registry()
    prompts = Prompts(registry, {"weather": "Say something."}, clock=lambda: 0)
    check = prompts_check(prompts)
    assert await check.look() == "answers"
    registry.is_there = False
    with pytest.raises(PromptsUnavailable, match="no route"):
        await check.look()
    assert (check.name, check.is_needed) == ("prompts", False)


class Untraced(NoOpTracingProvider):
    """Fails for as long as it is told to."""

    fails = True

    async def begin_trace(self, *_given: object, **_named: object) -> None:
        if self.fails:
            raise ConnectionError("no route")


async def test_traces_that_are_lost_degrade_the_service_until_they_are_taken_again() -> None:
    provider = Untraced()
    tracing = Tracing(provider)
    check = tracing_check(tracing)
    assert await check.look() == "0 calls of its provider have succeeded"
    agent = Agent("a", "A.", model=ScriptedModel(["Yes.", "Yes."]))
    await agent.run("Well?", tracing=tracing)
    with pytest.raises(ConnectionError, match=r"^\d+ of the last \d+ calls"):
        await check.look()
    provider.fails = False
    await agent.run("Well?", tracing=tracing)
    assert "have succeeded" in await check.look()
    assert (check.name, check.is_needed) == ("tracing", False)
