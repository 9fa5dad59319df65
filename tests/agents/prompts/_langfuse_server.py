"""A local server with the part of Langfuse's public interface that is about prompts, as its documentation has it."""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

PATH = "/api/public/v2/prompts"


@dataclass
class Project:
    """The versions of prompts that a server has; the keys are ``pk-1`` and ``sk-1``."""

    url: str
    versions: list[dict[str, Any]] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def add(self, name: str, prompt: Any, labels: list[str], kind: str = "text") -> dict[str, Any]:
        """Create a version; the newest has the label ``latest``, and a label belongs to one version."""
        own = [each for each in self.versions if each["name"] == name]
        for each in own:
            each["labels"] = [label for label in each["labels"] if label not in {*labels, "latest"}]
        made = {"name": name, "version": len(own) + 1, "type": kind, "prompt": prompt, "config": {}, "tags": []}
        self.versions.append({**made, "labels": [*labels, "latest"]})
        return self.versions[-1]

    def find(self, name: str, label: str) -> dict[str, Any] | None:
        """The version that has a label."""
        return next((each for each in self.versions if each["name"] == name and label in each["labels"]), None)


@contextmanager
def langfuse_server() -> Iterator[Project]:
    """Serve a project at a free port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        server.project = Project(f"http://127.0.0.1:{server.server_port}")  # type: ignore[attr-defined]  # for handlers
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.project  # type: ignore[attr-defined]  # see above
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        """Get one version of a prompt by label."""
        url = urlsplit(self.path)
        label = parse_qs(url.query).get("label", ["production"])[0]
        name = unquote(url.path.removeprefix(f"{PATH}/")) if "/" not in url.path.removeprefix(f"{PATH}/") else ""
        if not self._is_let_in():
            self._say(401, {"error": "UnauthorizedError", "message": "Invalid credentials"})
        elif found := self._project.find(name, label):
            self._say(200, found)
        else:
            self._say(404, {"error": "LangfuseNotFoundError", "message": f"Prompt not found: {name!r} {label!r}"})

    def do_POST(self) -> None:
        """Create a version of a prompt."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self._is_let_in() and self.path == PATH:
            self._say(201, self._project.add(asked["name"], asked["prompt"], asked["labels"]))
        else:
            self._say(401, {"error": "UnauthorizedError", "message": "Invalid credentials"})

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the library's name
        """Print nothing."""

    @property
    def _project(self) -> Project:
        project: Project = self.server.project  # type: ignore[attr-defined]  # see `langfuse_server`
        return project

    def _is_let_in(self) -> bool:
        self._project.requests.append(f"{self.command} {self.path}")
        given = self.headers.get("Authorization", "").removeprefix("Basic ")
        return base64.b64decode(given) == b"pk-1:sk-1"

    def _say(self, status: int, answer: object) -> None:
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
