"""The service as its users see it: a real process, behind a real socket."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from anyio import create_task_group, fail_after
from hub_service.shop import OutOfStock
from hub_service.statuses import status_of

from stagepost.hub import AgentStopped, HandlerFailed, HubStopped, MailboxFull, RequestTimeout, UnexpectedReply

ROOT = Path(__file__).parents[2]
LAMP = {"item": "lamp", "quantity": 1}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass(frozen=True)
class Service:
    process: subprocess.Popen[str]
    address: str
    journal: Path

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def complaints(self) -> str:
        """What it complained about until its end."""
        _, complaints = self.process.communicate(timeout=20)
        return complaints

    def client(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(base_url=self.address, timeout=20, trust_env=False)

    def receipts(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.journal.read_text().splitlines()]


@pytest.fixture
def service(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Service]:
    journal = tmp_path / "journal.jsonl"
    pause = getattr(request, "param", "0")
    paths = os.pathsep.join([str(ROOT / "hub"), str(ROOT / "examples")])
    command = [sys.executable, "-m", "hub_service", "--port", "0", "--journal", str(journal), "--pause", pause]
    process = subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": paths}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield Service(process, process.stdout.readline().rpartition(" ")[2].strip(), journal)
    finally:
        process.kill()
        process.communicate()


@asynccontextmanager
async def events(client: httpx2.AsyncClient, topic: str) -> AsyncIterator[AsyncIterator[str]]:
    async with client.stream("GET", "/events", params={"topic": topic}) as response:
        lines = response.aiter_lines()
        assert await anext(lines) == ": listening"
        yield lines


async def test_an_order_is_a_request_to_an_agent(service: Service) -> None:
    async with service.client() as client:
        answer = await client.post("/orders", json=LAMP)
    assert (answer.status_code, answer.json()) == (201, {"number": 1, "item": "lamp", "quantity": 1})


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        pytest.param({"item": "chair", "quantity": 3}, 409, "2 of 'chair' left", id="the handler's error"),
        pytest.param({"item": "lamp", "quantity": 0}, 422, "greater than 0", id="a body that is no order"),
    ],
)
async def test_a_refusal_has_a_status_and_a_reason(service: Service, body: object, status: int, words: str) -> None:
    async with service.client() as client:
        answer = await client.post("/orders", json=body)
    assert answer.status_code == status
    assert words in answer.text


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (MailboxFull("warehouse", 100), 503),
        (AgentStopped("warehouse"), 503),
        (HubStopped("warehouse", "shop"), 503),
        (RequestTimeout("warehouse", 5.0, "handler"), 504),
        (HandlerFailed("warehouse", "reserve", OutOfStock("chair", 2)), 409),
        (HandlerFailed("warehouse", "reserve", ZeroDivisionError()), 500),
        (UnexpectedReply("warehouse", int, "receipt"), 500),
    ],
    ids=lambda value: str(value) if isinstance(value, int) else type(value).__name__,
)
def test_errors_of_the_hub_have_statuses(error: BaseException, status: int) -> None:
    assert status_of(error) == status


async def test_events_reach_those_who_listen_to_their_topic(service: Service) -> None:
    with fail_after(20):
        async with service.client() as client, events(client, "orders.chair.*") as lines:
            await client.post("/orders", json=LAMP)
            await client.post("/orders", json={"item": "chair", "quantity": 2})
            seen = [line async for line in _until_data(lines)]
    assert "event: orders.chair.reserved" in seen
    assert seen[-1] == 'data: {"number":2,"item":"chair","quantity":2}'


async def _until_data(lines: AsyncIterator[str]) -> AsyncIterator[str]:
    async for line in lines:
        yield line
        if line.startswith("data: "):
            return


async def test_a_topic_that_is_none_is_refused(service: Service) -> None:
    async with service.client() as client:
        answer = await client.get("/events", params={"topic": "orders..paid"})
    assert answer.status_code == 400


async def test_a_client_that_goes_away_ends_its_subscription(service: Service) -> None:
    async with service.client() as client:
        async with events(client, "orders.>"):
            pass
        assert (await client.post("/orders", json=LAMP)).status_code == 201
        assert (await client.get("/health")).json()["dead"] == 0
    service.stop()
    assert service.complaints() == ""


@pytest.mark.parametrize("service", ["0.1"], indirect=True, ids=["slow journal"])
async def test_sigterm_loses_nothing_that_was_accepted(service: Service) -> None:
    async def order() -> None:
        assert (await client.post("/orders/later", json=LAMP)).status_code == 202

    async with service.client() as client:
        async with create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(order)
        assert (await client.get("/health")).json()["waiting"] > 0
    service.stop()
    assert service.complaints() == ""
    assert service.process.returncode == 0
    assert [receipt["number"] for receipt in service.receipts()] == list(range(1, 21))


async def test_sigterm_ends_the_streams_after_what_they_received(service: Service) -> None:
    with fail_after(20):
        async with service.client() as client, events(client, "orders.>") as lines:
            await client.post("/orders", json=LAMP)
            service.stop()
            seen = [line async for line in lines]
    assert any(line.startswith("data: ") for line in seen)
    assert service.complaints() == ""
    assert service.process.returncode == 0


async def test_a_request_in_flight_at_sigterm_gets_its_answer(service: Service) -> None:
    statuses = []

    async def order() -> None:
        async with service.client() as client:
            statuses.append((await client.post("/orders", content=slow_body())).status_code)

    async def slow_body() -> AsyncIterator[bytes]:
        yield b'{"item": "lamp", '
        service.stop()
        await stopped_listening(service.address)
        yield b'"quantity": 1}'

    with fail_after(20):
        async with create_task_group() as tasks:
            tasks.start_soon(order)
    assert service.complaints() == ""
    assert statuses == [201]
    assert [receipt["number"] for receipt in service.receipts()] == [1]


async def stopped_listening(address: str) -> None:
    """Return once new connections are refused."""
    url = httpx2.URL(address)
    while True:
        try:
            await (await anyio.connect_tcp(url.host, url.port or 80)).aclose()
        except OSError:
            return
