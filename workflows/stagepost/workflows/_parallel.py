"""One worker on many items at once."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from pydantic import BaseModel

from stagepost.checkpoint import PLAIN, Codec, codec_for

from ._pattern import Node, NodeLike, Pattern, as_node
from ._program import Builder, FanOutPlace, Program, Within
from ._schema import PlainSchema
from ._state import Types
from ._step import Step
from ._types import codec_of
from .errors import DefinitionError, ParallelError, describe

Over: TypeAlias = str | Callable[[Any], Sequence[Any]]

_MOST_WORKERS = 16


class Parallel(Pattern):
    """One worker on many items at once. Items, and each item's value as it is made, are saved.

    The items are taken once and frozen. A worker awaits the commit of its item before it takes the next, so a crash
    repeats at most as many items as there are workers. Without `failures` the first item that fails fails the whole and
    cancels the items under way; with it the failures are collected, and the values are those of the items that went
    well.

    Args:
        name: The pattern's name.
        worker: A function of ``(item)`` or ``(item, context)``, an `Ask`, or a pattern. A pattern works on the state
            plus the key ``item``, and its value is a dict of what its steps wrote.
        over: Key of the state that holds the items, or a function of the state that returns them.
        into: Key of the state for the list of values, in the order of the items; by default the pattern's name.
        failures: Key of the state for a list of ``{"index", "item", "error"}``, one per failed item.
        workers: How many at once; by default twice the number of CPUs, at most 16.
        state: A pydantic model for the state instead of a plain `State`.
        types: Types of single keys of a plain state.
        version: Declared version of the definition.

    Raises:
        DefinitionError: `workers` is less than 1, or `failures` and `into` are one key.
    """

    kind = "parallel"

    def __init__(
        self,
        name: str,
        worker: NodeLike,
        *,
        over: Over,
        into: str | None = None,
        failures: str | None = None,
        workers: int | None = None,
        state: type[BaseModel] | None = None,
        types: Mapping[str, Any] | None = None,
        version: int = 1,
    ) -> None:
        super().__init__(name, state=state, types=types, version=version)
        self.worker = as_node(worker)
        self.into = name if into is None else into
        self.failures = failures
        self._over = over
        self._workers = workers
        if workers is not None and workers < 1:
            raise DefinitionError(f"parallel {name!r}", f"workers={workers}: give at least 1, or None for the default")
        if self.into == failures:
            raise DefinitionError(f"parallel {name!r}", f"values and failures both go into {failures!r}: rename one")
        self.item_codec = self._item_codec()
        self.value_codec: Codec[Any] = PLAIN
        if isinstance(self.worker, Step):
            self.value_codec = codec_of(self.worker.gives) or PLAIN

    @property
    def root_path(self) -> str:
        return self.name

    @property
    def children(self) -> Mapping[str, Node]:
        return {}  # the worker has a state of its own

    @property
    def types(self) -> Types:
        worker = self.worker
        if isinstance(worker, Step) and codec_of(worker.gives) is not None:
            return {**self._types, self.into: codec_for(list[worker.gives])}  # type: ignore[name-defined]  # a type made at run time
        return self._types

    @property
    def stored_keys(self) -> frozenset[str]:
        return frozenset({self.into} | ({self.failures} if self.failures else set()))

    def compile(self, builder: Builder, path: str, after: str | None, within: Within) -> str:
        inherited = builder.schema.types if isinstance(builder.schema, PlainSchema) else {}
        worker: Step | Program
        worker = self.worker if isinstance(self.worker, Step) else self.worker.compile_alone(inherited)
        return builder.add(FanOutPlace(path, within.inside(self, ""), self, worker, after))

    def failed(self, child: str, cause: BaseException, *, state: Any, trail: Sequence[str]) -> ParallelError:  # noqa: ARG002  # the pattern's signature
        return ParallelError(self.name, f"its items could not be had: {describe(cause)}", state=state)

    def items(self, state: Any) -> Sequence[Any]:
        """The items of a state.

        Raises:
            TypeError: What `over` gives is no list of items.
        """
        found = self._over(state) if callable(self._over) else _read(state, self._over)
        if isinstance(found, str | bytes | Mapping) or not isinstance(found, Sequence):
            raise TypeError(f"over= must give a list of items, not {type(found).__name__}")
        return found

    def width(self, count: int) -> int:
        """How many workers run at once."""
        wanted = self._workers or min(2 * (os.cpu_count() or 1), _MOST_WORKERS)
        return min(wanted, count)

    def _item_codec(self) -> Codec[Any]:
        if isinstance(self.worker, Step):
            return codec_of(self.worker.takes) or PLAIN
        return self.worker.types.get("item", PLAIN)


def _read(state: Any, key: str) -> Any:
    return getattr(state, key) if isinstance(state, BaseModel) else state[key]
