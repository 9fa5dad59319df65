"""What rules of chat completions have in common: reading a request's parts, and how results follow calls."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tests.agents.providers._rules import Json, Refused, Request

NAME: Final = re.compile(r"[a-zA-Z0-9_-]+")
IMAGES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")

_DATA: Final = re.compile(r"data:(?P<type>[^;,]*)(?P<encoding>;base64)?,(?P<data>.*)", re.DOTALL)


def messages(request: Request) -> list[Json]:
    """The messages."""
    found: list[Json] = request.body.get("messages") or []
    return found


def calls(message: Json) -> list[Json]:
    """The calls of an answer."""
    found: list[Json] = message.get("tool_calls") or []
    return found


def functions(request: Request) -> list[Json]:
    """The functions that may be called."""
    return [tool.get("function") or {} for tool in request.body.get("tools") or ()]


def all_calls(request: Request) -> Iterator[tuple[str, Json]]:
    """Each call with where it stands."""
    for index, message in enumerate(messages(request)):
        for place, call in enumerate(calls(message)):
            yield f"messages[{index}].tool_calls[{place}]", call


def parts(message: Json) -> list[Json]:
    """The parts of a message's content, if it has parts."""
    content = message.get("content")
    return content if isinstance(content, list) else []


def check_text(value: object, where: str, *, most: int, pattern: re.Pattern[str] | None = None) -> None:
    """Hold a text against OpenAI's limits of one, in OpenAI's words."""
    if not isinstance(value, str):
        raise Refused(f"Invalid type for '{where}': expected a string.", code="invalid_type", param=where)
    if not value:
        message = f"Invalid '{where}': empty string. Expected a string with minimum length 1, but got an empty string."
        raise Refused(message, code="empty_string", param=where)
    if len(value) > most:
        message = f"Expected a string with maximum length {most}, but got a string with length {len(value)} instead."
        raise Refused(f"Invalid '{where}': string too long. {message}", code="string_above_max_length", param=where)
    if pattern is not None and pattern.fullmatch(value) is None:
        message = f"string does not match pattern. Expected a string that matches the pattern '^{pattern.pattern}$'."
        raise Refused(f"Invalid '{where}': {message}", code="invalid_value", param=where)


def check_pairing(request: Request, unanswered: str, unasked: str) -> None:
    """Each answer's calls are followed at once by one result each, and there is no other result.

    Args:
        request: The request.
        unanswered: What is said of calls without result; with a place for their ids.
        unasked: What is said of a result without call.
    """
    open_: list[str] = []
    for index, message in enumerate(messages(request)):
        where = f"messages.[{index}].role"
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in open_:
                raise Refused(unasked, param=where)
            open_.remove(message["tool_call_id"])
            continue
        if open_:
            raise Refused(unanswered.format(", ".join(open_)), param=where)
        open_ = [str(call.get("id")) for call in calls(message)]
    if open_:
        raise Refused(unanswered.format(", ".join(open_)), param=f"messages.[{len(messages(request))}].role")


def twice(request: Request) -> str | None:
    """An id that two calls of one answer have; None if there is none."""
    for message in messages(request):
        ids = [str(call.get("id")) for call in calls(message)]
        for each in ids:
            if ids.count(each) > 1:
                return each
    return None


def data_url(url: str) -> tuple[str, str] | None:
    """Media type and data of an address that holds the data itself; None for any other."""
    found = _DATA.fullmatch(url)
    return None if found is None else (found["type"], found["data"])


def forced(choice: object) -> bool:
    """Whether a tool choice makes the model call something."""
    return choice in ("required", "any") or isinstance(choice, Mapping)


# What hand-written requests are made of.


def with_(body: Json, **changes: Any) -> Json:
    """A request with other fields; those that are None are left out."""
    return {key: value for key, value in {**body, **changes}.items() if value is not None}


def tool(name: str = "look", parameters: object = None, **more: Any) -> Json:
    """A tool with a parameter ``city``, or with others."""
    schema = {"type": "object", "properties": {"city": {"type": "string"}}} if parameters is None else parameters
    return {"type": "function", "function": {"name": name, "description": "Look.", "parameters": schema, **more}}


def called(*ids: str, name: str = "look", **more: object) -> Json:
    """An answer with calls."""
    made = [{"id": each, "type": "function", "function": {"name": name, "arguments": "{}"}} for each in ids]
    return {"role": "assistant", "content": None, "tool_calls": made, **more}


def result(id_: str, content: object = "3 degrees") -> Json:
    """The result of a call."""
    return {"role": "tool", "tool_call_id": id_, "content": content}


def user(content: object = "Oslo?") -> Json:
    """What a user says."""
    return {"role": "user", "content": content}


def assistant(content: object = "Fine.", **more: object) -> Json:
    """An answer without calls."""
    return {"role": "assistant", "content": content, **more}


def image(url: str = "data:image/png;base64,iVBORw0KGgo=") -> Json:
    """A part that is an image."""
    return {"type": "image_url", "image_url": {"url": url}}
