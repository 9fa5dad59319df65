"""docs/streaming.md: its service is short, and does what the page says; its table has all parts."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path

import httpx2
import pytest
from tests._forks import LAYERS, Forks, shared

from stagepost import agents
from stagepost.agents import StreamPart

TEXT = (Path(__file__).parents[2] / "docs" / "streaming.md").read_text()
SERVICE = next(
    code for code in re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL) if "Starlette" in code
)
SERVE = """
import sys
import uvicorn
from service import app
config = uvicorn.Config(app, uds="socket", log_level="critical")
listening = config.bind_socket()
listening.listen()
print("ready", flush=True)
uvicorn.Server(config).run(sockets=[listening])
"""
PARTS = {
    part.__name__: part for part in vars(agents).values() if isinstance(part, type) and issubclass(part, StreamPart)
}
ROW = re.compile(r"^\| `(\w+)` \| `(\w+)` \|(.*?)\|.*\| (yes|no) \|$", re.MULTILINE)


@contextmanager
def served(folder: Path, forks: Forks) -> Iterator[httpx2.Client]:
    """The service of the page, until the block is left: then it is killed."""
    (folder / "service.py").write_text(SERVICE)
    (folder / "serve.py").write_text(SERVE)
    (folder / "socket").unlink(missing_ok=True)
    with forks.started("serve.py", cwd=folder) as printed:
        assert printed.readline() == "ready\n"
        transport = httpx2.HTTPTransport(uds=str(folder / "socket"))
        with httpx2.Client(transport=transport, base_url="http://service", timeout=20) as client:
            yield client


def test_the_service_of_the_page_is_no_longer_than_twenty_lines() -> None:
    lines = [line for line in SERVICE.splitlines() if line.strip() and not line.startswith(("import", "from"))]
    assert len(lines) < 20


def test_the_service_of_the_page_goes_on_after_a_kill(tmp_path: Path) -> None:
    forks = shared(*LAYERS, "uvicorn", "starlette.applications")
    address = "/tasks/trip-1?q=Miami%3F"
    with served(tmp_path, forks) as client:
        whole = client.get(address)
    assert whole.headers["content-type"].startswith("text/event-stream")
    ids = re.findall(r"^id: (.+)$", whole.text, re.MULTILINE)
    events = re.findall(r"^event: (.+)$", whole.text, re.MULTILINE)
    assert [event for event in events if event not in ("turn", "token")] == ["message", "message", "completed"]
    assert len(ids) == 3
    with served(tmp_path, forks) as client:
        rest = client.get(address, headers={"last-event-id": ids[0]})
        assert re.findall(r"^id: (.+)$", rest.text, re.MULTILINE) == ids[1:]
        assert client.get(address, headers={"last-event-id": ids[-1]}).status_code == 204


def test_the_page_has_all_parts_with_their_fields() -> None:
    rows = {name: (kind, re.findall(r"`(\w+)`", named), told == "yes") for name, kind, named, told in ROW.findall(TEXT)}
    common = {field.name for field in fields(StreamPart)}
    found = {
        name: (part.type, [f.name.rstrip("_") for f in fields(part) if f.name not in common], part.is_numbered)
        for name, part in PARTS.items()
        if part is not StreamPart
    }
    assert rows == found


@pytest.mark.parametrize("name", sorted(field.name for field in fields(StreamPart)))
def test_the_page_names_what_all_parts_have(name: str) -> None:
    assert f"`{name}`" in TEXT
