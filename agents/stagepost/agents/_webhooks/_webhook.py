"""Webhooks as their users see them, as frozen values."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum

from stagepost._dataclasses import dataclass


class WebhookStatus(StrEnum):
    """Whether parts are delivered.

    - ``active``: they are, as they come; after a failure, at the next attempt.
    - ``paused``: the last attempt for a part has failed too, and nothing is sent until somebody resumes it.
    """

    ACTIVE = "active"
    PAUSED = "paused"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookTask:
    """A task that a webhook follows, until its end was delivered.

    Attributes:
        task_id: The task.
        status: See `WebhookStatus`.
        cursor: Up to where its parts were delivered; None if none was.
        failures: How many attempts in a row have failed for the part that comes next.
        error: What went wrong with the last one, without secrets; None if it was delivered.
        next_attempt: When the next one is made (UTC); None if there is nothing to wait for.
    """

    task_id: str
    status: WebhookStatus
    cursor: str | None
    failures: int
    error: str | None
    next_attempt: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """A URL that the numbered parts of a task are posted to, or of all tasks that are started on a runner.

    Attributes:
        id: Its id.
        url: Where they are posted to, without user and password, with stars for the values of a query.
        task_id: The task; None for all that were started since.
        labels: Only tasks with all of these labels.
        added_at: When it was added (UTC).
        tasks: The tasks that it follows now.
    """

    id: str
    url: str
    task_id: str | None
    labels: Mapping[str, str]
    added_at: datetime
    tasks: Sequence[WebhookTask]

    @property
    def status(self) -> WebhookStatus:
        """``paused`` if one of its tasks is."""
        is_paused = any(task.status is WebhookStatus.PAUSED for task in self.tasks)
        return WebhookStatus.PAUSED if is_paused else WebhookStatus.ACTIVE
