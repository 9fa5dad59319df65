"""Where in a workflow a step failed: each enclosing pattern adds its own error."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from stagepost._dataclasses import dataclass

from ._root_error import WorkflowError

_name_of: Final = vars(type)["__name__"].__get__


class MaskedError(WorkflowError):
    """Stands for an error that would have shown a secret: its message with stars, without what led to it.

    Attributes:
        kind: Name of its class.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class PatternError(WorkflowError):
    """A step inside a pattern failed; the cause is the step's own error or that of a pattern inside.

    Attributes:
        name: The pattern's name.
        state: The state that the failing step saw. Never part of the message.
    """

    def __init__(self, message: str, *, name: str, state: Any) -> None:
        super().__init__(message)
        self.name = name
        self.state = state


class CannotGoOn(WorkflowError):
    """There is no way on in a pattern: raised by what chooses it, and told by the pattern's own error.

    Attributes:
        why: Why, and what to do about it.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def describe(error: BaseException) -> str:
    """About a cause, as text that can be stored: a pattern's own sentence, or the type and text of any other error."""
    text = text_of(error)
    if isinstance(error, PatternError | MaskedError | CannotGoOn):
        return text
    kind = kind_of(error)
    return f"{kind}: {text}" if text else kind


def kind_of(error: BaseException) -> str:
    """The name of an error's class, whatever its metaclass makes of it."""
    name: str = _name_of(type(error))
    return name


def text_of(error: BaseException) -> str:
    """What an error says; it may quote bytes that are no Unicode, as names of files do, or fail to say anything."""
    try:
        return str.encode(str(error), errors="backslashreplace").decode()
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001  # somebody else's `__str__`, about an error that is being reported already
        return "(its text could not be had)"


class ChainError(PatternError):
    """A step of a chain failed; `state` is what the steps before it have made.

    Attributes:
        step: Name of the step.
        index: Its position, from 0: as many steps have ended well.
    """

    def __init__(self, name: str, step: str, cause: BaseException, *, index: int, state: Any) -> None:
        super().__init__(f"chain {name!r} failed at step {step!r}: {describe(cause)}", name=name, state=state)
        self.step = step
        self.index = index


class FoldError(PatternError):
    """The worker of a fold failed, or its items could not be had; `state` is what the items before have made.

    Attributes:
        index: Position of the item, from 0; None if there were none yet. As many items have ended well.
        item: The item. Never part of the message.
    """

    def __init__(self, name: str, index: int | None, cause: BaseException, *, item: Any = None, state: Any) -> None:
        where = "its items could not be had" if index is None else f"at item {index}"
        super().__init__(
            f"fold {name!r} failed{':' if index is None else ''} {where}: {describe(cause)}", name=name, state=state
        )
        self.index = index
        self.item = item


class BranchError(PatternError):
    """A branch of a parallel failed.

    Attributes:
        branch: Name of the branch.
    """

    def __init__(self, name: str, cause: BaseException, *, state: Any) -> None:
        super().__init__(f"branch {name!r} failed: {describe(cause)}", name=name, state=state)
        self.branch = name


class ConditionalError(PatternError):
    """The route of a conditional could not be taken, or the step behind it failed.

    Attributes:
        route: The route that was taken; None if none was.
    """

    def __init__(self, name: str, route: str | None, cause: BaseException, *, state: Any) -> None:
        where = "at its route" if route is None else f"on route {route!r}"
        super().__init__(f"conditional {name!r} failed {where}: {describe(cause)}", name=name, state=state)
        self.route = route


class GraphError(PatternError):
    """A node of a graph failed, or the graph could not go on behind it.

    Attributes:
        node: Name of the node.
        path: Nodes visited by this process, in order, `node` last.
    """

    def __init__(self, name: str, node: str, why: str, *, path: Sequence[str], state: Any) -> None:
        super().__init__(f"graph {name!r} failed at node {node!r}: {why}", name=name, state=state)
        self.node = node
        self.path = tuple(path)


@dataclass(frozen=True, slots=True)
class ItemFailure:
    """One item that failed.

    Attributes:
        index: Its position, from 0.
        error: What its worker raised; a text if it failed before a restart.
    """

    index: int
    error: BaseException | str

    def __str__(self) -> str:
        return self.error if isinstance(self.error, str) else describe(self.error)


@dataclass(frozen=True, slots=True)
class ItemAccounts:
    """Where every item of a fan-out stands: their indexes, each in exactly one place."""

    ok: Sequence[int] = ()
    failed: Sequence[int] = ()
    cancelled: Sequence[int] = ()
    not_started: Sequence[int] = ()


class ParallelError(PatternError):
    """An item of a fan-out failed, or its items could not be had.

    Attributes:
        failures: The items that failed.
        accounts: Where every item stands.
    """

    def __init__(
        self,
        name: str,
        why: str,
        *,
        failures: Sequence[ItemFailure] = (),
        accounts: ItemAccounts | None = None,
        state: Any,
        kind: str = "parallel",
    ) -> None:
        super().__init__(f"{kind} {name!r} failed: {why}", name=name, state=state)
        self.failures = tuple(failures)
        self.accounts = accounts or ItemAccounts()

    @property
    def reasons(self) -> Mapping[str, tuple[int, ...]]:
        """Indexes of the failed items by what their errors say, the most frequent first."""
        return reasons(self.failures)


def reasons(failures: Iterable[ItemFailure]) -> dict[str, tuple[int, ...]]:
    """Indexes of failures by their texts, the most frequent first."""
    found: dict[str, tuple[int, ...]] = {}
    for failure in failures:
        found[str(failure)] = (*found.get(str(failure), ()), failure.index)
    return dict(sorted(found.items(), key=lambda reason: -len(reason[1])))
