"""A server written by hand, without any SDK, of the protocol of 2025: odd schemas, odd answers, and tools that change.

``python _odd.py``; each line of its standard input is a message.
"""

import json
import sys
from base64 import b64encode
from typing import Any

PICTURE = b64encode(b"\x89PNG\r\n\x1a\n" * 200).decode()
TEXT = {"anyOf": [{"type": "string"}, {"type": "null"}]}

TOOLS: list[dict[str, Any]] = [
    {"name": "nothing", "inputSchema": {"type": "object"}},
    {"name": "open", "inputSchema": {"type": "object", "additionalProperties": True}},
    {
        "name": "tree",
        "description": "Takes itself.",
        "inputSchema": {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {"node": {"$ref": "#/$defs/Node"}, "self": {"$ref": "#"}},
            "$defs": {"Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}},
        },
    },
    {
        "name": "any of",
        "inputSchema": {
            "type": "object",
            "properties": {"x": TEXT, "y": {}},
        },
    },
    {"name": "task", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "required"}},
    {"name": "grow", "inputSchema": {"type": "object"}},
]
MORE = {"name": "late", "inputSchema": {"type": "object"}}
ANSWERS: dict[str, dict[str, Any]] = {
    "nothing": {"content": []},
    "open": {
        "content": [{"type": "image", "data": PICTURE, "mimeType": "image/png"}],
        "structuredContent": {"image": PICTURE, "width": 12},
    },
    "tree": {"content": [{"type": "image", "data": "no base64", "mimeType": "image/png"}]},
    "any of": {"content": [{"type": "text", "text": "no"}], "isError": True, "structuredContent": {"why": "no"}},
    "late": {"content": [{"type": "text", "text": "better late"}]},
}


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    if method == "initialize":
        about = {"serverInfo": {"name": "odd", "version": "1"}, "instructions": "  Be careful.\n"}
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {"listChanged": True}}, **about}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call" and params["name"] == "grow":
        TOOLS.append(MORE)
        send(method="notifications/tools/list_changed")
        return {"content": [{"type": "text", "text": "grown"}]}
    return ANSWERS[params["name"]] if method == "tools/call" else None


if __name__ == "__main__":
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            result = answer(message["method"], message.get("params", {}))
            if result is None:
                send(id=message["id"], error={"code": -32601, "message": "no such method"})
            else:
                send(id=message["id"], result=result)
