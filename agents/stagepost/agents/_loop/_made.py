"""Results of tool calls, as a run stores them until all calls of an answer are made."""

from collections.abc import Iterable, Mapping
from operator import not_
from typing import Annotated, Any, Final

from pydantic import Field

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import TypedCodec

from .._delegation._calls import Aside, PendingCall, Talk
from .._delegation._records import Changes
from .._delegation._state import RunState
from .._models._messages import ToolMessage
from .._models._parts import Part
from .._tools._invoking import ToolResult
from .._tools._returned import Json


def _is_nothing(value: Any) -> bool:
    return value is None or value == ()


@dataclass(frozen=True, slots=True)
class MadeCall:
    """The result of a call, or why it was not made.

    Attributes:
        index: Its place among the calls of the answer.
        call_id: The model's name for it.
        tool: The tool's name.
        text: The text for the model.
        is_error: Whether something went wrong.
        nested: What child runs have used for it, see `Aside`.
        talk: The conversation after the call, see `Aside`.
        parts: Pictures, sounds and files of the result.
        found: Names of the tools that it has found, see `Aside`.
        handoff: Who has the run from now on, see `Aside`.
        is_json: Whether the text is JSON that a program is given.
    """

    index: int
    call_id: str
    tool: str
    text: str
    is_error: bool
    nested: Annotated[Mapping[str, Mapping[str, Any]] | None, Field(exclude_if=_is_nothing)] = None
    talk: Annotated[tuple[str, Talk] | None, Field(exclude_if=_is_nothing)] = None
    parts: Annotated[tuple[Part, ...], Field(exclude_if=_is_nothing)] = ()
    found: Annotated[tuple[str, ...], Field(exclude_if=_is_nothing)] = ()
    handoff: Annotated[Mapping[str, str] | None, Field(exclude_if=_is_nothing)] = None
    is_json: Annotated[bool, Field(exclude_if=not_)] = False

    @classmethod
    def of(cls, pending: PendingCall, result: ToolResult, aside: Aside, *, keeps_json: bool = False) -> "MadeCall":
        """A call, its result, and what the run has to know beside that; see `result_message`."""
        text, parts = result.text, tuple(result.parts)
        return cls(
            index=pending.position,
            call_id=pending.id,
            tool=pending.name,
            text=text,
            is_error=result.is_error,
            nested=aside.nested,
            talk=aside.talk,
            parts=parts,
            found=aside.found,
            handoff=aside.handoff,
            is_json=keeps_json and isinstance(text, Json),
        )

    @property
    def message(self) -> ToolMessage:
        """What the transcript says of it."""
        text = Json(self.text) if self.is_json else self.text
        return result_message(self.call_id, self.tool, ToolResult(text, self.is_error, self.parts), keeps_json=True)

    @property
    def aside(self) -> Aside:
        """What the run has to know of it beside that."""
        return Aside(self.nested, self.talk, self.found, self.handoff)


MADE: Final = TypedCodec(tuple[MadeCall, ...], immutable=True, verify=False)  # made by us, of texts and numbers


def result_message(call_id: str, tool: str, result: ToolResult, *, keeps_json: bool) -> ToolMessage:
    """A result as the transcript keeps it.

    Args:
        call_id: The model's id of the call.
        tool: The tool's name.
        result: The result.
        keeps_json: Whether to say that the text is JSON, if it is: for programs, as models read texts.
    """
    is_json = keeps_json and isinstance(result.text, Json)
    if not result.parts and not is_json:
        return ToolMessage(call_id=call_id, tool=tool, text=result.text, is_error=result.is_error)
    parts = tuple(result.parts)
    return ToolMessage(
        call_id=call_id, tool=tool, text=result.text, is_error=result.is_error, parts=parts, is_json=is_json
    )


def in_order(state: RunState, lanes: Iterable[Iterable[MadeCall]]) -> Changes:
    """What calls that were made at once change in the state: the results stand in the order of the calls."""
    done = sorted((made for lane in lanes for made in lane), key=lambda made: made.index)
    return state.with_results([made.message for made in done], [made.aside for made in done])
