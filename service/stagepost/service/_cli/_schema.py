"""What ``--json`` writes, as JSON schemas: ``stagepost schema``, and ``docs/cli-schema.json``."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from . import _models as models
from ._errors import NotFound
from ._exits import Exit
from ._screen import Screen
from ._texts import clean_json

OUTPUTS: Final[Mapping[str, tuple[type[BaseModel], ...]]] = MappingProxyType(
    {
        "runs ls": (models.RunPage, models.RunCounts),
        "runs show": (models.RunShown,),
        "runs watch": (models.WatchEvent,),
        "runs history": (models.HistoryPage,),
        "runs waits": (models.WaitList,),
        "runs answer": (models.Done,),
        "runs signal": (models.Done,),
        "runs settle": (models.Done,),
        "runs cancel": (models.Done,),
        "runs resume": (models.WatchEvent,),
        "runs fork": (models.WatchEvent,),
        "runs delete": (models.Done,),
        "schedules ls": (models.ScheduleList,),
        "schedules pause": (models.Done,),
        "schedules resume": (models.Done,),
        "schedules delete": (models.Done,),
        "check": (models.CheckFound,),
        "backup": (models.BackupMade,),
        "verify": (models.VerifyFound,),
        "doctor": (models.DoctorReport,),
        "chat": (models.ChatEvent,),
    }
)
LINES: Final = frozenset({"runs watch", "runs resume", "runs fork", "chat"})  # write one JSON object per line
_ERROR: Final[type[BaseModel]] = models.CommandFailed


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
