"""The gate before a deploy: what is said of each open run, and that nothing is touched."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.workflows._words import Gate, Store, dying, running

from stagepost.checkpoint import CorruptRun, MemoryStore, Page, RunInfo, RunStatus, SqliteStore
from stagepost.hub import DuplicateAgent, Hub
from stagepost.workflows import (
    END,
    Ask,
    Chain,
    Graph,
    Pattern,
    RunFailed,
    RunFinding,
    Runner,
    RunnerNotOpen,
    RunVerdict,
    State,
    Wait,
    WorkflowNotFound,
    check_runs,
    step,
)

V1 = Chain("work", [Wait("ask")])
V2 = Chain("work", [Wait("tell")], version=2)


def moved(run: dict[str, Any]) -> dict[str, Any]:
    run["frames"][""]["next"] = "tell"
    return run


async def park(store: Store, workflow: Pattern = V1, *run_ids: str, state: Mapping[str, object] | None = None) -> None:
    async with running(store, workflow) as runner:
        for run_id in run_ids or ("r1",):
            await (await runner.start(workflow, state, run_id=run_id)).settled()


async def only(store: Store, *workflows: Pattern, **options: Any) -> RunFinding:
    async with running(store, *workflows, **options) as runner:
        (finding,) = (await runner.check()).findings
        return finding


async def test_a_run_that_fits_goes_on(store: Store) -> None:
    await park(store)
    finding = await only(store, V1)
    assert finding == RunFinding("r1", "work", 1, RunStatus.WAITING, RunVerdict.GOES_ON, target=1)
    assert finding.is_plain


async def test_a_run_of_an_old_version_goes_on_with_it_where_it_is_registered(store: Store) -> None:
    await park(store)
    async with running(store, V2, V1, migrations={"work": {1: moved}}) as runner:
        (finding,) = (await runner.check()).findings
        assert (finding.verdict, finding.target) == (RunVerdict.GOES_ON, 1)
        assert not (await runner.recover()).resumed
        assert (await runner.runs.info("r1")).version == 1
        assert runner.workflow("work") is V2
        assert runner.workflow("work", 1) is V1
        with pytest.raises(WorkflowNotFound, match="knows no workflow 'work' version 3; it knows: work version 1"):
            runner.workflow("work", 3)


async def test_a_migration_is_tried_in_memory_only(store: Store) -> None:
    await park(store)
    async with running(store, V2, migrations={"work": {1: moved}}) as runner:
        before = await store.load("r1")
        (finding,) = (await runner.check()).findings
        assert (finding.verdict, finding.version, finding.target) == (RunVerdict.MIGRATED, 1, 2)
        assert finding.notes == ("it no longer waits at 'ask'",)
        assert await store.load("r1") == before
        assert "r1 (work version 1, waiting): migrated to 2; it no longer waits at 'ask'" in str(await runner.check())


@pytest.mark.parametrize(
    ("workflows", "migrations", "why"),
    [
        ((), None, "does not know: add it to workflows=, or its newer version and migrations="),
        ((V2,), None, "it knows version 2; add version 1 to workflows=, or migrations= from 1 on"),
        (
            (Chain("work", [Wait("ask")], version=4),),
            {"work": {1: moved}},
            "it knows version 4, and its migrations lead to 2 only; add version 1 to workflows=, or migrations= from 2",
        ),
    ],
    ids=["unknown name", "unknown version", "migrations with a gap"],
)
async def test_what_is_missing_for_an_unknown_version_is_named(
    store: Store, workflows: tuple[Pattern, ...], migrations: Any, why: str
) -> None:
    await park(store)
    async with running(store, *workflows, migrations=migrations) as runner:
        report = await runner.check()
        left = (await runner.recover()).left_open["r1"]
    (finding,) = report.findings
    assert (finding.verdict, finding.error, finding.reason) == (RunVerdict.UNKNOWN, "UnknownWorkflow", str(left))
    assert why in str(left)
    assert not report.ok


async def test_code_that_was_rolled_back_is_told_so(store: Store) -> None:
    await park(store, V2)
    finding = await only(store, V1)
    assert "knows version 1; add version 2 to workflows=, since no migration leads back" in str(finding.reason)


async def test_what_nobody_could_go_on_with_before_does_not_stop_a_deploy(store: Store) -> None:
    await park(store)
    wrong = Chain("work", [Wait("other")])
    async with running(store, wrong) as runner:
        assert not (await runner.check()).ok
        await runner.recover()
        report = await runner.check()
    (finding,) = report.findings
    assert (finding.verdict, report.ok) == (RunVerdict.BLOCKED, True)
    assert str(finding.blocked).endswith(str(finding.reason))
    now = await only(store, V1)
    assert (now.verdict, now.blocked is not None) == (RunVerdict.GOES_ON, True)


async def test_what_ends_whatever_its_code_is_said_to(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step])
    async with dying(store, work) as runner:
        await runner.start(work, run_id="r1")
        await gate.entered.wait()
    await park(store, V1, "r2")
    async with store:
        owner = await store.join("somebody")
        await store.claim(owner, "r1", force=True)
        await store.cancel("r2")
    async with running(store, max_attempts=1) as runner:
        report = await runner.check()
        recovered = await runner.recover()
    found = {finding.run_id: finding for finding in report.findings}
    assert (found["r1"].verdict, found["r1"].reason) == (RunVerdict.DEAD, str(recovered.dead["r1"]))
    assert found["r2"].verdict is RunVerdict.CANCELLED
    assert list(recovered.cancelled) == ["r2"]
    assert report.ok


async def test_a_reason_shows_no_secret_and_is_that_of_recover(store: Store) -> None:
    def raises(_: object) -> Any:
        raise RuntimeError("sk-live-4711-0815 is refused")

    await park(store)
    async with running(store, V2, migrations={"work": {1: raises}}, secrets={"key": "sk-live-4711-0815"}) as runner:
        (finding,) = (await runner.check()).findings
        left = (await runner.recover()).left_open["r1"]
    assert (finding.verdict, finding.error, finding.reason) == (
        RunVerdict.REFUSED,
        "IncompatibleCheckpoint",
        str(left),
    )
    assert "its migration to version 2 failed: RuntimeError: *** is refused" in str(left)


async def test_an_answer_that_nobody_has_checked_and_that_does_not_fit_is_told(store: Store) -> None:
    yes = Chain("work", [Wait("ask", expect=bool)])
    await park(store, yes)
    async with store:
        await store.answer("r1", "ask", b'"perhaps"', checked=False)
    async with running(store, yes) as runner:
        (finding,) = (await runner.check()).findings
        (run,) = (await runner.recover()).resumed
        assert await run.settled() is RunStatus.WAITING
        assert run.waits == ("r1/ask",)
    assert finding.verdict is RunVerdict.GOES_ON
    (note,) = finding.notes
    assert note.startswith("what was sent for 'ask' does not fit and is dropped, so that it is waited for again: ")


async def test_a_run_whose_row_is_damaged_is_refused(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    damage = CorruptRun("r1", "its status is odd")

    async def find(**_: object) -> Page[RunInfo]:
        return Page([], None, [damage])

    async with running(store) as runner:
        monkeypatch.setattr(store, "find", find)
        report = await runner.check()
    (finding,) = report.findings
    assert (finding.verdict, finding.error, finding.reason) == (RunVerdict.REFUSED, "CorruptRun", str(damage))
    assert not report.ok


async def test_a_run_that_ends_or_is_deleted_meanwhile_is_no_finding(store: Store) -> None:
    await park(store, V1, "r1", "r2", "r3")
    async with running(store, V1) as runner:

        class Late:
            """A reader whose answers are some time old."""

            def __getattr__(self, name: str) -> object:
                return getattr(store, name)

            async def load(self, run_id: str) -> object:
                if run_id == "r1":
                    await runner.answer("r1/ask", "yes")
                    await (await runner.get("r1")).result()
                if run_id == "r2":
                    await runner.cancel("r2")
                    await store.delete("r2")
                return await store.load(run_id)

        report = await runner.check(Late())  # type: ignore[arg-type]  # the rest is the store's
    assert [finding.run_id for finding in report.findings] == ["r3"]
    assert report.total == 1


async def test_of_very_many_runs_those_of_which_something_is_to_be_said_are_listed_first(store: Store) -> None:
    await park(store, V1, "r1", "r2")
    await park(store, Chain("gone", [Wait("ask")]), "r3")
    seen: list[tuple[int, int]] = []

    async def progress(done: int, total: int) -> None:
        seen.append((done, total))

    async with store:
        report = await check_runs(store, workflows=[V1], limit=2, progress=progress)
    assert [finding.run_id for finding in report.findings] == ["r3", "r1"]
    assert report.counts == {"work": {RunVerdict.GOES_ON: 2}, "gone": {RunVerdict.UNKNOWN: 1}}
    assert (report.total, report.unlisted, report.ok) == (3, 1, False)
    assert seen == [(3, 3)]
    assert str(report).startswith(
        "3 open runs: 1 of an unknown workflow, 2 going on\n"
        "  gone: 1 of an unknown workflow\n"
        "  work: 2 going on\n"
        "- r3 (gone version 1, waiting): unknown; run 'r3' belongs to workflow 'gone' version 1, which"
    )
    told = json.loads(json.dumps(report.to_dict()))
    assert (told["ok"], told["counts"], told["unlisted"]) == (
        False,
        {"work": {"goes_on": 2}, "gone": {"unknown": 1}},
        1,
    )
    assert told["findings"][1] == {
        "run_id": "r1",
        "workflow": "work",
        "version": 1,
        "status": "waiting",
        "verdict": "goes_on",
        "target": 1,
        "reason": None,
        "error": None,
        "blocked": None,
        "notes": [],
    }


async def test_an_empty_store_passes(store: Store) -> None:
    async with store:
        report = await check_runs(store, workflows=[])
    assert (report.ok, report.total, str(report)) == (True, 0, "0 open runs: none")


async def test_a_step_that_asks_needs_a_hub_as_it_does_for_recover(store: Store) -> None:
    asks = Chain("work", [Wait("ask"), Ask("oracle", lambda _: {})])
    await park(store, Chain("work", [Wait("ask")]))
    finding = await only(store, asks)
    assert (finding.verdict, finding.error) == (RunVerdict.REFUSED, "HubRequired")
    async with store:
        assert (await check_runs(store, workflows=[asks])).ok


async def test_a_runner_that_is_not_entered_checks_what_it_is_given(store: Store) -> None:
    await park(store)
    runner = Runner(MemoryStore(), workflows=[V1])
    with pytest.raises(RunnerNotOpen):
        await runner.check()
    async with store:
        assert (await runner.check(store)).total == 1


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_file_is_checked_beside_its_living_owner_children_included(tmp_path: Path) -> None:
    kid = Chain("kid", [Wait("ask")])

    async def start(_: object, context: Any) -> Mapping[str, object]:
        return {"kid": (await context.child(kid, "kid", {}))["ask"]}

    old, path = Chain("work", [step("start", start)], companions=[kid]), tmp_path / "runs.db"
    async with running(SqliteStore(path), old) as runner:
        await (await runner.start(old, run_id="r1")).settled()
        async with SqliteStore.reader(path) as reader:
            new = Chain("work", [step("start", start)], companions=[Chain("kid", [Wait("tell")])])
            report = await check_runs(reader, workflows=[new])
        found = {finding.run_id: finding.verdict for finding in report.findings}
        assert found == {"r1": RunVerdict.GOES_ON, "r1.kid": RunVerdict.REFUSED}
        await runner.answer("r1.kid/ask", "yes")
        assert (await (await runner.get("r1")).result())["kid"] == "yes"


async def test_a_limit_of_steps_that_is_reached_is_told_wherever_the_graph_is(store: Store) -> None:
    def work(max_steps: int) -> Pattern:
        graph = Graph("rounds", max_steps=max_steps)
        graph.add("round", step("round", lambda state: {"n": state.get("n", 0) + 1}, inline=True))
        graph.add("ask", Wait("ask"))
        graph.edge("round", "round", when=lambda state: state["n"] < 3)
        graph.edge("round", "ask")
        graph.edge("ask", "round", when=lambda state: state["ask"] == "again")
        graph.edge("ask", END)
        graph.start("round")
        return Chain("work", [graph])

    await park(store, work(10))
    assert (await only(store, work(5))).is_plain
    async with running(store, work(4)) as runner:
        (finding,) = (await runner.check()).findings
        await runner.recover()
        await runner.answer("r1/rounds/ask#1", "again")
        with pytest.raises(RunFailed, match="it has taken max_steps=4 steps"):
            await (await runner.get("r1")).result()
    assert finding.verdict is RunVerdict.GOES_ON
    assert finding.notes == ("graph 'rounds' has taken 4 steps, and max_steps=4: it fails at the next one",)


async def test_a_request_joins_the_run_of_an_older_version_which_goes_on_with_it(store: Store) -> None:
    old, new = Chain("work", [Wait("ask")]), Chain("work", [Wait("tell")], version=2)
    async with Hub() as hub, running(store, old, new, hub=hub) as runner:
        await (await runner.start(old, {"n": 1}, run_id="r1", key="k")).settled()
        await runner.serve(new)
        with pytest.raises(DuplicateAgent):
            await runner.serve(old)
        await runner.answer("r1/ask", "yes")
        await (await runner.get("r1")).result()
        reply = await hub.request("work", {"n": 1}, headers={"idempotency-key": "k"})
        assert isinstance(reply, State)
        assert reply["ask"] == "yes"


async def test_a_parent_of_a_new_version_joins_the_child_that_the_old_one_has_started(store: Store) -> None:
    def parent(kid: Pattern, version: int) -> Pattern:
        async def start(_: object, context: Any) -> Mapping[str, object]:
            return {"kid": dict(await context.child(kid, "kid", {}))}

        return Chain("work", [step("start", start)], companions=[kid], version=version)

    old_kid, new_kid = Chain("kid", [Wait("ask")]), Chain("kid", [Wait("tell")], version=2)
    await park(store, parent(old_kid, 1))
    async with running(store, parent(new_kid, 2), old_kid, migrations={"work": {1: dict}}) as runner:
        report = await runner.check()
        assert {(found.run_id, found.verdict, found.target) for found in report.findings} == {
            ("r1", RunVerdict.MIGRATED, 2),
            ("r1.kid", RunVerdict.GOES_ON, 1),
        }
        await runner.recover()
        await runner.answer("r1.kid/ask", "yes")
        assert (await (await runner.get("r1")).result())["kid"] == {"ask": "yes"}
