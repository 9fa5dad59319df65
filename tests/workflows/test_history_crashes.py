"""The history of runs whose processes die: nothing twice, nothing committed missing, interrupted attempts shown."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.workflows._crashes import Mortal, live
from tests.workflows._kills import MIDDLES, killed, lines, recovered
from tests.workflows._specimens import NAMES, specimens
from tests.workflows._waiting_specimens import WAITING, Outside, waiting_specimens

from stagepost.checkpoint import AttemptOutcome, Keep, SqliteStore
from stagepost.workflows import AttemptEntry, HistoryEntry, RunEntry, RunHistory, read_history

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])

EVERY = 7  # commits between two crashes; the thorough form has one at each
_DONE = (AttemptOutcome.OK, AttemptOutcome.FAILED)


def attempts(entries: Sequence[HistoryEntry]) -> list[AttemptEntry]:
    return [entry for entry in entries if isinstance(entry, AttemptEntry)]


def done(history: RunHistory) -> Counter[tuple[str, tuple[int, ...]]]:
    """How often each step, fan-out and item has ended well."""
    found = [entry for entry in attempts(history.items) if entry.outcome is AttemptOutcome.OK]
    return Counter((entry.path, tuple(entry.visits)) for entry in found)


def check(history: RunHistory) -> None:
    """See that a whole history makes sense in itself."""
    assert history.is_complete
    assert history.next is None
    assert history.under_way == ()
    numbers = [entry.number for entry in history.items]
    assert numbers == list(range(1, len(numbers) + 1))
    told = [entry.what for entry in history.items if isinstance(entry, RunEntry)]
    assert (told[0], told[-1]) == ("began", "completed")
    assert Counter(told)["began"] == Counter(told)["completed"] == 1
    assert set(done(history).values()) <= {1}
    places = defaultdict(list)
    for entry in attempts(history.items):
        places[entry.path, tuple(entry.visits)].append(entry)
        assert entry.begun is not None
        assert entry.outcome is AttemptOutcome.INTERRUPTED or (entry.ended is not None and entry.ended >= entry.begun)
    for place, found in places.items():
        assert [entry.attempt for entry in found] == list(range(1, len(found) + 1)), place
        assert all(entry.outcome not in _DONE for entry in found[:-1]), place


async def whole(store: Mortal, run_id: str) -> RunHistory:
    async with store:
        return await read_history(store, run_id, limit=10_000)


async def swept(name: str, every: int) -> None:
    """Let a process die again and again, each time after some more commits."""
    calm, store, crashes = Mortal(), Mortal(), 0
    for each, lives in ((calm, [None]), (store, [(1 + crash % every, crash % 2 == 0) for crash in range(100)])):
        outside = Outside("somebody")
        made = {**specimens(lambda _: None), **waiting_specimens(lambda _: None, lambda _: None)}[name]
        for life in (*lives, None):
            each.revive(None) if life is None else each.revive(life[0], saves_last=life[1])
            ended = await live(each, made.workflow, made.state, run_id=name, outside=outside, keep=Keep.ALL)
            if ended is not None:
                break
            crashes += 1
    expected, found = await whole(calm, name), await whole(store, name)
    check(expected)
    check(found)
    assert done(found) == done(expected)
    assert crashes > 1
    outcomes = Counter(entry.outcome for entry in attempts(found.items))
    assert outcomes[AttemptOutcome.INTERRUPTED] > 0


@pytest.mark.parametrize("name", [*NAMES, *WAITING])
async def test_after_any_crashes_a_history_tells_each_step_once_and_each_interrupted_attempt(name: str) -> None:
    await swept(name, EVERY)


async def read(folder: Path, name: str) -> RunHistory:
    """The history, from the file alone."""
    async with SqliteStore.reader(folder / "runs.db") as reader:
        return await read_history(reader, name, limit=10_000)


async def is_owned(folder: Path, name: str) -> bool:
    """Whether a run was worked on when its process died; commits that meet in a batch decide where that is."""
    async with SqliteStore.reader(folder / "runs.db") as reader:
        return (await reader.load(name)).run.owner is not None


def check_gone_on(left: RunHistory, found: RunHistory, *, was_owned: bool) -> None:
    """See that a history goes on from what a killed process has left of it.

    What is under way in a run that has an owner is interrupted by the kill, and tried again. A run that has parked has
    none, also once it is answered, until it is claimed: nothing is interrupted, and the same attempts end later.
    """
    assert list(found.items[: len(left.items)]) == list(left.items)
    later = attempts(found.items[len(left.items) :])
    recoveries = [entry for entry in found.items if isinstance(entry, RunEntry) and entry.what == "recovered"]
    interrupted = [entry for entry in attempts(found.items) if entry.outcome is AttemptOutcome.INTERRUPTED]
    under_way = {(entry.path, entry.attempt, entry.begun) for entry in left.under_way}
    assert len(recoveries) == was_owned
    assert {(entry.path, entry.attempt, entry.begun) for entry in interrupted} == (under_way if was_owned else set())
    for recovery in recoveries:
        again = {(entry.path, entry.attempt) for entry in later if (entry.number or 0) > (recovery.number or 0)}
        assert {(entry.path, (entry.attempt or 0) + 1) for entry in interrupted} <= again
    if not was_owned:
        assert under_way <= {(entry.path, entry.attempt, entry.begun) for entry in later if entry.outcome in _DONE}


@pytest.mark.parametrize(
    ("name", "point", "number"),
    [
        ("nested", "acknowledged", MIDDLES["nested"]),  # it waits for nobody: it always works when it is killed
        ("asked", "after the commit", MIDDLES["asked"]),
        ("asked", "after the commit", 7),  # where it parks, unless commits meet otherwise
    ],
)
async def test_after_sigkill_a_history_has_what_was_committed_and_what_was_interrupted(
    tmp_path: Path, name: str, point: str, number: int
) -> None:
    await killed(tmp_path, name, point, number, "keep-all")
    left = await read(tmp_path, name)
    told = {entry.path for entry in attempts(left.items) if entry.outcome is AttemptOutcome.OK}
    assert {line.partition(":")[2] or line for line in lines(tmp_path / "ended")} <= told
    assert left.under_way
    was_owned = await is_owned(tmp_path, name)
    assert was_owned or name == "asked"
    await recovered(tmp_path, [name])
    found = await read(tmp_path, name)
    check(found)
    check_gone_on(left, found, was_owned=was_owned)
