"""What has happened to runs that keep all, and what is under way."""

from dataclasses import replace
from typing import Final

from .._happening import AttemptOutcome, Happening, HappeningKind
from .._happenings import Happenings
from .._outside import Ref, StoredValue
from .._records import Closing, Commit, Joined, Keep, Lease, RunStatus
from .._store import CheckpointStore
from .._waiting import NewWait, WaitKind
from ..errors import CorruptRun, RunNotFound
from ._words import Check, a_frame, an_item, claimed, equal, lease_of, new_run, refuses

STEP, ITEM, FAN_OUT = HappeningKind.STEP, HappeningKind.ITEM, HappeningKind.FAN_OUT
OK, FAILED = AttemptOutcome.OK, AttemptOutcome.FAILED


async def kept(store: CheckpointStore, *begins: str) -> Lease:
    """The lease of a run that keeps all, in which steps begin."""
    happened = [Happening(STEP, place) for place in begins]
    lease, _ = await store.create(replace(new_run("run"), keep=Keep.ALL, happened=happened))
    return lease_of(lease)


def told(found: Happenings) -> list[tuple[str, str, str | None, int | None]]:
    """What has happened: what it was about, where, how it ended, and which attempt it was."""
    return [(each.kind.value, each.place, each.outcome, each.attempt) for each in found.items]


def under_way(found: Happenings) -> list[tuple[str, int]]:
    """What has not ended, and the how many-th attempt it is."""
    return [(each.place, each.attempt) for each in found.under_way]


async def check_what_has_happened_is_told_in_order_with_what_is_under_way(store: CheckpointStore) -> None:
    """With the frame that was saved with it and the one before, and page by page."""
    lease = await kept(store, "a")
    equal(under_way(await store.happenings("run")), [("a", 1)])
    end = Happening(STEP, "a", OK, 1.0, 2.0, None, b'{"decisions":[]}', None, of_frame=True)
    await store.commit(Commit(lease=lease, frame=a_frame(2, x=1), happened=[end, Happening(STEP, "b")]))
    end = Happening(STEP, "b", FAILED, error="why")
    await store.commit(Commit(lease=lease, happened=[end], closing=Closing(RunStatus.FAILED, "why")))
    found = await store.happenings("run")
    steps = [("step", "a", "ok", 1), ("step", "b", "failed", 1)]
    equal(told(found), [("run", "", "began", None), *steps, ("run", "", "failed", None)])
    equal((under_way(found), found.next, found.run.status), ([], None, RunStatus.FAILED))
    first = found.items[1]
    equal((first.begun and first.begun.timestamp(), first.ended and first.ended.timestamp()), (1.0, 2.0))
    equal((first.detail, first.frame, first.before), (b'{"decisions":[]}', a_frame(2, x=1), a_frame(1)))
    equal([found.items[2].error, found.items[3].error, found.items[2].frame], ["why", "why", None])
    page = await store.happenings("run", after=1, limit=1)
    equal((told(page), page.next), (steps[:1], "2"))
    equal(told(await store.happenings("run", after=page.next or 0)), told(found)[2:])
    with refuses(RunNotFound):
        await store.happenings("other")


async def check_what_a_dead_owner_has_left_was_interrupted_and_begins_again(store: CheckpointStore) -> None:
    """Once for each claim; what has failed begins again with the run, and counts on."""
    await kept(store, "a")
    lease = await claimed(store, "run")
    found = await store.happenings("run")
    interrupted = [("step", "a", "interrupted", 1), ("run", "", "recovered", None)]
    equal((told(found)[1:], under_way(found)), (interrupted, [("a", 2)]))
    failed = [Happening(STEP, "a", FAILED)]
    await store.commit(Commit(lease=lease, happened=failed, closing=Closing(RunStatus.FAILED, "why")))
    equal(under_way(await store.happenings("run")), [])
    lease = await claimed(store, "run", reopen=True)
    end = Happening(STEP, "a", OK, of_frame=True)
    begun = [Happening(STEP, "a")]
    await store.commit(Commit(lease=lease, happened=begun))
    await store.commit(Commit(lease=lease, frame=a_frame(2), happened=[end], closing=Closing(RunStatus.COMPLETED)))
    last = [("run", "", "resumed", None), ("step", "a", "ok", 3), ("run", "", "completed", None)]
    equal(told(await store.happenings("run"))[-3:], last)


async def check_what_begins_with_a_claim_is_told(store: CheckpointStore) -> None:
    """Unless the claim only ends the run; what the owner before has left goes on, and begins no second time."""
    owner, begins = await store.join("owner"), [Happening(STEP, "a")]
    lease_of((await store.create(replace(new_run("run"), keep=Keep.ALL, owner=owner.id)))[0])
    await store.claim(owner, "run", begins=begins)
    began, interrupted = ("run", "", "began", None), ("step", "a", "interrupted", 1)
    found = await store.happenings("run")
    equal((told(found), under_way(found)), ([began], [("a", 1)]))
    await store.leave(owner)
    heir = await store.join("heir")
    await store.claim(heir, "run", counts=False)
    found = await store.happenings("run")
    equal((told(found), under_way(found)), ([began, interrupted], []))
    await store.claim(heir, "run", begins=[*begins, Happening(STEP, "b")])
    found = await store.happenings("run")
    equal((told(found), under_way(found)), ([began, interrupted], [("a", 2), ("b", 1)]))


async def check_what_a_step_waits_for_is_told_and_who_has_answered(store: CheckpointStore) -> None:
    """Each time; the step that waits is not under way, and begins again with the answer, or when the run is claimed."""
    lease = await kept(store, "ask")
    failed = Happening(STEP, "other", FAILED, error="why")
    await store.wait(lease, NewWait("ask", WaitKind.ANSWER, "sum", b'"why"', happened=[failed]))
    found = await store.happenings("run")
    before, *asked = [("step", "other", "failed", 1), ("step", "ask", "waiting", 1), ("wait", "ask", "open", None)]
    equal((told(found)[1:], under_way(found), found.items[3].value), ([before, *asked], [], b'"why"'))
    await store.park(lease, 0)
    await store.answer("run", "ask", b"3", by="ann")
    answered = (await store.happenings("run")).items[-1]
    about = b'{"kind":"answer","name":"sum","due_at":null,"by":"ann"}'
    equal((answered.outcome, answered.value, answered.detail), ("answered", b"3", about))
    lease = await store.claim(await store.join("heir"), "run")
    found = await store.happenings("run")
    equal((told(found)[4:], under_way(found)), ([("wait", "ask", "answered", None)], [("ask", 2)]))
    await store.reopen(lease, "ask", "it does not fit")
    found = await store.happenings("run")
    equal((found.items[-1].outcome, found.items[-1].error, under_way(found)), ("refused", "it does not fit", []))
    await store.answer("run", "ask", b"4")
    equal(under_way(await store.happenings("run")), [("ask", 2)])


async def check_what_is_given_up_was_cancelled(store: CheckpointStore) -> None:
    """Items of a fan-out that is joined, and what goes on in them; and whatever goes on when a run ends."""
    lease = await kept(store, "fan")
    items = tuple(an_item("fan", idx) for idx in range(2))
    fixed = Happening(HappeningKind.ITEMS, "fan", detail=b'{"items":2}', of_frame=True)
    begun = [Happening(ITEM, "fan[0]"), Happening(ITEM, "fan[1]"), Happening(STEP, "fan[1]/a"), Happening(STEP, "z")]
    await store.commit(Commit(lease=lease, frame=a_frame(2), frozen=items, happened=[fixed, *begun]))
    end = Happening(ITEM, "fan[0]", OK, value=b"1")
    await store.commit(Commit(lease=lease, happened=[end]))
    joined = Happening(FAN_OUT, "fan", OK, of_frame=True)
    await store.commit(Commit(lease=lease, frame=a_frame(3), joined=Joined("fan", 0), happened=[joined]))
    found = await store.happenings("run")
    lost = [("item", "fan[1]", "cancelled", 1), ("step", "fan[1]/a", "cancelled", 1)]
    told_so_far = [("items", "fan", None, None), ("item", "fan[0]", "ok", 1), ("fan_out", "fan", "ok", 1), *lost]
    equal((told(found)[1:], under_way(found)), (told_so_far, [("z", 1)]))
    await store.commit(Commit(lease=lease, closing=Closing(RunStatus.CANCELLED)))
    found = await store.happenings("run")
    equal(told(found)[-2:], [("run", "", "cancelled", None), ("step", "z", "cancelled", 1)])
    equal(under_way(found), [])


async def check_values_beside_a_frame_are_read_by_what_refers_to_them(store: CheckpointStore) -> None:
    """Those of earlier versions, too, and of a list only what is wanted."""
    lease = await kept(store)
    refs = {"large": Ref(2), "list": Ref(4, 1)}
    rows = [StoredValue("", 2, None, b"20"), StoredValue("", 4, 0, b"0")]
    await store.commit(Commit(lease=lease, frame=a_frame(2, x=1)._replace(refs=refs), values=rows))
    later = {"large": Ref(3), "list": Ref(4, 3)}
    rows = [StoredValue("", 3, None, b"30"), StoredValue("", 4, 1, b"1"), StoredValue("", 4, 2, b"2")]
    await store.commit(Commit(lease=lease, frame=a_frame(3, x=2)._replace(refs=later), values=rows))
    last = (await store.happenings("run")).items[-1]
    equal((last.frame and last.frame.refs, last.before and last.before.refs), (later, refs))
    equal([await store.value("run", "", ref) for ref in refs.values()], [b"20", b"[0]"])
    equal([await store.value("run", "", ref) for ref in later.values()], [b"30", b"[0,1,2]"])
    equal(await store.value("run", "", later["list"], after=1), b"[1,2]")
    with refuses(CorruptRun):
        await store.value("run", "", Ref(9))
    with refuses(CorruptRun):
        await store.value("run", "", Ref(4, 9))
    with refuses(RunNotFound):
        await store.value("other", "", Ref(2))


async def check_children_are_told_with_the_steps_that_have_started_them(store: CheckpointStore) -> None:
    """Of a run that keeps no history all of them are."""
    for run_id, keep in (("all", Keep.ALL), ("other", Keep.RESULT)):
        begun = [Happening(STEP, "a")]
        await store.create(replace(new_run(run_id), keep=keep, happened=begun))
        for child in ("one", "one.below"):
            await store.create(replace(new_run(f"{run_id}.{child}"), place="a"))
        found = await store.happenings(run_id)
        equal([(each.run_id, each.place, each.status) for each in found.children], [(f"{run_id}.one", "a", "running")])
        equal(under_way(found), [("a", 1)] if keep is Keep.ALL else [])


CHECKS: Final[tuple[Check, ...]] = (
    check_what_has_happened_is_told_in_order_with_what_is_under_way,
    check_what_a_dead_owner_has_left_was_interrupted_and_begins_again,
    check_what_begins_with_a_claim_is_told,
    check_what_a_step_waits_for_is_told_and_who_has_answered,
    check_what_is_given_up_was_cancelled,
    check_values_beside_a_frame_are_read_by_what_refers_to_them,
    check_children_are_told_with_the_steps_that_have_started_them,
)
