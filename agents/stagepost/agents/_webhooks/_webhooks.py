"""Webhooks of a runner: added, listed, resumed, removed; and all tasks that deliver for them."""

from collections.abc import AsyncIterable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Final, NamedTuple, Self

import anyio
from anyio.abc import TaskGroup

from stagepost.hub import Duration, seconds
from stagepost.workflows import ExtraMissing, Runner

from .._retries import Retries
from .._stream._cursor import parse
from ..errors import WebhookNotFound, WebhooksNotOpen
from ._address import checked_url
from ._again import check_tenacity
from ._book import Book
from ._courier import Means
from ._deliveries import Deliveries
from ._keys import WebhookSecret, keys_for
from ._reading import check_agent, reading
from ._request import PartLike
from ._slots import Slots
from ._webhook import Webhook

if TYPE_CHECKING:
    from ._http import HttpSender

_RETRIES: Final = Retries(attempts=36, first=5.0, most=3600.0, jitter=10.0, patience=86400.0)  # for more than a day


class Webhooks:
    """Posts the numbered parts of tasks to URLs, in order, signed; what was delivered is kept in the runner's store.

    An async context manager, to be entered inside of the runner's. It goes on where the last process has stopped.
    ::

        async with Runner(store, workflows=[lead]) as runner, Webhooks(runner, secret=secret) as webhooks:
            await webhooks.add("trip-42", "https://example.org/hook")
            await webhooks.add_for_all("https://example.org/audit", labels={"tenant": "acme"})

    Each part is a POST with its `StreamPart.to_dict` as JSON. Any status from 200 to 299 says that it was received;
    then the task's next part is sent. Anything else, and no answer, is a failure: the part is sent again after a pause,
    and the task's later parts wait for it, other tasks do not. When the last attempt has failed, the task is paused for
    this webhook, and the log says so. 410 removes the webhook. A pause that the receiver asks for (``Retry-After``) is
    kept; redirects are not followed. A part may come twice, if the process ends while it is sent: then with the same
    ``idempotency-key``. Requests are signed as Standard Webhooks has it; see `verify_webhook`.

    There may be one for each store. Needs the extra ``webhooks``.

    Args:
        runner: The runner; it has to be open.
        secret: What to sign with: ``whsec_…`` and base64 of 24 to 64 bytes; several while one is replaced by another;
            or a function that gives them for a URL, since receivers with one secret can pass for you among each
            other. It is neither stored nor logged.
        retries: How often a part is sent, and when; by default for more than a day, at last once an hour. The attempts
            are counted anew in each process.
        timeout: How long a receiver may take to answer: seconds, or a `timedelta`.
        grace: How long requests that are under way get to end when this is left: seconds, a `timedelta`, or None for as
            long as it takes.
        max_requests: How many requests are under way at once.
        max_requests_per_host: How many of them to one host.

    Raises:
        InvalidWebhook: A secret is none.
        ExtraMissing: The extra ``webhooks`` is not installed (on entering).
        RunnerNotOpen: The runner is not open (on entering).
    """

    def __init__(
        self,
        runner: Runner,
        *,
        secret: WebhookSecret,
        retries: Retries = _RETRIES,
        timeout: Duration = 20.0,
        grace: Duration | None = 10.0,
        max_requests: int = 50,
        max_requests_per_host: int = 5,
    ) -> None:
        for name, value in (("max_requests", max_requests), ("max_requests_per_host", max_requests_per_host)):
            if value < 1:
                raise ValueError(f"{name}={value}: give at least 1")
        self._runner = runner
        self._keys = keys_for(secret)
        self._retries = retries
        self._timeout = seconds(timeout, "timeout")
        self._grace = seconds(grace, "grace")
        self._slots = Slots(max_requests, max_requests_per_host)
        self._book = Book(runner.store, runner.clock)
        self._stack = AsyncExitStack()
        self._inside: _Inside | None = None

    async def add(self, task_id: str, url: str, *, after: str | None = None) -> Webhook:
        """Send the parts of a task to a URL, from its beginning, until its end was delivered.

        When this returns, it is stored. If there is such a webhook already, it stays as it is.

        Args:
            task_id: The task; it may have ended.
            url: An http or https address. It is stored as it is, so with the user and password in it. Which addresses
                people may give, such as those of your own network, is for you to decide.
            after: Only the parts after this cursor.

        Raises:
            InvalidWebhook: The URL cannot be used.
            RunNotFound: There is no such task.
            NotAnAgent: The run belongs to a workflow that is not an agent.
            InvalidCursor: The cursor is none of this task.
            WebhooksNotOpen: This is not open.
        """
        inside = self._open()
        inside.check_url(checked_url(url))
        await check_agent(self._runner, task_id)
        if after is not None:
            parse(after, task_id)
        added = await self._book.add(url, task_id=task_id, after=after)
        await inside.deliveries.take_up_new()
        return added

    async def add_for_all(self, url: str, *, labels: Mapping[str, str] | None = None) -> Webhook:
        """Send the parts of all tasks to a URL that are started on the runner from now on, also after a restart.

        When this returns, it is stored; a service may call it at each of its starts. If there is such a webhook
        already, it stays as it is, and tasks that were started meanwhile are followed.

        Args:
            url: See `add`.
            labels: Only tasks that are started with all of these labels.

        Raises:
            InvalidWebhook: The URL cannot be used.
            WebhooksNotOpen: This is not open.
        """
        self._open().check_url(checked_url(url))
        return await self._book.add(url, labels=labels)

    async def list(self) -> Sequence[Webhook]:
        """All webhooks, with the tasks that they follow now, in the order in which they were added.

        Raises:
            WebhooksNotOpen: This is not open.
        """
        self._open()
        return await self._book.list()

    async def resume(self, webhook_id: str, task_id: str | None = None) -> Webhook:
        """Deliver what is paused, beginning with the part that has failed.

        Args:
            webhook_id: The webhook, as in `Webhook.id`.
            task_id: Only this task; by default all that are paused.

        Raises:
            WebhookNotFound: There is no such webhook, or it does not follow this task.
            WebhooksNotOpen: This is not open.
        """
        inside, found = self._open(), await self._found(webhook_id)
        if task_id is not None and all(task.task_id != task_id for task in found.tasks):
            raise WebhookNotFound(webhook_id, task_id)
        await inside.deliveries.resume(webhook_id, task_id)
        return await self._book.get(webhook_id) or found

    async def remove(self, webhook_id: str) -> None:
        """Send nothing more to a URL; a request that is under way is given up.

        Raises:
            WebhookNotFound: There is no such webhook.
            WebhooksNotOpen: This is not open.
        """
        inside = self._open()
        await self._found(webhook_id)
        await self._book.remove(webhook_id)
        await inside.deliveries.stop(webhook_id)

    async def __aenter__(self) -> Self:
        await self._runner.runs_started(beyond=-1)  # raises, unless it is open
        check_tenacity()
        open_sender = _http_opener()
        async with AsyncExitStack() as stack:
            sender = await stack.enter_async_context(open_sender(self._timeout))
            await self._book.make()
            group = await stack.enter_async_context(anyio.create_task_group())
            means = Means(
                book=self._book,
                stream=self._stream,
                post=sender.post,
                slots=self._slots,
                keys=self._keys,
                retries=self._retries,
                clock=self._runner.clock,
            )
            deliveries = Deliveries(self._runner, means, group)
            group.start_soon(deliveries.watch)
            self._inside = _Inside(deliveries, group, sender.check)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        inside, self._inside = self._open(), None
        try:
            with anyio.move_on_after(0 if kind else self._grace):
                await inside.deliveries.leave()
        finally:
            inside.group.cancel_scope.cancel()
            if isinstance(error, anyio.get_cancelled_exc_class()):  # it may be the group's own
                suppressed = await self._stack.__aexit__(kind, error, trace)
            else:  # any other error passes by the group, which would wrap it
                suppressed = await self._stack.__aexit__(None, None, None)
        return suppressed

    def _stream(self, task_id: str, after: str | None) -> AbstractAsyncContextManager[AsyncIterable[PartLike]]:
        return reading(self._runner, task_id, after)

    def _open(self) -> "_Inside":
        if self._inside is None:
            raise WebhooksNotOpen
        return self._inside

    async def _found(self, webhook_id: str) -> Webhook:
        found = await self._book.get(webhook_id)
        if found is None:
            raise WebhookNotFound(webhook_id)
        return found


class _Inside(NamedTuple):
    """What there is while webhooks are open.

    Attributes:
        deliveries: Delivers.
        group: Whose tasks do so.
        check_url: Raises `InvalidWebhook` if the HTTP library cannot use a URL.
    """

    deliveries: Deliveries
    group: TaskGroup
    check_url: Callable[[str], None]


def _http_opener() -> "Callable[[float], AbstractAsyncContextManager[HttpSender]]":
    try:
        from ._http import opened  # noqa: PLC0415  # an extra
    except ImportError:
        raise ExtraMissing("Webhooks", "httpx2", "webhooks") from None
    return opened
