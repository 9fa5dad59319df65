"""At which number of its history a task had so many messages."""

from typing import Final

from stagepost.checkpoint import Happened
from stagepost.workflows import ForkRefused, Runner

from .._loop._history import MESSAGES

_FIRST: Final = "the first message is what the task was asked: start another one instead"


async def number_at(runner: Runner, task_id: str, messages: int) -> int:
    """The last number of a task's history by which its transcript had at most so many messages.

    Args:
        runner: Where it runs.
        task_id: The task.
        messages: How many.

    Raises:
        ForkRefused: It had more from the beginning, or keeps no history.
        RunNotFound: There is no such task.
    """
    number, after = 0, "0"
    while True:
        page = await runner.store.happenings(task_id, after=after)
        for happened in page.items:
            if _length(happened) > messages:
                return _known(number, task_id)
            number = happened.number
        if page.next is None:
            if not number:
                raise ForkRefused(task_id, "it keeps no history: run agents with keep='all' to fork tasks at a message")
            return number
        after = page.next


def _known(number: int, task_id: str) -> int:
    if not number:
        raise ForkRefused(task_id, _FIRST)
    return number


def _length(happened: Happened) -> int:
    """How many messages there are, as far as a frame says so."""
    frame = happened.frame
    ref = None if frame is None or frame.path else frame.refs.get(MESSAGES)
    return 0 if ref is None else ref.length or 0
