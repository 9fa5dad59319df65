"""Sets of tools that depend on the run and the turn."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from inspect import isawaitable
from typing import Any, Final, Generic, NamedTuple, TypeAlias

from pydantic import BaseModel
from typing_extensions import TypeVar

from stagepost._dataclasses import dataclass
from stagepost.hub import check_name, describe_error
from stagepost.workflows import own_failure

from .._models._messages import ChatMessage
from ..errors import InvalidTool, ToolsetFailed
from ._globs import matches, read_globs
from ._tool import Tool, ToolLike, as_tool

DepsT_co = TypeVar("DepsT_co", covariant=True, default=Any)

_LONGEST: Final = 64  # characters of a name that every provider takes


@dataclass(frozen=True)  # no slots: frozen, they would refuse ToolsetContext[Pool](…)
class ToolsetContext(Generic[DepsT_co]):
    """What a toolset may know of the turn that it gives tools for.

    It is the same whenever the tools of one turn are asked for, also after a crash. Annotate the parameter as
    ``ToolsetContext[Pool]`` if deps are a ``Pool``.

    Attributes:
        run_id: The run. Runs in memory have one too.
        agent: Name of the agent.
        path: Names of the agents from the root to this one.
        turn: Number of the answer that may call the tools, from 1. If a run continues another one, so does the number.
        messages: The transcript that the answer is given to, without the prompt.
        fields: The fields of the request; None if it was a text.
        deps: What the process passed to the runner or to ``run``; never stored.
    """

    run_id: str
    agent: str
    path: Sequence[str]
    turn: int
    messages: Sequence[ChatMessage]
    fields: BaseModel | None
    deps: DepsT_co


class Offered(NamedTuple):
    """The tools of one turn.

    Attributes:
        shown: Those that the model sees.
        hidden: Those that it sees once it has found them.
    """

    shown: Sequence[Tool[..., object]]
    hidden: Sequence[Tool[..., object]] = ()


Given: TypeAlias = Iterable[ToolLike]
ToolsFunction: TypeAlias = Callable[[ToolsetContext[Any]], Given | Awaitable[Given]]
"""Gives the tools of a turn, sync or async. A sync one runs in the event loop and must not block."""


class Toolset(ABC):
    """A set of tools that depends on the run and the turn, for ``Agent(tools=[…])``; also made by `toolset`.

    A subclass has the method `tools`. It is called for each turn, and again after a crash or a wait for a turn whose
    calls are not all made. A call of a tool that is not there any more is an error that the model is told.

    Attributes:
        name: Its name, for errors.
    """

    name: str = ""

    @abstractmethod
    def tools(self, context: ToolsetContext[Any], /) -> Given | Awaitable[Given]:
        """The tools of a turn: tools, or functions that become tools. May be async.

        What is no single tool, or brings an agent (`AgentTool`, `LLMTool`, `handoff`), belongs to the agent itself.

        Args:
            context: What is known of the run and the turn.
        """

    async def offered(self, context: ToolsetContext[Any]) -> Offered:
        """The tools of a turn, those included that the model has to search for.

        Raises:
            ToolsetFailed: They could not be had.
            InvalidTool: One of them is no tool.
        """
        try:
            given: object = self.tools(context)
            given = await given if isawaitable(given) else given
        except BaseException as error:  # noqa: BLE001  # what is no failure is raised again
            failure = own_failure(error)
            raise ToolsetFailed(_name_of(self), describe_error(failure)) from failure
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise ToolsetFailed(_name_of(self), f"it returned {type(given).__name__}, not a list of tools")
        return Offered(tuple(_tool(_name_of(self), each) for each in given))

    def filtered(
        self,
        *,
        include: Iterable[str] = ("*",),
        exclude: Iterable[str] = (),
        when: "Callable[[ToolsetContext[Any], Tool[..., object]], bool] | None" = None,
    ) -> "Toolset":
        """The same set with fewer tools.

        Args:
            include: Shell patterns of the names of those that are left in.
            exclude: Shell patterns of the names of those that are left out.
            when: Says for each turn whether a tool is left in.
        """
        return _Filtered(self, read_globs("include", include), read_globs("exclude", exclude), when)

    def prefixed(self, prefix: str) -> "Toolset":
        """The same set with a prefix before each name, such as ``"crm_"``.

        Raises:
            InvalidName: The prefix contains characters that are not allowed.
        """
        return _Prefixed(self, check_name("tool prefix", prefix))

    def searched(self, *, shown: Iterable[str] = (), above: int = 20) -> "Toolset":
        """The same set for models that would see too many tools: they see a short list, and search for the others.

        The model gets the tool ``search_tools``, one for all such sets of an agent. What it has found is offered from
        its next turn on, for the rest of the run, also after a crash, and in runs that continue this one.

        Args:
            shown: Shell patterns of the names of tools that are always offered.
            above: If there are not more tools than this, all are offered.
        """
        return _Searched(self, read_globs("shown", shown), above)


class _OfFunction(Toolset):
    def __init__(self, name: str, function: ToolsFunction) -> None:
        self.name = name
        self._function = function

    def tools(self, context: ToolsetContext[Any], /) -> Given | Awaitable[Given]:
        return self._function(context)


class _Fixed(Toolset):
    def __init__(self, name: str, tools: Sequence[Tool[..., object]]) -> None:
        self.name = name
        self._tools = tools

    def tools(self, _context: ToolsetContext[Any], /) -> Given:
        return self._tools


class _Composed(Toolset):
    """A set made of others, some of whose tools may be hidden."""

    @abstractmethod
    async def offered(self, context: ToolsetContext[Any]) -> Offered: ...

    async def tools(self, context: ToolsetContext[Any], /) -> Given:
        return (await self.offered(context)).shown


class _Around(_Composed):
    """A set made of another one."""

    def __init__(self, inner: Toolset) -> None:
        self.name = _name_of(inner)
        self._inner = inner


class _Filtered(_Around):
    def __init__(
        self,
        inner: Toolset,
        include: Sequence[str],
        exclude: Sequence[str],
        when: Callable[[ToolsetContext[Any], Tool[..., object]], bool] | None,
    ) -> None:
        super().__init__(inner)
        self._include, self._exclude, self._when = include, exclude, when

    async def offered(self, context: ToolsetContext[Any]) -> Offered:
        shown, hidden = await self._inner.offered(context)
        return Offered(
            tuple(tool for tool in shown if self._keeps(tool, context)),
            tuple(tool for tool in hidden if self._keeps(tool, context)),
        )

    def _keeps(self, tool: Tool[..., object], context: ToolsetContext[Any]) -> bool:
        if not matches(tool.name, self._include) or matches(tool.name, self._exclude):
            return False
        try:
            return self._when is None or bool(self._when(context, tool))
        except BaseException as error:  # noqa: BLE001  # what is no failure is raised again
            failure = own_failure(error)
            raise ToolsetFailed(self.name, f"when= has raised {describe_error(failure)}") from failure


class _Prefixed(_Around):
    def __init__(self, inner: Toolset, prefix: str) -> None:
        super().__init__(inner)
        self._prefix = prefix

    async def offered(self, context: ToolsetContext[Any]) -> Offered:
        shown, hidden = await self._inner.offered(context)
        return Offered(tuple(map(self._renamed, shown)), tuple(map(self._renamed, hidden)))

    def _renamed(self, tool: Tool[..., object]) -> Tool[..., object]:
        name = f"{self._prefix}{tool.name}"
        if len(name) > _LONGEST:
            raise InvalidTool(name, f"with its prefix its name has more than {_LONGEST} characters: use a shorter one")
        return replace(tool, name=name)


class _Searched(_Around):
    def __init__(self, inner: Toolset, shown: Sequence[str], above: int) -> None:
        super().__init__(inner)
        self._shown, self._above = shown, above

    async def offered(self, context: ToolsetContext[Any]) -> Offered:
        shown, hidden = await self._inner.offered(context)
        if len(shown) + len(hidden) <= self._above:
            return Offered((*shown, *hidden))
        return Offered(
            tuple(tool for tool in shown if matches(tool.name, self._shown)),
            (*(tool for tool in shown if not matches(tool.name, self._shown)), *hidden),
        )


class _Combined(_Composed):
    def __init__(self, name: str, sets: Sequence[Toolset]) -> None:
        self.name = name
        self._sets = sets

    async def offered(self, context: ToolsetContext[Any]) -> Offered:
        offers = [await each.offered(context) for each in self._sets]
        return Offered(
            tuple(tool for offer in offers for tool in offer.shown),
            tuple(tool for offer in offers for tool in offer.hidden),
        )


def toolset(given: "ToolsFunction | Iterable[ToolLike | Toolset]", /, *, name: str | None = None) -> Toolset:
    """Make a toolset: of a function, also as ``@toolset``, or of a list of tools and toolsets.

    ::

        @toolset
        async def crm(context: ToolsetContext[Account]) -> list[Tool]:
            return [read_contact, write_contact] if context.deps.may_write else [read_contact]

        agent = Agent("sales", "…", tools=[crm.prefixed("crm_"), toolset(hundreds).searched()])

    Args:
        given: A function that gives the tools of a turn from a `ToolsetContext`, sync or async. Or a list.
        name: Its name, for errors; by default that of the function.

    Raises:
        InvalidTool: Something in the list can be no tool of a set.
    """
    if callable(given):
        return _OfFunction(name or str(getattr(given, "__name__", type(given).__name__)), given)
    own = name or "toolset"
    parts = tuple(each if isinstance(each, Toolset) else _tool(own, each) for each in given)
    sets = [each if isinstance(each, Toolset) else _Fixed(own, [each]) for each in parts]
    return _Combined(own, sets)


def _tool(toolset: str, given: object) -> Tool[..., object]:
    if isinstance(given, Toolset) or not callable(given):
        why = f"toolset {toolset!r} gives it, and it is neither a tool nor a function"
        raise InvalidTool(repr(given)[:80], f"{why}; memories, MCP servers and tools of the provider are for tools=[…]")
    tool = as_tool(given)
    if tool.brings_agent:
        why = f"toolset {toolset!r} gives it, and it brings an agent: give it to the agent itself, tools=[…]"
        raise InvalidTool(tool.name, why)
    return tool


def _name_of(toolset: Toolset) -> str:
    return toolset.name or type(toolset).__name__
