"""Which errors in the task of one run are no matter of that run."""

from math import inf

import anyio


def ends_all(error: BaseException) -> bool:
    """Whether an error in the task of one run is no matter of that run: the runner or the whole process is being ended.

    A cancellation that nobody has asked the task for is made up by what runs in it.
    """
    if isinstance(error, BaseExceptionGroup):
        return any(map(ends_all, error.exceptions))
    if isinstance(error, anyio.get_cancelled_exc_class()):
        return anyio.current_effective_deadline() == -inf
    return isinstance(error, KeyboardInterrupt)
