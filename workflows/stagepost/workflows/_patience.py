"""What a runner has to save on its own account, with nobody there to be told that it could not."""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import anyio

from stagepost.checkpoint import StoreClosed, StoreError, StoreFailed

T = TypeVar("T")

_PAUSE: Final = 1.0  # seconds


async def until_saved(save: Callable[[], Awaitable[T]]) -> T:
    """Try again for as long as the store refuses: a full disk passes, and everything else that runs stays untouched.

    Args:
        save: May be called any number of times.

    Raises:
        StoreFailed: It refuses for good.
        StoreClosed: Likewise.
    """
    while True:
        try:
            return await save()
        except (StoreFailed, StoreClosed):
            raise
        except StoreError:
            await anyio.sleep(_PAUSE)
