"""The tables of webhooks in the store, as statements.

What a webhook for all tasks has seen is a cursor of `Catalogue.stored`. Times would not do: a clock that is set back
would hide runs.
"""

from collections.abc import Mapping
from typing import Final

from pydantic_core import to_json

from stagepost.checkpoint import Statement

_TABLES: Final = (
    """
CREATE TABLE IF NOT EXISTS app_stagepost_webhooks (
    id TEXT PRIMARY KEY,
    url TEXT NOT NULL,
    task_id TEXT,
    labels TEXT NOT NULL,
    seen TEXT NOT NULL,
    added_at INTEGER NOT NULL
) STRICT
""",
    """
CREATE TABLE IF NOT EXISTS app_stagepost_webhook_tasks (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    webhook TEXT NOT NULL,
    task_id TEXT NOT NULL,
    cursor TEXT,
    status TEXT NOT NULL DEFAULT 'active',
    failures INTEGER NOT NULL DEFAULT 0,
    error TEXT,
    next_at INTEGER,
    UNIQUE (webhook, task_id)
) STRICT
""",
)
_ADD: Final = """
INSERT INTO app_stagepost_webhooks (id, url, task_id, labels, seen, added_at) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO NOTHING
"""
_FOLLOW: Final = """
INSERT INTO app_stagepost_webhook_tasks (webhook, task_id, cursor)
SELECT id, ?, ? FROM app_stagepost_webhooks WHERE id = ? ON CONFLICT (webhook, task_id) DO NOTHING
"""
_FOR_ALL: Final = "SELECT seen, id, labels FROM app_stagepost_webhooks WHERE task_id IS NULL ORDER BY seen"
_SEEN: Final = "UPDATE app_stagepost_webhooks SET seen = ? WHERE id = ?"
_TASKS: Final = """
SELECT t.number, t.webhook, t.task_id, w.url, t.cursor, t.next_at
FROM app_stagepost_webhook_tasks AS t JOIN app_stagepost_webhooks AS w ON w.id = t.webhook
"""
_ACTIVE: Final = f"{_TASKS} WHERE t.status = 'active' AND t.number > ? ORDER BY t.number"
_PAUSED: Final = f"""{_TASKS}
WHERE t.status = 'paused' AND t.webhook = ? AND (? IS NULL OR t.task_id = ?) ORDER BY t.number
"""
_LIST: Final = """
SELECT w.id, w.url, w.task_id, w.labels, w.added_at,
    t.task_id, t.status, t.cursor, t.failures, t.error, t.next_at
FROM app_stagepost_webhooks AS w LEFT JOIN app_stagepost_webhook_tasks AS t ON t.webhook = w.id
"""
_LIST_ALL: Final = f"{_LIST} ORDER BY w.added_at, w.id, t.number"
_LIST_ONE: Final = f"{_LIST} WHERE w.id = ? ORDER BY t.number"
_DELIVERED: Final = """
UPDATE app_stagepost_webhook_tasks SET cursor = ?, failures = 0, error = NULL, next_at = NULL WHERE number = ?
"""
_FAILED: Final = """
UPDATE app_stagepost_webhook_tasks SET status = ?, failures = ?, error = ?, next_at = ? WHERE number = ?
"""
_RESUME: Final = """
UPDATE app_stagepost_webhook_tasks SET status = 'active', failures = 0, error = NULL, next_at = NULL WHERE number = ?
"""
_FORGET_TASK: Final = "DELETE FROM app_stagepost_webhook_tasks WHERE number = ?"
_FORGET_DONE: Final = """
DELETE FROM app_stagepost_webhooks WHERE id = ? AND task_id IS NOT NULL
AND NOT EXISTS (SELECT 1 FROM app_stagepost_webhook_tasks WHERE webhook = app_stagepost_webhooks.id)
"""
_REMOVE: Final = (
    "DELETE FROM app_stagepost_webhook_tasks WHERE webhook = ?",
    "DELETE FROM app_stagepost_webhooks WHERE id = ?",
)


def make() -> tuple[Statement, ...]:
    """Make the tables, if they do not exist."""
    return tuple(Statement(text) for text in _TABLES)


def add(webhook_id: str, url: str, task_id: str | None, labels: Mapping[str, str], *, seen: str, now: int) -> Statement:
    """Add a webhook; nothing happens if it is there. Runs that were stored up to what it has seen are not new to it."""
    return Statement(_ADD, (webhook_id, url, task_id, to_json(dict(labels)).decode(), seen, now))


def follow(webhook_id: str, task_id: str, cursor: str | None) -> Statement:
    """Have a task followed; nothing happens if it is, or if the webhook was removed."""
    return Statement(_FOLLOW, (task_id, cursor, webhook_id))


def for_all() -> Statement:
    """Webhooks for all tasks: what they have seen, their ids, and the labels that they want, by what they have seen."""
    return Statement(_FOR_ALL)


def seen(webhook_id: str, cursor: str) -> Statement:
    """A webhook has seen the runs up to a cursor."""
    return Statement(_SEEN, (cursor, webhook_id))


def active(beyond: int) -> Statement:
    """Tasks to deliver, with a number beyond this one."""
    return Statement(_ACTIVE, (beyond,))


def paused(webhook_id: str, task_id: str | None) -> Statement:
    """Paused tasks of a webhook, or one of them."""
    return Statement(_PAUSED, (webhook_id, task_id, task_id))


def listed(webhook_id: str | None = None) -> Statement:
    """All webhooks with their tasks, or one."""
    return Statement(_LIST_ALL) if webhook_id is None else Statement(_LIST_ONE, (webhook_id,))


def delivered(number: int, cursor: str) -> Statement:
    """A part was delivered."""
    return Statement(_DELIVERED, (cursor, number))


def failed(number: int, status: str, failures: int, error: str, next_at: int | None) -> Statement:
    """An attempt has failed."""
    return Statement(_FAILED, (status, failures, error, next_at, number))


def resume(number: int) -> Statement:
    """Deliver a task's parts again."""
    return Statement(_RESUME, (number,))


def forget(number: int, webhook_id: str) -> tuple[Statement, ...]:
    """A task was followed to its end, and with it a webhook that was for this task only."""
    return Statement(_FORGET_TASK, (number,)), Statement(_FORGET_DONE, (webhook_id,))


def remove(webhook_id: str) -> tuple[Statement, ...]:
    """Remove a webhook, with what is known of its tasks."""
    return tuple(Statement(text, (webhook_id,)) for text in _REMOVE)
