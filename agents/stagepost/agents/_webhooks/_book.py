"""What is known of webhooks, kept in the store: it outlives the process."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple, TypeVar

from pydantic_core import from_json, to_json

from stagepost.checkpoint import Cell, CheckpointStore, Statement
from stagepost.hub import get_logger

from ..errors import InvalidWebhook
from . import _sql as sql
from ._address import checked_url, shown_url
from ._webhook import Webhook, WebhookStatus, WebhookTask

_MICROS = 1_000_000
T = TypeVar("T")
RowT = TypeVar("RowT")


class Following(NamedTuple):
    """A task whose parts are to be delivered.

    Attributes:
        number: Its number among all that were ever followed.
        webhook_id: For which webhook.
        task_id: The task.
        url: Where to.
        cursor: Up to where its parts were delivered; None if none was.
        next_at: Seconds since 1970 before which nothing is sent; None if there is nothing to wait for.
    """

    number: int
    webhook_id: str
    task_id: str
    url: str
    cursor: str | None
    next_at: float | None


class Book:
    """Reads and writes it.

    Args:
        store: The store.
        clock: Seconds since 1970.
    """

    def __init__(self, store: CheckpointStore, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._told = set[str]()  # webhooks whose rows make no sense

    async def make(self) -> None:
        """Make the tables, if they do not exist."""
        await self._store.execute(*sql.make())

    async def add(
        self, url: str, *, task_id: str | None = None, labels: Mapping[str, str] | None = None, after: str | None = None
    ) -> Webhook:
        """Add a webhook; what is there already stays as it is."""
        wanted = dict(sorted((labels or {}).items()))
        webhook_id = _id_of(url, task_id, wanted)
        seen = await self._store.last_stored()
        statements = [sql.add(webhook_id, url, task_id, wanted, seen=seen, now=_micros(self._clock()))]
        if task_id is not None:
            statements.append(sql.follow(webhook_id, task_id, after))
        await self._store.execute(*statements)
        found = await self.get(webhook_id)
        assert found is not None  # noqa: S101  # it was just written, and nobody removes what is being added
        return found

    async def get(self, webhook_id: str) -> Webhook | None:
        """A webhook; None if there is none with this id."""
        return next(iter(self._webhooks(await self._query(sql.listed(webhook_id)))), None)

    async def list(self) -> Sequence[Webhook]:
        """All webhooks, in the order in which they were added; those that make no sense are logged instead."""
        return self._webhooks(await self._query(sql.listed()))

    async def follow_new(self) -> None:
        """Have the tasks followed that were stored since this was last called."""
        rows = self._sensible(_wish, _by_webhook(await self._query(sql.for_all())))
        for seen, group in groupby(rows, key=itemgetter(0)):
            await self._follow_from(str(seen), {webhook: labels for _, webhook, labels in group})

    async def active(self, beyond: int) -> Sequence[Following]:
        """Tasks to deliver, with a number beyond this one."""
        return self._sensible(_following, _by_webhook(await self._query(sql.active(beyond))))

    async def paused(self, webhook_id: str, task_id: str | None) -> Sequence[Following]:
        """Paused tasks of a webhook, or one of them."""
        return self._sensible(_following, _by_webhook(await self._query(sql.paused(webhook_id, task_id))))

    async def delivered(self, number: int, cursor: str) -> None:
        """A part was delivered."""
        await self._store.execute(sql.delivered(number, cursor))

    async def failed(self, number: int, failures: int, error: str, next_at: float) -> None:
        """An attempt has failed, and there is another one."""
        await self._store.execute(sql.failed(number, WebhookStatus.ACTIVE, failures, error, _micros(next_at)))

    async def pause(self, number: int, failures: int, error: str) -> None:
        """The last attempt has failed."""
        await self._store.execute(sql.failed(number, WebhookStatus.PAUSED, failures, error, None))

    async def resume(self, numbers: Sequence[int]) -> None:
        """Deliver again."""
        await self._store.execute(*(sql.resume(number) for number in numbers))

    async def forget(self, following: Following) -> None:
        """A task was followed to its end."""
        await self._store.execute(*sql.forget(following.number, following.webhook_id))

    async def remove(self, webhook_id: str) -> None:
        """Remove a webhook."""
        await self._store.execute(*sql.remove(webhook_id))

    async def _follow_from(self, cursor: str, wanted: Mapping[str, Mapping[str, str]]) -> None:
        """Have the tasks followed that were stored after a cursor, by webhooks that want those with some labels."""
        while (page := await self._store.stored(cursor)).next not in (None, cursor):
            cursor = str(page.next)
            tasks = [
                run for run in page.items if "." not in run.run_id
            ]  # parts of what steps start come with the task's
            follow = [
                sql.follow(webhook, run.run_id, None)
                for run in tasks
                for webhook, labels in wanted.items()
                if labels.items() <= run.labels.items()
            ]
            await self._store.execute(*follow, *(sql.seen(webhook, cursor) for webhook in wanted))

    def _webhooks(self, rows: Sequence[tuple[Cell, ...]]) -> Sequence[Webhook]:
        groups = [tuple(group) for _, group in groupby(rows, key=itemgetter(0))]
        return self._sensible(_webhook, {str(group[0][0]): group for group in groups}.items())

    def _sensible(self, convert: Callable[[RowT], T], rows: Iterable[tuple[str, RowT]]) -> Sequence[T]:
        """What rows mean. Of a webhook whose rows make no sense somebody is told once; the others go on.

        Args:
            convert: What a row means.
            rows: They, each with the id of its webhook.
        """
        found = list[T]()
        for webhook_id, row in rows:
            try:
                found.append(convert(row))
            except (ValueError, LookupError, OverflowError, InvalidWebhook) as error:
                self._tell(webhook_id, error)
        return found

    def _tell(self, webhook_id: str, error: Exception) -> None:
        if webhook_id not in self._told:
            self._told.add(webhook_id)
            get_logger("agents").warning("webhook_unreadable", webhook=webhook_id, error=type(error).__name__)

    async def _query(self, statement: Statement) -> Sequence[tuple[Cell, ...]]:
        return await self._store.query(statement.text, *statement.values)


def _id_of(url: str, task_id: str | None, labels: Mapping[str, str]) -> str:
    """The same for the same webhook, so that a service may add it whenever it starts."""
    return "wh_" + hashlib.sha256(to_json([url, task_id, labels])).hexdigest()[:24]


def _by_webhook(rows: Iterable[Sequence[Cell]]) -> Iterable[tuple[str, Sequence[Cell]]]:
    return [(str(row[1]), row) for row in rows]


def _following(row: Sequence[Cell]) -> Following:
    number, webhook_id, task_id, url, cursor, next_at = row
    address = checked_url(str(url))
    return Following(int(number or 0), str(webhook_id), str(task_id), address, _text(cursor), _seconds(next_at))


def _wish(row: Sequence[Cell]) -> tuple[int, str, Mapping[str, str]]:
    """What a webhook has seen, its id, and the labels of the tasks that it wants."""
    seen, webhook_id, labels = row
    return int(str(seen)), str(webhook_id), from_json(str(labels))


def _webhook(rows: Sequence[Sequence[Cell]]) -> Webhook:
    """A webhook with its tasks."""
    webhook_id, url, task_id, labels, added_at, *_ = rows[0]
    return Webhook(
        id=str(webhook_id),
        url=shown_url(str(url)),
        task_id=_text(task_id),
        labels=from_json(str(labels)),
        added_at=_time(added_at),
        tasks=tuple(_task(row[5:]) for row in rows if row[5] is not None),
    )


def _task(row: Sequence[Cell]) -> WebhookTask:
    task_id, status, cursor, failures, error, next_at = row
    return WebhookTask(
        task_id=str(task_id),
        status=WebhookStatus(str(status)),
        cursor=_text(cursor),
        failures=int(failures or 0),
        error=_text(error),
        next_attempt=None if next_at is None else _time(next_at),
    )


def _micros(seconds: float) -> int:
    return round(seconds * _MICROS)


def _seconds(cell: Cell) -> float | None:
    return None if cell is None else float(cell) / _MICROS


def _time(cell: Cell) -> datetime:
    return datetime.fromtimestamp(float(cell or 0) / _MICROS, UTC)


def _text(cell: Cell) -> str | None:
    return None if cell is None else str(cell)
