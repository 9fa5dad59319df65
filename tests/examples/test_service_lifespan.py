"""The service as its clients see it: a real process behind a real socket, killed and started again."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

ROOT = Path(__file__).parents[2]
SMALL = {"who": "Ada", "amount": 20}
LARGE = {"who": "Ada", "amount": 1000, "currency": "USD"}


@dataclass(frozen=True)
class Service:
    process: subprocess.Popen[str]
    client: httpx2.Client

    def kill(self) -> None:
        self.process.kill()
        assert self.process.wait() == -signal.SIGKILL

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, Any]:
        answer = self.client.request(method, path, json=body, headers=headers)
        return answer.status_code, answer.json()

    def inbox(self) -> list[dict[str, Any]]:
        status, entries = self.ask("GET", "/inbox")
        assert status == 200
        return list(entries)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], Service]]:
    """Starts the service, each time on the same files."""
    paths = os.pathsep.join(str(ROOT / part) for part in ("hub", "checkpoint", "workflows", "agents", "examples"))
    command = [sys.executable, "-m", "service_lifespan", "--port", "0", "--folder", str(tmp_path)]
    with ExitStack() as stack:

        def begin() -> Service:
            process = subprocess.Popen(
                command, env={**os.environ, "PYTHONPATH": paths}, stdout=subprocess.PIPE, stderr=None, text=True
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            assert process.stdout is not None
            address = process.stdout.readline().rpartition(" ")[2].strip()
            client = stack.enter_context(httpx2.Client(base_url=address, timeout=20, trust_env=False))
            return Service(process, client)

        yield begin


def payments(folder: Path) -> list[str]:
    file = folder / "payments.txt"
    return file.read_text().splitlines() if file.exists() else []


def test_what_is_done_at_once_is_answered_at_once(start: Callable[[], Service], tmp_path: Path) -> None:
    status, claim = start().ask("POST", "/claims", SMALL)
    assert (status, claim["status"], claim["payment"]) == (200, "completed", "20.00 paid to Ada")
    assert payments(tmp_path) == ["Ada 20.00"]


def test_p7_a_claim_waits_through_a_sigkill_of_the_service(start: Callable[[], Service], tmp_path: Path) -> None:
    service = start()
    status, claim = service.ask("POST", "/claims", LARGE)
    assert (status, claim["status"]) == (202, "waiting")
    before = service.inbox()
    assert [(entry["wait"], entry["shown"]) for entry in before] == [
        (claim["waits"][0], {"who": "Ada", "euros": 900.0})
    ]
    service.kill()

    service = start()
    assert service.inbox() == before
    assert service.ask("GET", f"/claims/{claim['run']}")[0] == 202
    status, paid = service.ask("POST", f"/inbox/{before[0]['wait']}", {"approved": True, "by": "Grace"})
    assert (status, paid["payment"], paid["approval"]["by"]) == (200, "900.00 paid to Ada", "Grace")
    assert service.inbox() == []
    service.kill()

    assert start().ask("GET", f"/claims/{claim['run']}") == (200, paid)
    assert payments(tmp_path) == ["Ada 900.00"]


def test_an_idempotency_key_finds_the_same_claim_also_behind_a_sigkill(
    start: Callable[[], Service], tmp_path: Path
) -> None:
    service = start()
    first = service.ask("POST", "/claims", SMALL, **{"Idempotency-Key": "trip-7"})
    service.kill()
    service = start()
    assert service.ask("POST", "/claims", SMALL, **{"Idempotency-Key": "trip-7"}) == first
    assert service.ask("POST", "/claims", LARGE, **{"Idempotency-Key": "trip-7"})[0] == 409
    assert payments(tmp_path) == ["Ada 20.00"]


def test_what_is_refused_is_not_paid_and_the_first_word_counts(start: Callable[[], Service], tmp_path: Path) -> None:
    service = start()
    service.ask("POST", "/claims", LARGE)
    (entry,) = service.inbox()
    status, claim = service.ask("POST", f"/inbox/{entry['wait']}", {"approved": False})
    assert (status, claim["status"], claim["payment"]) == (200, "completed", None)
    status, refusal = service.ask("POST", f"/inbox/{entry['wait']}", {"approved": True})
    assert status == 409
    assert "is completed" in refusal["error"]
    assert payments(tmp_path) == []


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        pytest.param("POST", "/claims", {"who": "", "amount": 1}, 422, id="no claim"),
        pytest.param("GET", "/claims/nobody", None, 404, id="no run"),
        pytest.param("POST", "/inbox/nobody/approval", {"approved": True}, 404, id="no wait"),
        pytest.param("POST", "/inbox/x", {}, 422, id="no decision"),
    ],
)
def test_a_refusal_has_a_status_and_a_reason(
    start: Callable[[], Service], method: str, path: str, body: object, status: int
) -> None:
    found, answer = start().ask(method, path, body)
    assert (found, bool(answer["error"])) == (status, True)


def test_sigterm_leaves_what_waits_for_the_next_process(start: Callable[[], Service]) -> None:
    service = start()
    service.ask("POST", "/claims", LARGE)
    service.process.terminate()
    service.process.wait(timeout=20)
    assert len(start().inbox()) == 1
