"""What tells one question to a model from another."""

from collections.abc import Callable
from dataclasses import asdict
from hashlib import sha256
from typing import Final

from pydantic import TypeAdapter
from pydantic_core import to_json

from ._model import ModelRequest

_REQUEST: Final = TypeAdapter(ModelRequest)
_SILENT: Final = frozenset({"cache", "timeout"})  # settings that change nothing of an answer


def request_key(request: ModelRequest, mask: Callable[[str], str], *, prefix: str = "") -> str:
    """A digest of all that affects an answer: messages, tools, its form, settings. Nothing can be read from it.

    Args:
        request: The question.
        mask: Hides secrets, so that not even a digest depends on them.
        prefix: What else tells questions apart.
    """
    given = ((name, value) for name, value in asdict(request.settings).items() if name not in _SILENT)
    told = {name: value for name, value in given if value is not None and value != {}}
    settings = f"\n{to_json(told, fallback=repr).decode()}" if told else ""
    tools = () if request.provider_tools else ("provider_tools",)
    left_out = {"on_token", "settings", "left_out", "prompt", *tools}  # no model reads where a prompt is from
    said = f"{prefix}{_REQUEST.dump_json(request, exclude=left_out).decode()}{settings}"
    return sha256(mask(said).encode()).hexdigest()
