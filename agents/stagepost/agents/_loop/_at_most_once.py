"""Making a call with effects at most once, whatever becomes of processes; see `_one_call` for the rules."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic_core import to_json

from stagepost._dataclasses import dataclass
from stagepost.workflows import StepContext

from .._delegation._calls import PendingCall
from .._models._parts import Part
from .._tools._returned import Json, ToolResult
from .._tools._tool import Tool
from ._beginning import call_key, is_first, mark
from ._keeping import keepable

_OPTIONAL: Final = frozenset({"parts", "is_json"})
_PARTS: Final = TypeAdapter[tuple[Part, ...]](tuple[Part, ...])


@dataclass(frozen=True, slots=True)
class AtMostOnce:
    """Makes one call, or one of its parts after the other.

    Attributes:
        tool: The tool.
        entry: The pending call.
        context: The step that makes it.
        shown: Gives what people see of the call.
    """

    tool: Tool[..., object]
    entry: PendingCall
    context: StepContext
    shown: Callable[[], Mapping[str, object]]

    async def __call__(
        self, make: Callable[[], Awaitable[ToolResult]], *, part: int = 0, is_begun: bool = False
    ) -> ToolResult:
        """The result; or that nobody knows it, because an earlier process has begun to make it.

        Args:
            make: Makes it.
            part: Number of the part.
            is_begun: Whether an earlier process has begun it, although nothing says so.
        """
        if self.tool.on_unknown == "park":
            await self._mark(part, is_begun=is_begun)
            return await self._kept(make, part)
        if self.context.is_durable and (is_begun or not await self._is_first(part)):  # in memory nobody was before
            return interrupted(self.tool.name)
        return await make()

    async def _is_first(self, part: int) -> bool:
        return await (self.context.first(self._key(part)) if part else is_first(self.entry, self.context))

    async def _mark(self, part: int, *, is_begun: bool) -> None:
        """Record for `StepContext.once` that an earlier process has begun it."""
        if not part:
            await mark(self.entry, self.context)
        elif is_begun and not self.context.noted(f"lost-{self._key(part)}"):  # later a person has said what to do
            await self.context.first(self._key(part))
            await self.context.note(f"lost-{self._key(part)}", value=True)

    async def _kept(self, make: Callable[[], Awaitable[ToolResult]], part: int) -> ToolResult:
        """The result; if nobody knows whether the call was made, the run waits until somebody says."""

        async def effect() -> dict[str, object]:
            result = keepable(await make(), self.context)
            parts = [part.model_dump(mode="json") for part in result.parts]
            more = {"parts": parts, "is_json": isinstance(result.text, Json)}
            told = {name: value for name, value in more.items() if value}
            return {"tool_result": result.text, "is_error": result.is_error, **told}

        value: Any = await self.context.once(self._key(part), effect, show=self.shown())  # or what a person has said
        if isinstance(value, Mapping) and value.keys() - _OPTIONAL == {"tool_result", "is_error"}:
            parts = _PARTS.validate_python(value.get("parts", ()))
            text = Json(value["tool_result"]) if value.get("is_json") else value["tool_result"]
            return ToolResult(text, value["is_error"], parts)
        if isinstance(value, str):
            return ToolResult(value)
        return ToolResult(Json(to_json(value).decode()))

    def _key(self, part: int) -> str:
        key = call_key(self.entry)
        return f"{key}-{part}" if part else key


def interrupted(tool: str) -> ToolResult:
    """The result of a call of which nobody knows whether it was made."""
    return ToolResult(
        f"interrupted, outcome unknown: the process ended while {tool} was called. "
        "It may or may not have taken effect, and has not been called again.",
        is_error=True,
    )
