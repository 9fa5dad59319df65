"""All couriers of a process: taken up as tasks come, and left together."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import anyio
from anyio.abc import TaskGroup

from stagepost.hub import get_logger
from stagepost.workflows import Runner

from ._again import saved
from ._book import Following
from ._courier import Courier, Means, Outcome

if TYPE_CHECKING:
    from structlog.stdlib import BoundLogger


class Deliveries:
    """Has the parts of all tasks delivered that webhooks follow.

    Args:
        runner: Says when new tasks are stored.
        means: What couriers work with.
        group: Whose tasks they are.
    """

    def __init__(self, runner: Runner, means: Means, group: TaskGroup) -> None:
        self._runner = runner
        self._means = means
        self._group = group
        self._couriers: dict[int, Courier] = {}
        self._taking_up = anyio.Lock()  # whoever has read which tasks there are takes them up before another one reads
        self._last = 0
        self._is_leaving = False

    async def watch(self) -> None:
        """Take up what was open, and then whatever comes."""
        known = -1
        try:
            while True:
                known = await self._runner.runs_started(beyond=known)
                await saved(self._means.book.follow_new)
                await saved(self.take_up_new)
        except Exception as error:  # noqa: BLE001  # the store takes nothing more, or the runner was left
            self._log.warning("webhooks_stopped", error=type(error).__name__)

    async def take_up_new(self) -> None:
        """Deliver for the tasks that have come since."""
        async with self._taking_up:
            self._take_up(await self._means.book.active(self._last))

    async def resume(self, webhook_id: str, task_id: str | None) -> None:
        """Deliver for paused tasks of a webhook, or for one."""
        book = self._means.book
        async with self._taking_up:
            paused = await book.paused(webhook_id, task_id)
            await _until_done(courier for each in paused if (courier := self._couriers.get(each.number)) is not None)
            if paused:
                await book.resume([each.number for each in paused])
                self._take_up(paused)

    async def stop(self, webhook_id: str) -> None:
        """Send nothing more for a webhook."""
        couriers = [courier for courier in self._couriers.values() if courier.following.webhook_id == webhook_id]
        for courier in couriers:
            courier.stop()
        await _until_done(couriers)

    async def leave(self) -> None:
        """Begin nothing more, and wait for the requests that are under way."""
        self._is_leaving = True
        couriers = tuple(self._couriers.values())
        for courier in couriers:
            courier.leave()
        await _until_done(couriers)

    def _take_up(self, followings: Sequence[Following]) -> None:
        for following in followings:
            self._last = max(self._last, following.number)
            if not self._is_leaving and following.number not in self._couriers:
                courier = self._couriers[following.number] = Courier(following, self._means)
                self._group.start_soon(self._run, courier)

    async def _run(self, courier: Courier) -> None:
        """Contain whatever a courier does: it harms neither a run nor other couriers."""
        following = courier.following
        try:
            outcome = await courier.run()
        except Exception as error:  # noqa: BLE001  # the store takes nothing more
            outcome = Outcome.LEFT
            self._log.warning("webhook_stopped", webhook=following.webhook_id, error=type(error).__name__)
        finally:
            del self._couriers[following.number]
            courier.done.set()
        if outcome is Outcome.GONE:
            await self._remove(following)

    async def _remove(self, following: Following) -> None:
        self._log.warning("webhook_removed", webhook=following.webhook_id, why="the receiver answered 410")
        try:
            await saved(partial(self._means.book.remove, following.webhook_id))
        except Exception as error:  # noqa: BLE001  # as above; it is removed when it is told so again
            self._log.warning("webhook_stopped", webhook=following.webhook_id, error=type(error).__name__)
        await self.stop(following.webhook_id)

    @property
    def _log(self) -> "BoundLogger":
        return get_logger("agents")


async def _until_done(couriers: Iterable[Courier]) -> None:
    for courier in couriers:
        await courier.done.wait()
