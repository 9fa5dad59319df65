"""The conformance suite: what every `CheckpointStore` promises, as plain functions.

Each check is a coroutine function that takes an entered, empty store of its own. It returns if the promise is kept and
raises `AssertionError` if it is not; no test framework is needed::

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    async def test_my_store_conforms(check):
        async with MyStore() as store:
            await check(store)

A store that admits several owners has to pass `SEVERAL` as well. Each of these checks also takes a function that lets
seconds pass for the store's clock. And where others than the owner's process can write, each check of `BESIDE` takes a
store and the `Inbox` of such a writer::

    async with MyStore(owners=2, clock=clock) as store:
        await check(store, clock.advance)
    async with MyStore(path) as store, MyStore.inbox(path) as inbox:
        await check(store, inbox)

What nobody sees through the protocol (contents that survive the process, a disk that is full or silent) is left to the
tests of each store.
"""

from typing import Final

from ._conformance import (
    _beside,
    _blobs,
    _catalogue,
    _effects,
    _fence,
    _forks,
    _frames,
    _items,
    _keeping,
    _keys,
    _lists,
    _ownership,
    _retention,
    _runs,
    _schedules,
    _several,
    _signals,
    _tables,
    _values,
    _versions,
    _waits,
)
from ._conformance._words import Check, CheckBeside, CheckOfSeveral

__all__ = ["BESIDE", "CHECKS", "SEVERAL", "Check", "CheckBeside", "CheckOfSeveral"]

CHECKS: Final[tuple[Check, ...]] = (
    *_runs.CHECKS,
    *_blobs.CHECKS,
    *_frames.CHECKS,
    *_items.CHECKS,
    *_fence.CHECKS,
    *_retention.CHECKS,
    *_keeping.CHECKS,
    *_keys.CHECKS,
    *_waits.CHECKS,
    *_ownership.CHECKS,
    *_signals.CHECKS,
    *_effects.CHECKS,
    *_values.CHECKS,
    *_versions.CHECKS,
    *_lists.CHECKS,
    *_tables.CHECKS,
    *_schedules.CHECKS,
    *_catalogue.CHECKS,
    *_forks.CHECKS,
)

SEVERAL: Final[tuple[CheckOfSeveral, ...]] = _several.CHECKS

BESIDE: Final[tuple[CheckBeside, ...]] = _beside.CHECKS
