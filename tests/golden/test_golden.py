"""Stores of released versions: checked, recovered, and each of their runs finished with what it was to come to."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from anyio import fail_after
from anyio.lowlevel import checkpoint
from tests.agents._ways import result_of
from tests.checkpoint._sqlite._versions import Later
from tests.golden._making import NOW, unpacked
from tests.golden._then import LARGE, Verdict, World, agents, workflows

from stagepost.agents import Allow, Tasks
from stagepost.checkpoint import RunStatus, SqliteStore, WaitKind
from stagepost.checkpoint._sqlite._connect import connect_memory
from stagepost.checkpoint._sqlite._schema import VERSION, normal, user_version
from stagepost.workflows import PendingWait, RunForgotten, Runner, RunVerdict

VERSIONS: Final = ["0.2.0"]
VERDICT: Final = Verdict(ok=True)
SAID: Final = ["about moon", "about sun"]
RESULTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "step": {"large": LARGE, "worked": True, "after": 1},
    "item": {"items": [1, 2, 3], "fan": [3, 6, 9]},
    "items": {"items": [1, 2], "answers": [{"before": 1, "ask": "yes"}, {"before": 1, "ask": "yes"}]},
    "fold": {"items": [1, 2, 3], "sum": 6},
    "branch": {"left": True, "before": 1, "ask": "yes", "after": 1},
    "route": {"before": 1, "ask": "yes"},
    "node": {"rounds": 3, "ended": True},
    "answer": {"draft": "tides", "ask": VERDICT},
    "given": {"ask": VERDICT},
    "signal": {"news": 7},
    "timer": {"after": 1},
    "late": {"ask": "nobody"},
    "effect": {"receipt": "R-1"},
    "parent": {"kid": "yes"},
    "parent.kid": {"n": 1, "ask": "yes"},
    "talk": {"topic": "word", "said": ["about tides", "about word"]},
    "continued": {"topic": "word", "said": [*SAID, "about stars", "about word"]},
    "said": {"topic": "sun", "said": SAID},
    "completed": {"draft": "completed", "ask": VERDICT},
    "failing": {"before": 1, "mended": True},
}
AGENTS: Final = {"looker": "It rains.", "sender": "Sent.", "asker": "Sent.", "buyer": "Bought.", "speaker": "Hello."}
ANSWERS: Final[Mapping[str, Any]] = {"answer/ask": {"ok": True}, "talk/reply": "word", "continued/reply": "word"}


@pytest.mark.parametrize("version", VERSIONS)
async def test_every_run_of_a_released_version_goes_on_to_its_end(version: str, tmp_path: Path) -> None:
    world = World(hangs=False)
    speaking = agents(world)
    now = [NOW + 3600]
    file = unpacked(version, tmp_path)
    with fail_after(60):
        async with (
            SqliteStore(file, durability="process", clock=lambda: now[0]) as store,
            Runner(store, workflows=[*workflows(world), *speaking], clock=lambda: now[0]) as runner,
        ):
            report = await runner.check()
            assert report.ok, report
            assert {finding.verdict for finding in report.findings} == {RunVerdict.GOES_ON}
            recovered = await runner.recover()
            assert (recovered.left_open, recovered.dead, recovered.cancelled) == ({}, {}, ())
            await runner.resume("failing")
            await finish(runner, store, now)
            for run_id, expected in RESULTS.items():
                assert plain(await (await runner.get(run_id)).result()) == expected, run_id
            for agent in speaking:
                assert (await result_of(await runner.get(agent.name), agent)).output == AGENTS[agent.name]
            await check_ended(runner, store)
            assert not await store.verify()


async def finish(runner: Runner, store: SqliteStore, now: list[float]) -> None:
    """Send whatever is waited for, until all runs have ended."""
    while (await store.find(status=(RunStatus.RUNNING, RunStatus.WAITING))).items:
        for wait in await runner.waits():
            await end(runner, wait)
        if {wait.id for wait in await runner.waits()} <= {"late/ask", "timer/sleep"}:
            now[0] += timedelta(days=2).total_seconds()
            await runner.recover()
        await checkpoint()


async def end(runner: Runner, wait: PendingWait) -> None:
    tasks = Tasks(runner)
    if wait.run_id == "late" or wait.kind in {WaitKind.TIMER, WaitKind.CHILD}:
        return
    if wait.run_id == "asker":
        await tasks.decide((await tasks.approvals())[0].id, Allow())
    elif wait.run_id == "buyer":
        await tasks.answer((await tasks.questions())[0].id, 3.5)
    elif wait.run_id == "sender":
        await tasks.settle((await tasks.doubts())[0].id, "sent to Ada")
    elif wait.kind is WaitKind.EFFECT:
        await runner.settle(wait.run_id, wait.name, value="R-1")
    elif wait.kind is WaitKind.SIGNAL:
        await runner.signal(wait.run_id, wait.name, 7)
    else:
        await runner.answer(wait.id, ANSWERS.get(wait.id, "yes"))


async def check_ended(runner: Runner, store: SqliteStore) -> None:
    """What had ended, and what only left its key."""
    assert (await runner.runs.info("cancelled")).status is RunStatus.CANCELLED
    with pytest.raises(RunForgotten):
        await runner.start(runner.workflow("answer"), {"draft": "forgotten"}, key="forgotten")
    run = await runner.start(runner.workflow("answer"), {"draft": "tides"}, key="order 7")
    assert run.id == "answer"
    info = await runner.runs.info("answer")
    assert (info.trace, info.labels) == ("t-1", {"customer": "7"})
    assert (await store.history("talk")).items
    blob = await (await runner.get("blob")).result()
    assert (blob["size"], await store.blob(blob["page"])) == (8, b"%PDF-1.7")


def plain(state: Any) -> Any:
    """A state as JSON values."""
    return state.model_dump() if hasattr(state, "model_dump") else dict(state)


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_released_store_can_be_brought_to_any_later_version(version: str, tmp_path: Path) -> None:
    async with Later(unpacked(version, tmp_path), durability="process") as store:
        assert not await store.verify()


def test_the_tables_of_a_released_version_are_not_changed(tmp_path: Path) -> None:
    with closing(sqlite3.connect(unpacked(VERSIONS[-1], tmp_path))) as connection, closing(connect_memory()) as now:
        before, known = tables(connection), tables(now)
        assert user_version(connection) < VERSION or before == known, (
            "a released version has made files with other tables: raise VERSION in _schema.py, and add to UPGRADES how "
            f"they are brought over (before its release: python -m tests.golden --again): {sorted(before ^ known)}"
        )


def tables(connection: sqlite3.Connection) -> set[str]:
    return {normal(sql) for (sql,) in connection.execute("SELECT sql FROM sqlite_master WHERE sql NOT NULL")}
