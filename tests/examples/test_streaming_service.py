"""The service whose tasks are watched, as its clients see it: killed while a call waits, and started again."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
from tests._forks import LAYERS, LITELLM, Forks, shared
from tests._needs import need

need("litellm")

ADDRESS = "/tasks/mail-1?q=Write"


@contextmanager
def served(folder: Path, forks: Forks) -> Iterator[httpx2.Client]:
    """The service, until the block is left: then it is killed."""
    with forks.started("-m", "streaming_service", "--port", "0", "--folder", str(folder), cwd=folder) as printed:
        address = printed.readline().rpartition(" ")[2].strip()
        with httpx2.Client(base_url=address, timeout=20, trust_env=False) as client:
            yield client


def told(client: httpx2.Client, after: str | None = None, until: str = "") -> list[tuple[str, str | None, Any]]:
    """The types, ids and data of what comes, up to one of a type, or all."""
    found: list[tuple[str, str | None, Any]] = []
    headers = {} if after is None else {"last-event-id": after}
    with client.stream("GET", ADDRESS, headers=headers) as response:
        fields: dict[str, str] = {}
        for line in response.iter_lines():
            if line:
                name, _, fields[name] = line.partition(": ")
            elif "event" in fields:
                found.append((fields["event"], fields.get("id"), json.loads(fields["data"])))
                if fields["event"] == until:
                    return found
                fields = {}
    return found


def test_a_client_goes_on_after_a_kill_and_approves_what_was_asked_before(tmp_path: Path) -> None:
    forks = shared(*LAYERS, LITELLM, "uvicorn", "starlette.applications")
    with served(tmp_path, forks) as client:
        assert "EventSource" in client.get("/").text
        *_, (_, cursor, asked) = told(client, until="approval_requested")
    assert asked["arguments"] == {"to": "Ann", "text": "The tide comes at two."}
    with served(tmp_path, forks) as client:
        address = f"/approvals/{asked['approval_id']}"
        assert client.post(address.replace("approve", "nothing"), json={"allowed": True}).status_code == 404
        assert client.post(address.replace("#", "%23"), json={"allowed": True}).status_code == 204
        assert client.post(address.replace("#", "%23"), json={"allowed": True}).status_code == 409
        rest = told(client, cursor)
        numbered = [kind for kind, id_, _ in rest if id_ is not None]
        assert numbered == ["approval_decided", "tool_result", "message", "completed"]
        assert rest[-1][2]["result"] == "I have written to Ann."
        assert client.get(ADDRESS, headers={"last-event-id": str(rest[-1][1])}).status_code == 204
        assert client.get(ADDRESS, headers={"last-event-id": "garbage"}).status_code == 400
        assert client.get("/tasks/mail-1?q=Something else").status_code == 409
