"""Many at once: one worker on many items, or different steps on one state."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from pydantic import BaseModel

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import PLAIN, Codec, codec_for
from stagepost.hub import Hub, Observer, check_name

from .._pattern_errors import describe
from .._plans._plan import Builder, Done, FanOutPlace, Plan, Target, Within
from .._steps._step import Step
from .._values._schema import PlainSchema
from .._values._secrets import Given
from .._values._state import Stored, Types
from .._values._types import codec_of
from ..errors import BranchError, DefinitionError, ParallelError
from ._joins import ByKey, InOrder, Join, Key, Merge, Merged, Union
from ._nesting import check_nesting
from ._over import Over, take
from ._pattern import Node, NodeLike, Pattern, as_node, as_worker, compile_child

_MOST_WORKERS = 16
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
        workers: How many at once; by default twice the number of CPUs, at most 16.
        state: A pydantic model for the state instead of a plain `State`.
        types: Types of single keys of a plain state.
        version: Declared version of the definition.

    Raises:
        DefinitionError: Options that do not go together, or a number of workers below 1.
    """

    kind = "parallel"

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
        state: type[BaseModel] | None = None,
        types: Mapping[str, Any] | None = None,
        version: int = 1,
    ) -> None:
        super().__init__(name, state=state, types=types, version=version)
        options = {"over": over, "into": into, "key": key, "merge": merge}
        self.failures = failures
        self.may_all_fail = may_all_fail
        self._over = over
        self._workers = workers
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
    def root_path(self) -> str:
        return self.name

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

    def compile(self, builder: Builder, path: str, after: str | None, within: Within) -> str:
        workers: list[Step | Plan]
        workers = [self._compile_branch(builder, *branch) for branch in self._branches.items()]
        if self._worker is not None:
            if self._over is None:
                raise DefinitionError(self._where, "nothing says what its items are: give over=, or call map(items)")
            workers = [self._compile_worker(builder, self._worker)]
        place = FanOutPlace(path, within.inside(self, "", path), self, workers, after, tuple(self._branches))
        return builder.add(place)

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
        wanted = self._workers or (count if self._branches else min(2 * (os.cpu_count() or 1), _MOST_WORKERS))
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
            check_name("branch name", name)
            child = as_node(part)
            self.check_state(child)
            self._branches[name] = child

    def _check_options(self, options: Mapping[str, object]) -> None:
        if self._workers is not None and self._workers < 1:
            why = f"workers={self._workers}: give at least 1, or None for the default"
            raise DefinitionError(self._where, why)
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
        inherited = builder.schema.types if isinstance(builder.schema, PlainSchema) else {}
        return worker if isinstance(worker, Step) else worker.compile_alone(inherited)

    def _compile_branch(self, builder: Builder, name: str, branch: Node) -> Plan:
        """A plan on the same kind of state, so that the branch sees what a step in its place would see."""
        inner = Builder(builder.schema)
        path = name if isinstance(branch, Step) else branch.root_path
        within = Within().inside(_Branch(name), name, None)
        return inner.plan(compile_child(inner, branch, path, None, within))


@dataclass(frozen=True, slots=True)
class _Branch:
    """A branch as the one who says where a failure happened."""

    name: str
    kind: ClassVar[str] = "branch"

    def order(self, child: str) -> None:  # the pattern's signature
        """A branch has no parts."""

    def failed(self, child: str, cause: BaseException, *, state: Any, trail: Sequence[str]) -> BranchError:  # noqa: ARG002  # the pattern's signature
        return BranchError(self.name, cause, state=state)
