"""``schedules``: listed beside an owner, changed by the owner of the file."""

import json
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from sqlite3 import connect
from typing import Any, cast

import pytest
from tests.service import _flows as flows
from tests.service.conftest import Command

from stagepost.checkpoint import CorruptSchedule, MemoryStore, Page, StoredSchedule
from stagepost.service._cli._schedules import _lines
from stagepost.service._cli._screen import Screen
from stagepost.service._wire._made import schedule_list
from stagepost.workflows import Runner, Schedule, pause_schedule


def test_schedules_are_listed_beside_their_owner(command: Command, owned: Path) -> None:
    titles, row = command("schedules", "ls", "-f", owned).stdout.splitlines()
    assert titles.split() == ["SCHEDULE", "WORKFLOW", "WHEN", "NEXT"]
    assert row.split()[:4] == ["nightly", "quick", "every", "1"]
    found = json.loads(command("schedules", "ls", "-f", owned, "--json").stdout)["schedules"]
    assert [(each["key"], each["every"], each["paused"]) for each in found] == [("nightly", 86_400, False)]


def test_a_schedule_is_paused_resumed_and_deleted(command: Command, file: Path) -> None:
    assert command("schedules", "pause", "nightly", "-f", file).stdout == "paused nightly\n"
    assert " paused" in command("schedules", "ls", "-f", file).stdout
    assert command("schedules", "resume", "nightly", "-f", file).stdout.startswith("resumed nightly: next run ")
    assert " paused" not in command("schedules", "ls", "-f", file).stdout
    assert json.loads(command("schedules", "delete", "nightly", "-f", file, "--json").stdout)["action"] == "deleted"
    assert command("schedules", "ls", "-f", file).stdout == "no schedules\n"


@pytest.mark.parametrize("act", ["pause", "resume", "delete"])
def test_a_schedule_of_a_living_owner_is_refused(command: Command, owned: Path, act: str) -> None:
    assert command("schedules", act, "nightly", "-f", owned).exit_code == 4


def test_a_schedule_that_this_version_cannot_read_is_named(command: Command, file: Path) -> None:
    with closing(connect(file)) as connection:
        connection.execute("UPDATE schedules SET definition = ?", (b'{"state":{},"later":1}',))
        connection.commit()
    result = command("schedules", "ls", "-f", file)
    assert (result.exit_code, "nightly  cannot be read: this version" in result.stdout) == (1, True)
    for act in ("pause", "resume"):
        result = command("schedules", act, "nightly", "-f", file)
        assert (result.exit_code, "schedule 'nightly' makes no sense" in result.stderr) == (1, True)
    assert command("schedules", "delete", "nightly", "-f", file).exit_code == 0


@pytest.mark.parametrize("act", ["pause", "resume", "delete"])
def test_a_schedule_that_is_not_there_is_refused(command: Command, file: Path, act: str) -> None:
    assert command("schedules", act, "weekly", "-f", file).exit_code == 3


def test_what_hinders_a_schedule_is_told() -> None:
    now = datetime.now(UTC)
    hindered = Schedule(
        key="k",
        workflow="w",
        when="0 3 * * *",
        created_at=now,
        not_started=4,
        failures=2,
        error="no disk",
        next_due=now,
    )
    over = Schedule(key="o", workflow="w", when=timedelta(hours=1), created_at=now)
    shown = _lines(
        schedule_list(Page((hindered, over), None, (CorruptSchedule("bad", "no time"),))), Screen(as_json=False)
    )
    text = "\n".join(line.plain for line in shown)
    assert "0 3 * * * UTC" in text
    assert "failed 2 times: no disk" in text
    assert "never" in text
    assert text.endswith("bad  cannot be read: no time")


async def test_a_schedule_that_somebody_else_saves_meanwhile_is_paused_as_it_is_then() -> None:
    class Raced:
        """A store in which somebody else is faster, once."""

        def __init__(self, store: MemoryStore) -> None:
            self.save_schedule = store.save_schedule
            self._store = store
            self.races = 1

        async def schedule(self, key: str) -> StoredSchedule:
            found = await self._store.schedule(key)
            if self.races:
                self.races -= 1
                await self._store.save_schedule(found)
            return found

    async with MemoryStore() as store:
        async with Runner(store, workflows=[flows.quick]) as runner:
            await runner.schedule(flows.quick, timedelta(days=1), key="nightly")
        assert (await pause_schedule(cast("Any", Raced(store)), "nightly")).paused
