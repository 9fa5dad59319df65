"""Many at once: one worker on many items, or different steps on one state."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from stagepost.checkpoint import PLAIN, Codec, codec_for
from stagepost.hub import Hub, Observer, check_name

from .._arguments import flag, from_one, key_or_function, state_key
from .._pattern_errors import describe
from .._plans._plan import Done, FanOutPlace, Plan, Target
from .._steps._step import Step
from .._values._schema import PlainSchema
from .._values._secrets import Given
from .._values._state import Stored, Types
from .._values._types import codec_of
from ..errors import DefinitionError, ParallelError
from ._builder import Builder
from ._joins import ByKey, InOrder, Join, Key, Merge, Merged, Union
from ._nesting import check_nesting
from ._over import Over, take
from ._pattern import Node, NodeLike, Pattern, as_worker

if TYPE_CHECKING:
    from ._config import ParallelConfig

_WORKER_CAP = 16
_ITEM = "item"


class Parallel(Pattern):
    """One worker on many items at once, or several branches on one state. Each outcome is saved as it is made.

    The items are taken once and frozen. A worker awaits the commit of its item before it takes the next, so a crash
    repeats at most as many items as there are workers. Without `failures` the first item that fails fails the whole and
    cancels the items under way; with it the failures are collected, and the values are those of the items that went
    well. If none did, that is a failure all the same, unless `may_all_fail` says otherwise; no items are no failure.

    ``Parallel("checks", {"credit": check_credit, "stock": check_stock})`` runs different steps or patterns at once,
    each on the state; what they write is merged, and a key that two of them write is a `MergeConflict`.

    Args:
        name: The pattern's name.
        worker: A function of ``(item)`` or ``(item, context)``, an `Ask`, or a pattern. A pattern works on the state
            plus the key ``item``, and its value is a dict of what its steps wrote. Or branches by name.
        over: Key of the state that holds the items, or a function of the state that returns them. Not for branches.
        into: Key of the state for the values; by default the pattern's name.
        key: Makes the values a dict by this key, attribute or function of each item, instead of a list in their order.
        merge: ``(state, values)``, sync; what it returns updates the state like a step's result. Instead of `into`.
        failures: Key of the state for a list of ``{"index", "item", "error"}``, one per failed item.
        may_all_fail: With `failures`: go on although every item has failed, with no values. By default that raises.
        workers: How many at once; by default twice the number of CPUs, up to `worker_cap`. Branches all run at once.
        worker_cap: The largest number of workers that is chosen automatically; by default 16.
        config: `workers` and `worker_cap` from configuration.
        state: A pydantic model for the state instead of a plain `State`.
        types: Types of single keys of a plain state.
        version: Declared version of the definition.

    Raises:
        DefinitionError: Options that do not go together, or a number of workers or a cap below 1.
    """

    kind = "parallel"
    enough: int | None = None  # all of them

    def __init__(
        self,
        name: str,
        worker: NodeLike | Mapping[str, NodeLike],
        *,
        over: Over | None = None,
        into: str | None = None,
        key: Key | None = None,
        merge: Merge | None = None,
        failures: str | None = None,
        may_all_fail: bool = False,
        workers: int | None = None,
        worker_cap: int | None = None,
        config: "ParallelConfig | None" = None,
        state: type[BaseModel] | None = None,
        types: Mapping[str, Any] | None = None,
        version: int = 1,
    ) -> None:
        super().__init__(name, state=state, types=types, version=version)
        options = {"over": over, "into": into, "key": key, "merge": merge}
        self.failures = failures
        self.may_all_fail = may_all_fail
        self._over = over
        self._workers, self._worker_cap = self._limits(workers, worker_cap, config)
        self._worker: Node | None = None
        self._branches: dict[str, Node] = {}
        self.item_codec: Codec[Any] = PLAIN
        self.value_codec: Codec[Any] = PLAIN
        self.item_key: str | None = None
        if isinstance(worker, Mapping):
            self._take_branches(worker, options)
        else:
            self._take_worker(as_worker(worker), options)
        self._check_options(options)
        self.gathers = None if merge is not None or self._branches else into or name
        self._join = self._make_join(key, merge)

    @property
    def children(self) -> Mapping[str, Node]:
        return self._branches  # a worker on items has a state of its own

    @property
    def parts(self) -> Sequence[Node]:
        return (*self._branches.values(), *([] if self._worker is None else [self._worker]))

    @property
    def types(self) -> Types:
        if self.gathers is None or not isinstance(self._worker, Step) or codec_of(self._worker.gives) is None:
            return super().types
        gives = self._worker.gives
        kind = dict[str, gives] if isinstance(self._join, ByKey) else list[gives]  # type: ignore[valid-type]  # made at run time
        return {**self._types, self.gathers: codec_for(kind)}

    @property
    def stored_keys(self) -> frozenset[str]:
        return super().stored_keys | {key for key in (self.gathers, self.failures) if key is not None}

    def compile(self, builder: Builder) -> str:
        workers: list[Step | Plan]
        workers = [builder.branch(name) for name in self._branches]
        if self._worker is not None:
            if self._over is None:
                raise DefinitionError(self._where, "nothing says what its items are: give over=, or call map(items)")
            workers = [self._compile_worker(builder, self._worker)]
        names = tuple(self._branches)
        return builder.plan.add(FanOutPlace(builder.own_path, builder.own_level, self, workers, builder.after, names))

    def failed(self, child: str, cause: BaseException, *, state: Any, trail: Sequence[str]) -> ParallelError:  # noqa: ARG002  # the pattern's signature
        return ParallelError(self.name, f"its items could not be had: {describe(cause)}", state=state)

    async def map(
        self,
        items: Iterable[Any],
        *,
        hub: Hub | None = None,
        deps: Any = None,
        observer: Observer | None = None,
        secrets: Given | None = None,
    ) -> Any:
        """Run the worker on some items in memory, without a state around it.

        Args:
            items: What to work on, instead of what `over` gives.
            hub: Where agents are asked.
            deps: Given to workers as ``context.deps``.
            observer: Gets the run's events.
            secrets: Given to workers as ``context.secrets``.

        Returns:
            The values: a list in the order of the items, or a dict if the pattern has a `key`.

        Raises:
            DefinitionError: The pattern has branches or a `merge`, which need a state.
            ParallelError: An item failed; all of them, if the pattern collects failures.
        """
        if self._worker is None or isinstance(self._join, Merged):
            raise DefinitionError(self._where, "map() needs a worker on items and no merge=: use run(state)")
        found = list(items)
        key = self._join.key if isinstance(self._join, ByKey) else None
        alone = Parallel(
            self.name,
            self._worker,
            over=lambda _state: found,
            into="values",
            key=key,
            failures=self.failures,
            may_all_fail=self.may_all_fail,
            workers=self._workers,
            worker_cap=self._worker_cap,
        )
        state = await alone.run(hub=hub, deps=deps, observer=observer, secrets=secrets)
        return state["values"]

    def items(self, state: Any) -> Sequence[Any]:
        """The items of a state.

        Raises:
            TypeError: What `over` gives is no list of items, or a key no text.
            ValueError: Two items have one key.
        """
        if self._branches:
            return tuple(self._branches)
        found = take(self._over or "", state)
        if isinstance(self._join, ByKey):
            self._join.check([self.item_codec.convert(item, f"{self.name}[{i}]") for i, item in enumerate(found)])
        return found

    def join(self, target: Target, done: Sequence[Done]) -> dict[str, Stored]:
        """What the items that went well change in the state."""
        return self._join(target, done)

    def width(self, count: int) -> int:
        """How many workers run at once."""
        wanted = self._workers or (count if self._branches else min(2 * (os.cpu_count() or 1), self._worker_cap))
        return min(wanted, count)

    @property
    def _where(self) -> str:
        return f"parallel {self.name!r}"

    def _take_worker(self, worker: Node, options: Mapping[str, object]) -> None:
        if options["merge"] is not None and (options["into"] is not None or options["key"] is not None):
            raise DefinitionError(self._where, "merge= says itself where the values go: leave into= and key= away")
        self._worker = worker
        if isinstance(worker, Pattern):
            check_nesting(self, worker)
        if isinstance(worker, Step):
            self.item_codec = codec_of(worker.takes) or PLAIN
            self.value_codec = codec_of(worker.gives) or PLAIN
        else:
            self.item_codec = worker.types.get(_ITEM, PLAIN)
            self.item_key = _ITEM

    def _take_branches(self, branches: Mapping[str, NodeLike], options: Mapping[str, object]) -> None:
        given = [name for name, value in options.items() if value is not None]
        if given:
            raise DefinitionError(self._where, f"{given[0]}= is for a worker on items, and this has branches")
        if not branches:
            raise DefinitionError(self._where, "it has no branches: give at least one")
        for name, part in branches.items():
            self._branches[check_name("branch name", name)] = self.part(part)

    def _limits(
        self, workers: int | None, worker_cap: int | None, config: "ParallelConfig | None"
    ) -> tuple[int | None, int]:
        """The number of workers, if it is fixed, and the largest one that is chosen automatically."""
        for name, number in (("workers", workers), ("worker_cap", worker_cap)):
            if number is not None and config is not None:
                raise DefinitionError(self._where, f"{name}= is in config=, too: give one of them")
            from_one(self._where, name, number, "the default")
        if config is not None:
            if not (hasattr(config, "workers") and hasattr(config, "worker_cap")):
                raise DefinitionError(self._where, f"config={config!r:.80}: give a ParallelConfig")
            return config.workers, config.worker_cap
        return workers, _WORKER_CAP if worker_cap is None else worker_cap

    def _check_options(self, options: Mapping[str, object]) -> None:
        flag(self._where, "may_all_fail", self.may_all_fail)
        key_or_function(self._where, "over", options["over"])
        key_or_function(self._where, "key", options["key"])
        state_key(self._where, "into", options["into"])
        state_key(self._where, "failures", self.failures)
        if options["merge"] is not None and not callable(options["merge"]):
            raise DefinitionError(self._where, f"merge={options['merge']!r:.80}: give a function of (state, values)")
        if self.may_all_fail and self.failures is None:
            why = "may_all_fail= is for failures that are collected: give failures= too, or leave it out"
            raise DefinitionError(self._where, why)
        if self.failures is not None and self.failures == (options["into"] or self.name):
            raise DefinitionError(self._where, f"values and failures both go into {self.failures!r}: rename one")

    def _make_join(self, key: Key | None, merge: Merge | None) -> Join:
        if self._branches:
            return Union(tuple(self._branches))
        if merge is not None:
            return Merged(merge, self.value_codec)
        into = self.gathers or self.name
        return InOrder(into) if key is None else ByKey(into, key, self.item_codec)

    def _compile_worker(self, builder: Builder, worker: Node) -> Step | Plan:
        schema = builder.plan.schema
        inherited = schema.types if isinstance(schema, PlainSchema) else {}
        return worker if isinstance(worker, Step) else worker.compile_alone(inherited)
