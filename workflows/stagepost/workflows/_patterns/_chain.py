"""Steps one after the other."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from stagepost.hub import Duration

from .._lifespans import Lifespan
from .._steps._retry import Retry
from .._steps._step import StepFunction
from ..errors import ChainError, DefinitionError
from ._builder import Builder
from ._fold import Fold
from ._given import listed
from ._over import Over
from ._pattern import Node, NodeLike, Pattern, Servable


class Chain(Pattern):
    """Steps one after the other on one state.

    Args:
        name: The chain's name.
        steps: Functions, `step`, `Ask` or patterns; their names are unique.
        state: A pydantic model for the state instead of a plain `State`.
        types: Types of single keys of a plain state.
        version: Declared version of the definition.
        companions: Workflows whose runs its steps start, see `StepContext.child`.
        lifespan: Opens what its steps find as ``context.resources``, see `Pattern.lifespan`.

    Raises:
        DefinitionError: No steps, two of one name, or one that is no step.
    """

    kind = "chain"

    def __init__(
        self,
        name: str,
        steps: Sequence[NodeLike],
        *,
        state: type[BaseModel] | None = None,
        types: Mapping[str, Any] | None = None,
        version: int = 1,
        companions: Sequence[Servable] = (),
        lifespan: Lifespan | None = None,
    ) -> None:
        super().__init__(name, state=state, types=types, version=version, companions=companions, lifespan=lifespan)
        self._children: dict[str, Node] = {}
        for part in listed(f"chain {name!r}", "what comes after the name", steps):
            child = self.part(part)
            if child.name in self._children:
                raise DefinitionError(
                    f"chain {name!r}",
                    f'two steps are named {child.name!r}: rename one with step("name", function) or name=',
                )
            self._children[child.name] = child
        if not self._children:
            raise DefinitionError(f"chain {name!r}", "it has no steps: give at least one")

    @staticmethod
    def fold(
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
    ) -> Fold:
        """A chain of one worker: applied to one item after the other, each time on the state as it is by then.

        The items are taken once and frozen. The state is saved after each, together with how many are done, so a
        crash repeats at most one. What `Parallel` does at once, this does in order.

        Args:
            name: Its name.
            worker: ``(state, item)`` or ``(state, item, context)``; it returns what a step returns. The annotation of
                `item` gives the type of the items.
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
        return Fold(
            name,
            worker,
            over=over,
            inline=inline,
            timeout=timeout,
            retry=retry,
            state=state,
            types=types,
            version=version,
        )

    @property
    def root_path(self) -> str:
        return ""  # its steps are the places

    @property
    def children(self) -> Mapping[str, Node]:
        return self._children

    def compile(self, builder: Builder) -> str:
        entry = builder.after
        for name in reversed(self._children):
            entry = builder.child(name, entry)
        assert entry is not None  # noqa: S101  # there is at least one step
        return entry

    def failed(self, child: str, cause: BaseException, *, state: Any, trail: Sequence[str]) -> ChainError:  # noqa: ARG002  # the pattern's signature
        index, _ = self.order(child)
        return ChainError(self.name, child, cause, index=index, state=state)

    def order(self, child: str) -> tuple[int, int]:
        """Position of a step and how many there are."""
        return tuple(self._children).index(child), len(self._children)
