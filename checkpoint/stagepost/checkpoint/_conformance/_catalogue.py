"""The catalogue: runs are found by the words of their errors and by their ends, counted, and paged both ways."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from .._filters import RunFilters
from .._pages import Page
from .._records import Closing, Commit, RunStatus
from .._snapshots import RunInfo
from .._store import CheckpointStore
from ._words import Check, claimed, end, equal, found_ids, lease_of, new_run, refuses_value, started

_ERRORS: Final = {
    "a": "TimeoutError: no answer from 10.0.0.7",
    "b": 'ConnectionResetError: "peer" has gone (no-reply)',
    "c": "ValueError: Grüße NEAR the end\N{GREEK SMALL LETTER OMEGA}",
}
_FOUND: Final = {
    "error": "",
    "timeout": "a",
    "TIMEOUTERROR answer": "a",
    "no": "ab",
    "no answer peer": "",
    "no-reply": "b",
    "reply-no": "",
    "10.0.0.7": "a",
    "0.0.8": "",
    '"peer"': "b",
    "grusse": "",
    "grüs": "",
    "gruße": "c",
    "NEAR(": "c",
    "NOT peer AND": "",
    "peer *": "b",
    "words:peer": "",
    "^peer": "b",
    "traceback": "",
    "secret": "",
    "": "",
    "!?*()^:-+{}'\"": "",
    "peer\0gone": "b",
    "peer \ud800": "b",
}


async def _failed(store: CheckpointStore, run_id: str, error: str) -> None:
    lease = await claimed(store, run_id)
    closing = Closing(RunStatus.FAILED, error=error, traceback=f"Traceback: secret of {run_id}")
    await store.commit(Commit(lease=lease, closing=closing))


async def _filled(store: CheckpointStore) -> None:
    """Runs of two workflows, some with labels, in all kinds of states."""
    for number in range(9):
        labels = {"customer": str(number % 2)}
        run = replace(new_run(f"r{number}", workflow="odd" if number % 2 else "even"), labels=labels)
        lease_of((await store.create(run))[0])
    await started(store, "r1.a", workflow="odd")
    for run_id in ("r2", "r3"):
        await end(store, run_id, RunStatus.COMPLETED)
    for run_id in ("r5", "r4", "r1.a"):
        await _failed(store, run_id, "StepFailed: it is broken")


_ASKED: Final[dict[str, RunFilters]] = {
    "all": {},
    "status": {"status": RunStatus.FAILED},
    "statuses": {"status": (RunStatus.RUNNING, RunStatus.FAILED)},
    "no status": {"status": ()},
    "workflow": {"workflow": "odd"},
    "label": {"labels": {"customer": "1"}},
    "label and status": {"labels": {"customer": "1"}, "status": RunStatus.RUNNING},
    "text": {"text": "broken"},
    "text and workflow": {"text": "broken", "workflow": "odd"},
    "text below": {"text": "broken", "below": "r1"},
    "below": {"below": "r1"},
    "no words": {"text": "?"},
}


async def _all(store: CheckpointStore, filters: RunFilters, *, newest_first: bool = False) -> Sequence[Page[RunInfo]]:
    pages = [await store.find(**filters, newest_first=newest_first, limit=2)]
    while pages[-1].next is not None:
        pages.append(await store.find(**filters, newest_first=newest_first, limit=2, after=pages[-1].next))
    return pages


async def check_runs_are_found_by_the_words_of_their_errors(store: CheckpointStore) -> None:
    """All words have to be there, or words that begin so; whatever is given is words and nothing else."""
    for run_id, error in _ERRORS.items():
        await started(store, run_id)
        await _failed(store, run_id, error)
    await started(store, "d")
    await end(store, "d", RunStatus.COMPLETED)
    for text, expected in _FOUND.items():
        equal((text, await found_ids(store, text=text)), (text, expected))
    newest = await store.find(text="no", newest_first=True, limit=1)
    equal([run.run_id for run in newest.items], ["b"])
    equal([run.run_id for run in (await store.find(text="no", newest_first=True, after=newest.next)).items], ["a"])


async def check_a_run_that_goes_on_or_is_deleted_is_not_found_by_its_error(store: CheckpointStore) -> None:
    """What it fails with next is what it is found by then."""
    for run_id in ("a", "b", "b.c", "d"):
        await started(store, run_id)
        await _failed(store, run_id, "first")
    lease = await claimed(store, "a", reopen=True)
    equal(await found_ids(store, text="first"), "bb.cd")
    await store.commit(Commit(lease=lease, closing=Closing(RunStatus.FAILED, error="second")))
    equal((await found_ids(store, text="first"), await found_ids(store, text="second")), ("bb.cd", "a"))
    await store.delete("b")
    equal(((await store.count(text="first")).total, await found_ids(store, text="first")), (1, "d"))
    await store.prune(datetime.max.replace(tzinfo=UTC))
    equal((await store.count(text="first")).total, 0)


async def check_runs_are_found_by_their_ends_in_the_order_of_these(store: CheckpointStore) -> None:
    """Open runs have none."""
    for run_id in ("a", "b", "c", "d"):
        await started(store, run_id)
    for run_id, status in (("c", RunStatus.COMPLETED), ("a", RunStatus.FAILED), ("d", RunStatus.COMPLETED)):
        await end(store, run_id, status)
    ends = sorted(run.finished_at for run in (await store.find()).items if run.finished_at is not None)
    later = ends[-1] + timedelta(seconds=1)
    for newest_first in (False, True):
        found = [run.run_id for run in (await store.find(ended_until=later, newest_first=newest_first)).items]
        equal(sorted(found), ["a", "c", "d"])
        found_ends = [(await store.info(run_id)).finished_at for run_id in found]
        equal(found_ends, sorted(ends, reverse=newest_first))
    equal(await found_ids(store, ended_since=ends[0]), "acd")
    equal(await found_ids(store, ended_since=ends[0], status=RunStatus.FAILED, workflow="conformance"), "a")
    equal(await found_ids(store, ended_since=ends[0], below="c"), "")
    equal((await found_ids(store, ended_since=later), await found_ids(store, ended_until=ends[0])), ("", ""))
    equal((await store.count(ended_since=ends[0], ended_until=later, until=later)).total, 3)


async def check_pages_lead_back_to_those_before(store: CheckpointStore) -> None:
    """Page by page, in the same order, by all kinds of filters."""
    await _filled(store)
    for name, filters in _ASKED.items():
        for newest_first in (False, True):
            pages = await _all(store, filters, newest_first=newest_first)
            found, before = _ids(pages[-1]), pages[-1].previous
            while before is not None:
                page = await store.find(**filters, newest_first=newest_first, limit=2, before=before)
                following = await store.find(**filters, newest_first=newest_first, limit=50, after=page.next)
                equal((name, _ids(following)), (name, found))
                found, before = [*_ids(page), *found], page.previous
            equal((name, found), (name, [run.run_id for page in pages for run in page.items]))
        equal(pages[0].previous, promised=None)
    with refuses_value("two cursors"):
        await store.find(after="1.1", before="2.2")


def _ids(page: Page[RunInfo]) -> list[str]:
    return [run.run_id for run in page.items]


async def check_pages_stay_while_runs_come_and_go(store: CheckpointStore) -> None:
    """A cursor outlives the run that it was made from."""
    for run_id in "abcde":
        await started(store, run_id)
        await end(store, run_id, RunStatus.COMPLETED)
    one, two, three, four, five = _ids(await store.find())
    first = await store.find(limit=2)
    second = await store.find(limit=2, after=first.next)
    equal([_ids(first), _ids(second)], [[one, two], [three, four]])
    for run_id in (two, four):
        await store.delete(run_id)
    await started(store, "f")
    found = _ids(await store.find())
    stayed, is_last = [one, three, five], found[-1] == "f"  # it is not if the clock runs backwards
    equal(found, [*stayed, "f"] if is_last else ["f", *stayed])
    equal(_ids(await store.find(limit=2, after=first.next)), [three, five])
    equal(_ids(await store.find(limit=2, after=second.next)), [five, "f"] if is_last else [five])
    equal(_ids(await store.find(limit=2, before=second.previous)), [one] if is_last else ["f", one])
    equal(_ids(await store.find(limit=5, before=second.next)), [one, three] if is_last else ["f", one, three])


async def check_runs_are_counted(store: CheckpointStore) -> None:
    """As many as are found, in all, by status and by workflow."""
    equal((await store.count(by="workflow"), (await store.count(by="status")).total), ((0, {}), 0))
    await _filled(store)
    moments = [run.created_at for run in (await store.find()).items]
    times: dict[str, RunFilters] = {
        "since": {"since": moments[4]},
        "until": {"until": moments[4], "workflow": "odd"},
        "ended": {"ended_since": moments[0]},
        "ended and more": {"ended_since": moments[0], "workflow": "odd"},
    }
    for name, filters in (_ASKED | times).items():
        runs = (await store.find(**filters)).items
        statuses = {status.value: 0 for status in RunStatus} | Counter(run.status.value for run in runs)
        workflows = dict(Counter(run.workflow for run in runs))
        equal((name, await store.count(**filters)), (name, (len(runs), {})))
        equal((name, await store.count(by="status", **filters)), (name, (len(runs), statuses)))
        equal((name, await store.count(by="workflow", **filters)), (name, (len(runs), workflows)))


async def check_runs_are_told_in_the_order_in_which_they_were_stored(store: CheckpointStore) -> None:
    """Whoever has seen all has a cursor for those to come."""
    begin = await store.last_stored()
    for run_id in "dba":
        await started(store, run_id)
    first = await store.stored(limit=2)
    rest = await store.stored(first.next, limit=2)
    equal((_ids(first), _ids(rest), rest.next), (["d", "b"], ["a"], await store.last_stored()))
    equal(_ids(await store.stored(begin)), ["d", "b", "a"])
    await end(store, "a", RunStatus.COMPLETED)
    await store.delete("a")
    none = await store.stored(rest.next)
    equal((_ids(none), none.next, await store.last_stored()), ([], rest.next, rest.next))
    await started(store, "c")
    equal(_ids(await store.stored(none.next)), ["c"])
    with refuses_value("a cursor of another list"):
        await store.stored("1.1")


CHECKS: Final[tuple[Check, ...]] = (
    check_runs_are_found_by_the_words_of_their_errors,
    check_a_run_that_goes_on_or_is_deleted_is_not_found_by_its_error,
    check_runs_are_found_by_their_ends_in_the_order_of_these,
    check_pages_lead_back_to_those_before,
    check_pages_stay_while_runs_come_and_go,
    check_runs_are_counted,
    check_runs_are_told_in_the_order_in_which_they_were_stored,
)
