"""The audit whose analyst asks a model, as its user runs it."""

from pathlib import Path

import pytest
from tests._forks import Forks
from tests._needs import need
from tests.examples.audit_environment import Site
from tests.examples.example_process import run_example

from stagepost.agents import call
from stagepost.agents.testing import LocalServer, ServerEntry, ServerRequest, Status

need("litellm")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def write(request: ServerRequest) -> ServerEntry:
    """What a model might say: first something that does not fit."""
    return "I would rather not." if request.turn == 0 else [call("return", sentences=["Somebody has been at it."])]


async def test_a_model_writes_what_was_found(site: Site, tmp_path: Path, forks: Forks) -> None:
    for number in range(8):
        site.install(f"library-{number}", "1.0")
    site.install("victim", "2.5", files={"victim/core.py": "y = 2\n"})
    site.write("victim/core.py", "y = 3  # not what was released\n")
    command = ["-m", "dependency_audit", "--path", str(site.folder), "--no-crash"]
    async with LocalServer(write) as server:
        done = run_example(forks, *command, cwd=tmp_path, provider=server.url)
    assert done.returncode == 0, done.stderr
    report = (tmp_path / "audit-report" / "audit.md").read_text()
    assert "### victim 2.5 (high)\n" in report
    assert "- Somebody has been at it." in report
    assert [request.turn for request in server.requests] == [0, 1], "only what breaks a rule is written about"
    assert "victim/core.py" in server.requests[0].text


async def test_a_provider_that_refuses_fails_the_audit_with_a_sentence(
    site: Site, tmp_path: Path, forks: Forks
) -> None:
    site.install("victim", "2.5", headers="")
    command = ["-m", "dependency_audit", "--path", str(site.folder), "--no-crash"]
    async with LocalServer(lambda _request: Status(401, message="who are you?")) as server:
        done = run_example(forks, *command, cwd=tmp_path, provider=server.url)
    assert done.returncode == 1
    assert "who are you?" in done.stderr
    assert "Traceback" not in done.stderr
