"""One worker on one item after the other, each on the state that the one before has left."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from stagepost.checkpoint import PLAIN, Codec
from stagepost.hub import Duration

from .._plans._plan import FoldPlace
from .._steps._pair import of_pair
from .._steps._retry import Retry
from .._steps._step import StepFunction, step
from .._values._types import codec_of, parameter_types
from ..errors import FoldError
from ._builder import Builder
from ._over import Over, take
from ._pattern import Node, Pattern
from ._takes import check_takes


class Fold(Pattern):
    """One worker on one item after the other; made by `Chain.fold`.

    Args:
        name: The fold's name.
        worker: ``(state, item)`` or ``(state, item, context)``; it returns what a step returns.
        over: Key of the state that holds the items, or a function of the state that returns them.
        inline: Run a sync worker on the event loop instead of in a thread.
        timeout: How long it may take for one item.
        retry: When it is tried again on an item after an error.
        state: A pydantic model for the state instead of a plain `State`.
        types: Types of single keys of a plain state.
        version: Declared version of the definition.

    Raises:
        DefinitionError: The worker takes other parameters.
    """

    kind = "fold"

    def __init__(
        self,
        name: str,
        worker: StepFunction,
        *,
        over: Over,
        inline: bool = False,
        timeout: Duration | None = None,
        retry: Retry | None = None,
        state: type[BaseModel] | None = None,
        types: Mapping[str, Any] | None = None,
        version: int = 1,
    ) -> None:
        super().__init__(name, state=state, types=types, version=version)
        self._over = over
        self._step = step(name, of_pair(name, worker), inline=inline, timeout=timeout, retry=retry)
        self._takes, item_type, *_ = (*parameter_types(worker), None, None)
        self.item_codec: Codec[Any] = codec_of(item_type) or PLAIN

    @property
    def children(self) -> Mapping[str, Node]:
        return {}

    def compile(self, builder: Builder) -> str:
        check_takes(self._step, self._takes, builder.plan.model)
        return builder.plan.add(FoldPlace(builder.own_path, builder.own_level, self._step, self, builder.after))

    def failed(self, child: str, cause: BaseException, *, state: Any, trail: Sequence[str]) -> FoldError:  # noqa: ARG002  # the pattern's signature
        return FoldError(self.name, None, cause, state=state)

    def items(self, state: Any) -> Sequence[Any]:
        """The items of a state.

        Raises:
            TypeError: What `over` gives is no list of items.
        """
        return take(self._over, state)
