"""What ``--json`` writes, as JSON schemas: ``stagepost schema``, and ``docs/cli-schema.json``."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from .._wire._done import Done
from .._wire._evaluation import CellFound
from .._wire._history import HistoryPage
from .._wire._keys import KeyMade
from .._wire._run import RunShown
from .._wire._runs import RunCounts, RunPage
from .._wire._schedules import ScheduleList
from .._wire._store import BackupMade, CheckFound, DoctorReport, VerifyFound
from .._wire._terminal import ChatEvent, CommandFailed
from .._wire._waits import WaitList
from .._wire._watched import WatchEvent
from ._errors import NotFound
from ._exits import Exit
from ._screen import Screen
from ._texts import clean_json

OUTPUTS: Final[Mapping[str, tuple[type[BaseModel], ...]]] = MappingProxyType(
    {
        "runs ls": (RunPage, RunCounts),
        "runs show": (RunShown,),
        "runs watch": (WatchEvent,),
        "runs history": (HistoryPage,),
        "runs waits": (WaitList,),
        "runs answer": (Done,),
        "runs signal": (Done,),
        "runs settle": (Done,),
        "runs cancel": (Done,),
        "runs resume": (WatchEvent,),
        "runs fork": (WatchEvent,),
        "runs retry": (WatchEvent,),
        "runs delete": (Done,),
        "schedules ls": (ScheduleList,),
        "schedules pause": (Done,),
        "schedules resume": (Done,),
        "schedules delete": (Done,),
        "check": (CheckFound,),
        "backup": (BackupMade,),
        "verify": (VerifyFound,),
        "doctor": (DoctorReport,),
        "evaluate": (CellFound,),
        "chat": (ChatEvent,),
        "keys new": (KeyMade,),
    }
)
LINES: Final = frozenset(
    {"runs watch", "runs resume", "runs fork", "runs retry", "evaluate", "chat"}
)  # write one JSON object per line
_ERROR: Final[type[BaseModel]] = CommandFailed


async def printed(command: str | None, screen: Screen) -> Exit:
    """Print the schema of all commands, or of one."""
    found = schemas()
    if command is not None:
        if command not in OUTPUTS:
            raise NotFound(f"no command {command!r} writes JSON: give one of {', '.join(OUTPUTS)}")
        found = {**found["commands"][command], "$defs": found["$defs"]}
    screen.text(clean_json(json.dumps(found, indent=2, ensure_ascii=False)))
    return Exit.OK


def schemas() -> dict[str, Any]:
    """One JSON schema: under ``commands`` what each writes, under ``error`` what goes to standard error instead."""
    kinds: dict[type[BaseModel], None] = dict.fromkeys(
        (*(model for found in OUTPUTS.values() for model in found), _ERROR)
    )
    refs, definitions = models_json_schema([(model, "serialization") for model in kinds])
    by_model = {model: refs[model, "serialization"] for model in kinds}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What the command stagepost writes with --json",
        "commands": {
            command: {
                "description": "One JSON object per line." if command in LINES else "One JSON object.",
                "anyOf": [by_model[model] for model in found],
            }
            for command, found in OUTPUTS.items()
        },
        "error": by_model[_ERROR],
        **definitions,
    }
