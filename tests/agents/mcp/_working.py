"""A server of the protocol of 2026, written by hand, whose calls become tasks; they outlive its process.

``python _working.py FOLDER``; a task goes on with each question for it, and its state is a file of the folder.
"""

import json
import sys
from pathlib import Path
from typing import Any

TASKS = "io.modelcontextprotocol/tasks"
CITY = {"type": "object", "properties": {"city": {"type": "string"}}}
NAMES = ("dig", "ask", "break", "stop", "endless", "lose", "nag", "nonsense")
SURE = {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]}
COMPLETE = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public"}


class Folder:
    """What outlives the process."""

    def __init__(self, place: Path) -> None:
        self._place = place

    def log(self, line: str) -> None:
        with (self._place / "log").open("a") as file:
            file.write(f"{line}\n")

    def read(self, task: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self._place / task).read_text())
        return found

    def write(self, task: str, state: dict[str, Any]) -> None:
        (self._place / task).write_text(json.dumps(state))


def called(folder: Folder, params: dict[str, Any]) -> dict[str, Any]:
    if params["name"] == "nonsense":
        return {"content": 7, **COMPLETE}
    if params["name"] == "nag":
        request = {"method": "elicitation/create", "params": {"message": "Sure?", "requestedSchema": SURE}}
        return {"resultType": "input_required", "inputRequests": {"sure": request}, "requestState": "nag"}
    return created(folder, params)


def created(folder: Folder, params: dict[str, Any]) -> dict[str, Any]:
    assert TASKS in params["_meta"]["io.modelcontextprotocol/clientCapabilities"]["extensions"]
    name = params["name"]
    folder.log(f"calls {name}")
    folder.write(f"task-{name}", {"tool": name, "asked": 0, "said": None})
    return {"resultType": "task", "taskId": f"task-{name}", **about("working")}


def about(status: str) -> dict[str, Any]:
    return {"status": status, "createdAt": "x", "lastUpdatedAt": "x", "ttlMs": None, "pollIntervalMs": 1}


def found(folder: Folder, task: str) -> dict[str, Any]:
    state = folder.read(task)
    state["asked"] += 1
    folder.write(task, state)
    folder.log(f"asked for {task}")
    text = {"content": [{"type": "text", "text": f"{state['tool']} {json.dumps(state['said'])}"}]}
    match state["tool"]:
        case "dig" if state["asked"] > 2:
            return {**about("completed"), "result": text}
        case "ask" if state["said"] is None:
            request = {"method": "elicitation/create", "params": {"message": "Sure?", "requestedSchema": SURE}}
            return {**about("input_required"), "inputRequests": {"sure": request}}
        case "ask":
            return {**about("completed"), "result": text}
        case "break":
            return {**about("failed"), "error": {"code": 1, "message": "the ground is hard"}}
        case "stop":
            return {**about("cancelled"), "statusMessage": "it rains"}
        case _:
            return about("working")


def answer(folder: Folder, method: str, params: dict[str, Any]) -> dict[str, Any] | None:  # noqa: PLR0911  # one each
    match method:
        case "server/discover":
            capabilities: dict[str, Any] = {"tools": {}, "extensions": {TASKS: {}}}
            return {"supportedVersions": ["2026-07-28"], "capabilities": capabilities, **COMPLETE}
        case "tools/list":
            # An attribute of the protocol before: it means nothing here.
            tools = [{"name": n, "inputSchema": CITY, "execution": {"taskSupport": "required"}} for n in NAMES]
            return {"tools": tools, **COMPLETE}
        case "tools/call":
            return called(folder, params)
        case "tasks/get" if params["taskId"] != "task-lose":
            return found(folder, params["taskId"])
        case "tasks/update":
            state = folder.read(params["taskId"])
            folder.write(params["taskId"], {**state, "said": params["inputResponses"]["sure"]})
            return {"resultType": "complete"}
        case "tasks/cancel":
            folder.log(f"cancels {params['taskId']}")
            return {"resultType": "complete"}
        case _:
            return None


if __name__ == "__main__":
    here = Folder(Path(sys.argv[1]))
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            result = answer(here, message["method"], message.get("params", {}))
            body = {"error": {"code": -32601, "message": "unknown"}} if result is None else {"result": result}
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}) + "\n")
            sys.stdout.flush()
