"""The conformance suite: what every `CheckpointStore` promises, as plain functions.

Each check is a coroutine function that takes an entered, empty store of its own. It returns if the promise is kept and
raises `AssertionError` if it is not; no test framework is needed::

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    async def test_my_store_conforms(check):
        async with MyStore() as store:
            await check(store)

What nobody sees through the protocol (contents that survive the process, a disk that is full or silent) is left to the
tests of each store.
"""

from typing import Final

from ._conformance import (
    _blobs,
    _effects,
    _fence,
    _frames,
    _items,
    _keeping,
    _keys,
    _lists,
    _retention,
    _runs,
    _signals,
    _tables,
    _values,
    _versions,
    _waits,
)
from ._conformance._words import Check

__all__ = ["CHECKS", "Check"]

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
    *_signals.CHECKS,
    *_effects.CHECKS,
    *_values.CHECKS,
    *_versions.CHECKS,
    *_lists.CHECKS,
    *_tables.CHECKS,
)
