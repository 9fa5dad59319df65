"""The suite itself: it tells on stores that break their promises."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Unpack

import pytest
from anyio import fail_after

from stagepost.checkpoint import (
    Change,
    Commit,
    CountBy,
    Counts,
    Lease,
    MemoryStore,
    NewRun,
    Owner,
    OwnershipLost,
    Page,
    RunFilters,
    RunInfo,
)
from stagepost.checkpoint.testing import CHECKS


class Forgetful(MemoryStore):
    async def commit(self, commit: Commit) -> None:
        pass


class Unfenced(MemoryStore):
    async def commit(self, commit: Commit) -> None:
        try:
            await super().commit(commit)
        except OwnershipLost:
            return


class Leaseless(MemoryStore):
    async def create(self, run: NewRun) -> tuple[Lease | None, RunInfo]:
        _, info = await super().create(run)
        return None, info


class Unfiltered(MemoryStore):
    async def find(
        self,
        *,
        newest_first: bool = False,
        after: str | None = None,
        before: str | None = None,
        limit: int = 100,
        **filters: Unpack[RunFilters],  # noqa: ARG002  # the broken promise
    ) -> Page[RunInfo]:
        return await super().find(newest_first=newest_first, after=after, before=before, limit=limit)


class OneWay(MemoryStore):
    async def find(
        self,
        *,
        newest_first: bool = False,
        after: str | None = None,
        before: str | None = None,  # noqa: ARG002  # the broken promise
        limit: int = 100,
        **filters: Unpack[RunFilters],
    ) -> Page[RunInfo]:
        return await super().find(newest_first=newest_first, after=after, limit=limit, **filters)


class Miscounting(MemoryStore):
    async def count(self, *, by: CountBy | None = None, **filters: Unpack[RunFilters]) -> Counts:  # noqa: ARG002  # the broken promise
        return await super().count(by=by)


class Boundless(MemoryStore):
    async def stored(self, after: str | None = None, *, limit: int = 100) -> Page[RunInfo]:
        return await super().stored(None if after == "1.1" else after, limit=limit)


class Careless(MemoryStore):
    async def delete(self, run_id: str) -> None:
        await self.cancel(run_id)

    async def prune(self, before: datetime, *, limit: int = 100) -> int:  # noqa: ARG002  # the broken promise
        return limit


class Oblivious(MemoryStore):
    async def create(self, run: NewRun) -> tuple[Lease | None, RunInfo]:
        return await super().create(replace(run, remember_id=False, remember_key=False))


class Deaf(MemoryStore):
    async def changes(self, owner: Owner) -> AsyncIterator[Change]:  # noqa: ARG002  # the broken promise
        for change in list[Change]():
            yield change


class Insistent(MemoryStore):
    async def heard(self, owner: Owner, news: Mapping[str, int]) -> None:
        pass


@pytest.mark.parametrize(
    ("broken", "check"),
    [
        (Forgetful, "check_a_commit_overwrites_its_frame"),
        (Forgetful, "check_a_stale_frame_is_refused"),
        (Forgetful, "check_a_join_deletes_its_items_and_all_below_them"),
        (Unfenced, "check_a_claim_fences_the_owner_before"),
        (Leaseless, "check_a_new_run_is_stored_with_its_first_frame"),
        (Unfiltered, "check_find_filters_by_status_and_workflow"),
        (Unfiltered, "check_find_takes_several_statuses"),
        (Unfiltered, "check_find_takes_a_time"),
        (Unfiltered, "check_runs_are_found_by_their_labels"),
        (Unfiltered, "check_runs_are_found_by_the_words_of_their_errors"),
        (Unfiltered, "check_runs_are_found_by_their_ends_in_the_order_of_these"),
        (OneWay, "check_pages_lead_back_to_those_before"),
        (OneWay, "check_pages_stay_while_runs_come_and_go"),
        (Boundless, "check_runs_are_told_in_the_order_in_which_they_were_stored"),
        (Miscounting, "check_runs_are_counted"),
        (Careless, "check_an_open_run_is_not_deleted"),
        (Careless, "check_prune_deletes_what_ended_before_a_time"),
        (Deaf, "check_what_is_written_is_told_until_it_is_heard"),
        (Insistent, "check_what_is_written_is_told_until_it_is_heard"),
        (Oblivious, "check_a_key_stays_taken_when_its_run_is_pruned"),
    ],
)
async def test_a_store_that_breaks_a_promise_is_told(broken: type[MemoryStore], check: str) -> None:
    (told,) = [candidate for candidate in CHECKS if candidate.__name__ == check]
    with fail_after(10):
        async with broken() as store:
            with pytest.raises(AssertionError, match="broken promise"):
                await told(store)
