"""The runs of a service, with the verbs that it has."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final, TypeAlias
from urllib.parse import quote, urlsplit

import anyio
import httpx2

from stagepost.checkpoint import CountBy, RunFilters, RunStatus, WaitKind

from .._verbs._looking import is_over
from .._wire._asked import ForkRun, NewRun, RetryItems
from .._wire._done import Done
from .._wire._history import HistoryPage
from .._wire._run import RunShown
from .._wire._runs import RunCounts, RunPage
from .._wire._schedules import ScheduleList
from .._wire._waits import WaitList
from .._wire._watched import WatchEvent
from .._wire._workflows import RunStarted
from ._errors import ServiceUnreachable
from ._http import Query, Service, raise_problem

Tell: TypeAlias = Callable[[WatchEvent], None]
Named: TypeAlias = Callable[[str], None]

_TRIES: Final = 10  # how often in a row a stream that was cut is asked for again
_PAUSE: Final = 1.0  # seconds before that


class ServiceRuns:
    """The runs of a service.

    Args:
        service: The service.
    """

    def __init__(self, service: Service) -> None:
        self._service = service

    async def list(
        self,
        filters: RunFilters,
        *,
        newest_first: bool = True,
        after: str | None = None,
        before: str | None = None,
        limit: int = 20,
    ) -> RunPage:
        """A page of runs."""
        page: Query = {"newest_first": newest_first, "after": after, "before": before, "limit": limit}
        return await self._service.get(RunPage, "/runs", {**query_of(filters), **page})

    async def count(self, filters: RunFilters, *, by: CountBy = "status") -> RunCounts:
        """How many runs there are."""
        return await self._service.get(RunCounts, "/run-counts", {**query_of(filters), "by": by})

    async def get(self, run_id: str) -> RunShown:
        """All that is stored of a run."""
        return await self._service.get(RunShown, _run(run_id))

    async def history(self, run_id: str, *, after: int | None = None, limit: int = 100) -> HistoryPage:
        """A page of what has happened to a run."""
        return await self._service.get(HistoryPage, f"{_run(run_id)}/history", {"after": after, "limit": limit})

    async def waits(
        self, run_id: str | None = None, *, kind: WaitKind | None = None, after: str | None = None, limit: int = 100
    ) -> WaitList:
        """A page of what runs wait for."""
        asked = {"run": run_id, "kind": kind and kind.value, "after": after, "limit": limit}
        return await self._service.get(WaitList, "/waits", asked)

    async def answer(self, wait_id: str, value: Any) -> Done:
        """Answer a wait."""
        return await self._service.post(Done, f"/waits/{_quoted(wait_id)}", {"answer": value})

    async def signal(self, run_id: str, name: str, value: Any, *, dedup: str | None = None) -> Done:
        """Send a signal to a run."""
        body = {"name": name, "value": value, "dedup": dedup}
        return await self._service.post(Done, f"{_run(run_id)}/signal", body)

    async def settle(self, run_id: str, key: str, *, value: Any, retry: bool, place: str | None) -> Done:
        """Say what became of an effect in doubt."""
        body = {"key": key, "place": place, **({"retry": True} if retry else {"value": value})}
        return await self._service.post(Done, f"{_run(run_id)}/settle", body)

    async def cancel(self, run_id: str) -> Done:
        """End a run for good."""
        return await self._service.post(Done, f"{_run(run_id)}/cancel")

    async def resume(self, run_id: str, tell: Tell) -> RunStatus:
        """Go on with a run, and follow it until it has ended or waits; its status in the end."""
        await self._service.post(RunStarted, f"{_run(run_id)}/resume")
        return await self.watch(run_id, tell, until_settled=True)

    async def fork(self, run_id: str, order: ForkRun, tell: Tell, named: Named) -> RunStatus:
        """Make a new run of another one, and follow it until it has ended or waits; its status in the end."""
        return await self._made(f"{_run(run_id)}/fork", order, tell, named)

    async def retry_items(self, run_id: str, order: RetryItems, tell: Tell, named: Named) -> RunStatus:
        """The same, but only the failed items of a fan-out run again."""
        return await self._made(f"{_run(run_id)}/retry-items", order, tell, named)

    async def _made(self, path: str, order: NewRun, tell: Tell, named: Named) -> RunStatus:
        new = await self._service.post(RunStarted, path, order.model_dump(mode="json", exclude_unset=True))
        named(new.run_id)
        return await self.watch(new.run_id, tell, until_settled=True)

    async def delete(self, run_id: str) -> Done:
        """Delete a run."""
        return await self._service.delete(Done, _run(run_id))

    async def schedules(self, *, after: str | None = None, limit: int = 100) -> ScheduleList:
        """A page of schedules."""
        return await self._service.get(ScheduleList, "/schedules", {"after": after, "limit": limit})

    async def pause_schedule(self, key: str) -> Done:
        """Start no runs of a schedule."""
        return await self._service.post(Done, f"/schedules/{_quoted(key)}/pause")

    async def resume_schedule(self, key: str) -> Done:
        """Start runs of a schedule again."""
        return await self._service.post(Done, f"/schedules/{_quoted(key)}/resume")

    async def delete_schedule(self, key: str) -> Done:
        """Forget a schedule."""
        return await self._service.delete(Done, f"/schedules/{_quoted(key)}")

    async def watch(self, run_id: str, tell: Tell, *, until_settled: bool) -> RunStatus:
        """Tell what becomes of a run; a connection that was cut is made again, and nothing is told twice.

        Returns:
            Its status in the end.
        """
        told: set[str] = set()
        status, failures = RunStatus.RUNNING, 0
        while True:
            error: Exception | None = None
            try:
                async for event in self._watched(run_id, until_settled=until_settled):
                    failures = 0
                    status = RunStatus(event.status) if event.event == "status" and event.status else status
                    if (name := _name(event)) not in told:
                        told.add(name)
                        tell(event)
            except (ServiceUnreachable, httpx2.TransportError) as raised:
                error = raised
            if error is None and is_over(status, until_settled=until_settled):
                return status
            failures += 1  # also if the stream has ended before the run, as it does when the service ends
            if failures > _TRIES or (error is not None and not told):
                raise _unreachable(self._service, error)
            await anyio.sleep(_PAUSE)

    async def _watched(self, run_id: str, *, until_settled: bool) -> AsyncIterator[WatchEvent]:
        query: Query = {"view": "watch", "settled": until_settled}
        async with self._service.events(f"{_run(run_id)}/events", query) as events:
            async for event in events:
                raise_problem(event)
                yield WatchEvent.model_validate_json(event.data)


def connected(url: str, key: str | None) -> AbstractAsyncContextManager[Service]:
    """The service at an address.

    Args:
        url: The address.
        key: The secret of a key; None for a service that asks for none.

    Raises:
        ValueError: It is no address of a service.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError(f"{url!r} is no address of a service: give one such as https://runs.example.com")
    if parts.username is not None:
        raise ValueError("an address holds no key: give it in the environment as STAGEPOST_KEY, or with --key-file")
    return _opened(Service(url, key))


@asynccontextmanager
async def _opened(service: Service) -> AsyncIterator[Service]:
    try:
        yield service
    finally:
        with anyio.CancelScope(shield=True):
            await service.close()


def query_of(filters: RunFilters) -> Query:
    """Filters as they stand in an address."""
    statuses, labels = filters.get("status"), filters.get("labels") or {}
    times = {name: filters.get(name) for name in ("since", "until", "ended_since", "ended_until")}
    return {
        "status": [statuses.value] if isinstance(statuses, RunStatus) else [each.value for each in statuses or ()],
        "label": [f"{name}={value}" for name, value in labels.items()],
        "workflow": filters.get("workflow"),
        "key": filters.get("key"),
        "text": filters.get("text"),
        "below": filters.get("below"),
        "forked_from": filters.get("forked_from"),
        **{name: None if time is None else time.isoformat() for name, time in times.items()},  # type: ignore[attr-defined]  # `get` by a name in a variable gives an object
    }


def _run(run_id: str) -> str:
    return f"/runs/{quote(run_id, safe='')}"


def _quoted(text: str) -> str:
    return quote(text, safe="")


def _name(event: WatchEvent) -> str:
    """What makes an event another one than those before: of what is only seen, not when."""
    return event.model_dump_json(exclude={"at"} if event.event in ("status", "item", "child") else None)


def _unreachable(service: Service, error: Exception | None) -> ServiceUnreachable:
    if isinstance(error, ServiceUnreachable):
        return error
    return ServiceUnreachable(service.url, "its stream ends before the run" if error is None else str(error))
