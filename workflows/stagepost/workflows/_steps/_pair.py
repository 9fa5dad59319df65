"""The worker of a fold, which takes two values, as the function of a step, which takes one."""

from collections.abc import Callable
from typing import Any, NamedTuple

from .._values._state import anew
from ._step import StepFunction, is_async, wants_context


class Pair(NamedTuple):
    """What the worker of a fold gets."""

    state: Any
    item: Any

    def __deepcopy__(self, memo: dict[int, Any]) -> "Pair":
        return Pair(anew(self.state), anew(self.item))


def of_pair(name: str, worker: StepFunction) -> Callable[..., Any]:
    """The worker as a step's function: of one value, and always with a context.

    Raises:
        DefinitionError: It takes other parameters.
    """
    with_context = wants_context(name, worker, takes=("state", "item"))

    async def later(pair: Pair, context: Any) -> Any:
        return await (worker(*pair, context=context) if with_context else worker(*pair))

    def now(pair: Pair, context: Any) -> Any:
        return worker(*pair, context=context) if with_context else worker(*pair)

    return later if is_async(worker) else now
