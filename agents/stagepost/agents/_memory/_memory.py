"""A memory as an agent is given it: the tools, and whose memories they reach."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from inspect import iscoroutinefunction
from typing import Any, Final, Literal, TypeAlias, get_args

from stagepost._dataclasses import dataclass
from stagepost.hub import check_name, describe_error

from .._models._messages import encodable
from .._tools._context import ToolContext
from .._tools._step_tool import ToolGroup
from .._tools._tool import Tool
from ..errors import InvalidTool, MemoryUnavailable
from ._tools import Forget, Keeper, MemoryTool, Recall, Remember
from ._words import Place

MemoryAction: TypeAlias = Literal["remember", "recall", "forget"]
"""What the model may do with a memory; also the names of the tools."""

_ALL: Final[tuple[MemoryAction, ...]] = get_args(MemoryAction)
_TOOLS: Final[Mapping[MemoryAction, Callable[[str, Keeper], MemoryTool]]] = {
    "remember": Remember,
    "recall": Recall,
    "forget": Forget,
}
_LONGEST: Final = 500  # characters of a scope


@dataclass(frozen=True, kw_only=True)
class Memory(ToolGroup):
    """What an agent remembers beyond its runs, in the store of its runner: an element of ``tools=``.

    ::

        clerk = Agent("clerk", "Help the customer.", model=…, tools=[Memory(label="customer")])
        await tasks.start(clerk, "I drink tea.", labels={"customer": "7"})

    The model gets the tools ``remember``, ``recall`` (full-text search) and ``forget``. Whose memories these reach, the
    *scope*, is said by the process: the model can neither name nor change it, and reaches nothing of another scope.
    Agents whose memories have one name and one scope share them, in a team, too. `Memories` is for people.

    What is remembered or forgotten is saved together with the result of the call: a crash repeats and loses nothing.

    Args:
        label: The scope is the value of this label of the run. Runs that the run starts have the same labels.
        scope: Instead of `label`: a function from the `ToolContext` of a call to the scope, such as
            ``lambda context: context.deps.tenant``; or a text, if all runs share the memories.
        name: The memory's name in the store. Memories with different names have nothing in common.
        prefix: What the names of the tools begin with, for an agent with several memories.
        allow: The tools that the model gets.
        max_length: The most characters of one memory.
        max_count: The most memories of a scope. Calls that are made at the same time by several runs may exceed it.
        max_results: The most memories that one call of ``recall`` returns.
        max_recalled: The most characters that they have together.

    Raises:
        InvalidTool: The arguments do not fit together.
        InvalidName: A name contains characters that are not allowed.
    """

    label: str | None = None
    scope: str | Callable[[ToolContext[Any]], str] | None = None
    name: str = "memory"
    prefix: str = ""
    allow: Sequence[MemoryAction] = _ALL
    max_length: int = 2_000
    max_count: int = 1_000
    max_results: int = 10
    max_recalled: int = 10_000

    def __post_init__(self) -> None:
        check_name("memory name", self.name)
        problem = self._problem()
        if problem is not None:
            raise InvalidTool(self.name, problem)

    @cached_property
    def tools(self) -> tuple[Tool[..., object], ...]:
        """The tools."""
        limits = (self.max_length, self.max_count, self.max_results, self.max_recalled)
        keeper = Keeper(self.name, self.prefix, self.place, *limits)
        return tuple(_TOOLS[action](action, keeper) for action in _ALL if action in self.allow)

    def place(self, call: ToolContext[Any]) -> Place:
        """Whose memories a call reaches.

        Raises:
            MemoryUnavailable: The process has not said.
        """
        try:
            scope = self._scope(call)
        except Exception as error:
            why = f"scope= has raised {describe_error(error)}"
            raise MemoryUnavailable(call.agent, self.name, why) from error
        if scope is None:
            why = f"the run has no label {self.label!r}: start it with labels={{{self.label!r}: …}}"
            raise MemoryUnavailable(call.agent, self.name, why)
        problem = _scope_problem(scope)
        if problem is not None:
            raise MemoryUnavailable(call.agent, self.name, f"the scope is {problem}")
        return Place(self.name, str(scope))

    def _scope(self, call: ToolContext[Any]) -> object:
        if self.label is not None:
            return call.labels.get(self.label)
        return self.scope(call) if callable(self.scope) else self.scope

    def _problem(self) -> str | None:
        if (self.label is None) == (self.scope is None):
            return "give either label=, the name of a label of runs, or scope=: the process says whose memories it has"
        return self._odd_scope() or self._odd_limits()

    def _odd_scope(self) -> str | None:
        label: object = self.label
        if label is not None:
            return None if isinstance(label, str) and label else f"label={label!r:.80} is not the name of a label"
        if iscoroutinefunction(self.scope):
            return "scope= is async: give a plain function from the ToolContext to a text"
        problem = None if callable(self.scope) else _scope_problem(self.scope)
        return None if problem is None else f"scope= is {problem}"

    def _odd_limits(self) -> str | None:
        if isinstance(self.allow, str) or not self.allow or set(self.allow) - set(_ALL):
            return f"allow={self.allow!r}: give some of {', '.join(map(repr, _ALL))}"
        limits = (self.max_length, self.max_count, self.max_results, self.max_recalled)
        if min(limits) < 1 or self.max_recalled < self.max_length:
            return "its limits are at least 1, and max_recalled= is at least max_length="
        return None


def _scope_problem(scope: object) -> str | None:
    if isinstance(scope, str) and 0 < len(scope) <= _LONGEST and "\0" not in scope and encodable(scope) == scope:
        return None
    return f"{scope!a:.80}, and has to be a text of 1 to {_LONGEST} characters"
