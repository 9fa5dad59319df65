"""Effects: intents and outcomes are saved with the fence, and word of one in doubt is given once."""

from typing import Final

from .._records import Commit, Lease, RunStatus
from .._store import CheckpointStore
from .._waiting import Effect, EffectStatus, NewWait, WaitKind, WaitStatus
from ..errors import CancelRequested, EffectNotFound, OwnershipLost, RunNotFound, RunNotOpen
from ._words import Check, claimed, end, equal, refuses, started

INTENT: Final = Effect("step", "mail", EffectStatus.INTENT)
DONE: Final = Effect("step", "mail", EffectStatus.DONE, b"1")
UNDONE: Final = Effect("step", "mail", EffectStatus.UNDONE)


async def in_doubt(store: CheckpointStore, run_id: str) -> Lease:
    """A parked run that waits for word of an effect."""
    lease = await started(store, run_id)
    await store.commit(Commit(lease=lease, effects=[INTENT]))
    await store.wait(lease, NewWait("step", WaitKind.EFFECT, "mail"))
    await store.park(lease, 0)
    return lease


async def check_what_became_of_an_effect_is_saved(store: CheckpointStore) -> None:
    """The intent, then the outcome in its place; or no effect, if it did not happen."""
    lease = await started(store, "run")
    for effect, stored in ((INTENT, [INTENT]), (DONE, [DONE]), (UNDONE, [])):
        await store.commit(Commit(lease=lease, effects=[effect]))
        equal(list((await store.load("run")).effects), stored)


async def check_effects_are_fenced(store: CheckpointStore) -> None:
    """An owner that lost its run, or whose run is to end, saves no intent, and so does nothing."""
    old = await started(store, "run")
    lease = await claimed(store, "run")
    with refuses(OwnershipLost):
        await store.commit(Commit(lease=old, effects=[INTENT]))
    await store.cancel("run")
    with refuses(CancelRequested):
        await store.commit(Commit(lease=lease, effects=[INTENT]))
    equal((await store.load("run")).effects, ())


async def check_word_of_an_effect_is_given_once(store: CheckpointStore) -> None:
    """Done with a value, or undone; it wakes the run."""
    for run_id, value, stored in (("done", b"7", b"7"), ("undone", None, None)):
        await in_doubt(store, run_id)
        await store.settle(run_id, "step", "mail", value)
        snapshot = await store.load(run_id)
        equal((snapshot.run.status, snapshot.waits[0].status), (RunStatus.RUNNING, WaitStatus.ANSWERED))
        equal([effect.value for effect in snapshot.effects], [] if stored is None else [stored])
        with refuses(EffectNotFound):
            await store.settle(run_id, "step", "mail", value)


async def check_word_needs_an_effect_in_doubt(store: CheckpointStore) -> None:
    """Another key, another place, a run that has ended or was never there are refused, and nothing is changed."""
    await in_doubt(store, "run")
    before = await store.load("run")
    for place, key in (("step", "other"), ("other", "mail")):
        for value in (b"1", None):
            with refuses(EffectNotFound, (place, key)):
                await store.settle("run", place, key, value)
    equal(await store.load("run"), before)
    with refuses(RunNotFound):
        await store.settle("unknown", "step", "mail", b"1")
    await end(store, "run", RunStatus.FAILED)
    with refuses(RunNotOpen):
        await store.settle("run", "step", "mail", b"1")


CHECKS: Final[tuple[Check, ...]] = (
    check_what_became_of_an_effect_is_saved,
    check_effects_are_fenced,
    check_word_of_an_effect_is_given_once,
    check_word_needs_an_effect_in_doubt,
)
