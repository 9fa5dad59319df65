"""The service in a process of its own, over real HTTP, stopped by a real signal."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

ROOT = Path(__file__).parents[2]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Service:
    def __init__(self) -> None:
        port = free_port()
        paths = [str(ROOT / layer) for layer in ("hub", "examples")]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "hub_service", str(port)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            stdout=subprocess.PIPE,
            text=True,
        )
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=20, trust_env=False)
        self.wait_until_it_answers()

    def wait_until_it_answers(self) -> None:
        ends = time.monotonic() + 20
        while True:
            try:
                self.client.get("/nothing")
            except httpx.ConnectError:
                assert time.monotonic() < ends
                time.sleep(0.05)  # there is nothing to wait on before it listens
            else:
                return

    def order(self, article: str) -> httpx.Response:
        return self.client.post("/orders", json={"article": article})

    def stop(self) -> str:
        self.process.send_signal(signal.SIGTERM)
        output, _ = self.process.communicate(timeout=20)
        return output


@pytest.fixture
def service() -> Iterator[Service]:
    started = Service()
    yield started
    started.client.close()
    started.process.kill()
    started.process.communicate()


def test_orders_are_answered_and_bad_ones_refused(service: Service) -> None:
    assert service.order("chair").json() == {"number": 1, "article": "chair"}
    assert service.client.post("/orders", content=b"{}").status_code == 422
    assert service.order("table").json()["number"] == 2


def test_sigterm_loses_no_order_and_ends_the_stream(service: Service) -> None:
    with ThreadPoolExecutor(8) as pool, service.client.stream("GET", "/events") as stream:
        lines = stream.iter_lines()
        assert next(lines) == ": listening"
        orders = [pool.submit(service.order, f"article {number}") for number in range(6)]
        assert "event: orders.3.booked" in (line for line in lines)  # by now all of them have arrived
        service.process.send_signal(signal.SIGTERM)
        booked = [line for line in lines if line.startswith("event:")]
        answers = [order.result(20) for order in orders]
    assert [answer.status_code for answer in answers] == [200] * 6
    assert sorted(answer.json()["number"] for answer in answers) == [1, 2, 3, 4, 5, 6]
    assert booked == [*(f"event: orders.{number}.booked" for number in range(4, 7)), "event: end"]
    output, _ = service.process.communicate(timeout=20)
    assert "drained, 0 unfinished" in output
