"""What is changed in requests on their way, because litellm has no word for it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from pydantic_core import from_json, to_json

from stagepost._dataclasses import dataclass

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Edits:
    """Changes of one request.

    Attributes:
        failed: Ids of the calls that went wrong, to be marked for those who have a mark for it.
        contents: What stands for answers in what litellm was told, and their contents as their provider has written
            them.
    """

    failed: Collection[str]
    contents: Mapping[str, Sequence[Json]]

    def apply(self, body: bytes) -> bytes:
        """A request with the changes; the same object if there are none."""
        if not self.failed and not self.contents:
            return body
        try:
            said = from_json(body)
        except ValueError:
            return body
        if not isinstance(said, dict):
            return body
        changed = self._flag_errors(said)
        if self.contents:
            changed = self._put_back(said) or changed
        return to_json(said) if changed else body

    def _flag_errors(self, said: Json) -> bool:
        """Mark results of Anthropic's that are errors."""
        failed = [result for result in _results(said) if result.get("tool_use_id") in self.failed]
        for result in failed:
            result["is_error"] = True
        return bool(failed)

    def _put_back(self, said: Json) -> bool:
        """Put contents where their marks are: among blocks of Anthropic's, parts of Gemini's, items of OpenAI's."""
        changed = False
        for name, inner in (("messages", "content"), ("contents", "parts")):
            for message in _objects(said.get(name)):
                if isinstance(message.get(inner), str):
                    message[inner] = [{"type": "text", "text": message[inner]}]
                changed = self._spliced(message, inner) or changed
        return self._spliced(said, "input") or changed

    def _spliced(self, holder: Json, name: str) -> bool:
        found = holder.get(name)
        if not isinstance(found, list) or not any(self._content(one) is not None for one in found):
            return False
        made: list[Any] = []
        for one in found:
            content = self._content(one)
            made += [one] if content is None else content
        holder[name] = made
        return True

    def _content(self, one: Any) -> Sequence[Json] | None:
        """What a block, a part or an item stands for."""
        if not isinstance(one, Mapping):
            return None
        text = one.get("text")
        if text is None and isinstance(inner := one.get("content"), str):
            text = inner
        elif text is None and isinstance(inner, list) and len(inner) == 1 and isinstance(inner[0], Mapping):
            text = inner[0].get("text")
        return self.contents.get(text) if isinstance(text, str) else None


NO_EDITS: Final = Edits((), {})


def _results(said: Json) -> Iterator[Json]:
    for message in _objects(said.get("messages")):
        for block in _objects(message.get("content")):
            if block.get("type") == "tool_result":
                yield block


def _objects(found: Any) -> Iterator[Json]:
    return (one for one in found if isinstance(one, dict)) if isinstance(found, list) else iter(())
