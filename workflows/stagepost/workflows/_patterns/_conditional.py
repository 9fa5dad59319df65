"""One of several ways, chosen by the state."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel

from stagepost.hub import check_name

from .._steps._step import StepFunction, step
from .._values._types import item_types
from ..errors import ConditionalError, DefinitionError
from ._builder import Builder
from ._given import mapped
from ._pattern import Node, NodeLike, Pattern


class Conditional(Pattern):
    """One of several ways, chosen by a function of the state. The choice is saved before the way is taken.

    Args:
        name: The conditional's name.
        route: ``(state)`` or ``(state, context)``, sync or async, returning the name of a route.
        routes: A function, `step`, `Ask` or pattern for each route.
        default: For every other name that `route` returns; without it such a name is an error.
        state: A pydantic model for the state instead of a plain `State`.
        types: Types of single keys of a plain state.
        version: Declared version of the definition.

    Raises:
        DefinitionError: No routes, or `route` is annotated to return a `Literal` that has no route.
    """

    kind = "conditional"

    def __init__(
        self,
        name: str,
        route: StepFunction,
        routes: Mapping[str, NodeLike],
        *,
        default: NodeLike | None = None,
        state: type[BaseModel] | None = None,
        types: Mapping[str, Any] | None = None,
        version: int = 1,
    ) -> None:
        super().__init__(name, state=state, types=types, version=version)
        self._route = step(name, route, inline=True)
        self._children: dict[str, Node] = {
            check_name("route name", key): self.part(part)
            for key, part in mapped(f"conditional {name!r}", "routes", routes).items()
        }
        self._default = _DEFAULT if default is not None else None
        if default is not None:
            self._add_default(self.part(default))
        self._check_routes(route)

    @property
    def children(self) -> Mapping[str, Node]:
        return self._children

    def compile(self, builder: Builder) -> str:
        ways = {key: builder.child(key, builder.after) for key in self._children}
        return builder.choice(self._route, ways, default=self._default)

    def failed(self, child: str, cause: BaseException, *, state: Any, trail: Sequence[str]) -> ConditionalError:  # noqa: ARG002  # the pattern's signature
        return ConditionalError(self.name, child or None, cause, state=state)

    def _add_default(self, child: Node) -> None:
        if _DEFAULT in self._children:
            raise DefinitionError(f"conditional {self.name!r}", "a route 'default' stands beside default=: keep one")
        self._children[_DEFAULT] = child

    def _check_routes(self, route: StepFunction) -> None:
        if not self._children:
            raise DefinitionError(f"conditional {self.name!r}", "it has no routes: give at least one")
        _, returned = item_types(route)
        if get_origin(returned) is Literal and self._default is None:
            missing = sorted(set(map(str, get_args(returned))) - self._children.keys())
            if missing:
                raise DefinitionError(
                    f"conditional {self.name!r}",
                    f"it may return {', '.join(missing)}, and there is no such route: add it, or default=",
                )


_DEFAULT = "default"
