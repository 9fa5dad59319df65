"""Pictures, sounds and files in the form that litellm takes, and which of them no provider of a kind takes."""

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from .._messages import ChatMessage, ToolMessage
from .._parts import Audio, File, Image, Part
from ._provider import Api, Provider

Json = dict[str, Any]

_TEXTUAL: Final = frozenset({"application/json", "application/xml", "application/yaml", "application/x-yaml"})
_SOUNDS: Final = {"mpeg": "mp3", "x-wav": "wav", "wave": "wav", "vnd.wave": "wav", "x-m4a": "m4a"}
_TOLD_TYPE: Final = frozenset({"anthropic", "bedrock", "gemini"})  # litellm takes the media type for them, and hides it
_IN_RESULTS: Final = frozenset({"anthropic", "bedrock"})
_PDF: Final = "application/pdf"

_WEB: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_PICTURES: Final[Mapping[Api, frozenset[str]]] = {
    "anthropic": _WEB,
    "bedrock": _WEB,
    "gemini": frozenset({"image/jpeg", "image/png", "image/webp", "image/heic", "image/heif"}),
}
_NO_SOUND: Final = frozenset({"anthropic", "bedrock", "deepseek"})
_NO_FILE: Final = frozenset({"deepseek", "mistral"})  # litellm has no form of it that Mistral takes
_PDF_ONLY: Final = frozenset({"anthropic"})
_FILE_BY_ADDRESS: Final = frozenset({"anthropic", "bedrock", "gemini"})


def content(text: str, parts: Sequence[Part], provider: Provider) -> str | list[Json]:
    """What a message says, as one text or as a list."""
    if not parts:
        return text
    said = [{"type": "text", "text": text}] if text.strip() else []
    return [*said, *(_told(part, provider.api) for part in parts)]


def goes_into_result(provider: Provider) -> bool:
    """Whether a tool's result may hold more than text; if not, a message after the results has the rest."""
    return provider.api in _IN_RESULTS


def refusals(parts: Sequence[Part], provider: Provider, *, sees: bool) -> Iterator[tuple[Part, str]]:
    """The parts that a provider is known not to take, and why.

    Args:
        parts: The parts.
        provider: The provider.
        sees: Whether litellm lets the model have pictures.
    """
    for part in parts:
        why = _refused(part, provider.api, sees=sees)
        if why is not None:
            yield part, why


def shown_results(messages: Sequence[ChatMessage], provider: Provider, *, sees: bool) -> Sequence[ChatMessage]:
    """Messages whose results of tools hold only what the provider takes; of the rest they say what it is.

    The run goes on, because a tool chose the content and not the person who asked.

    Args:
        messages: What was said.
        provider: The provider.
        sees: Whether litellm lets the model have pictures.
    """
    return [
        _shown(message, provider, sees=sees) if isinstance(message, ToolMessage) and message.parts else message
        for message in messages
    ]


def _shown(result: ToolMessage, provider: Provider, *, sees: bool) -> ToolMessage:
    refused = dict(refusals(result.parts, provider, sees=sees))
    if not refused:
        return result
    hidden = [f"[{part.kind} {part.name or part.url or part.digest}: not shown to you]" for part in refused]
    parts = tuple(part for part in result.parts if part not in refused)
    return result.model_copy(update={"text": "\n".join(filter(None, [result.text, *hidden])), "parts": parts})


def _refused(part: Part, api: Api, *, sees: bool) -> str | None:
    if part.url is None and part.data is None:
        return "its bytes are not here: give it data= or url="
    match part:
        case Image():
            return _picture(part, api, sees=sees)
        case Audio():
            if api in _NO_SOUND:
                return "it takes no sounds: have them written down first"
            return "it takes sounds only as bytes: give data=" if part.url and api != "gemini" else None
        case File():
            return None if _is_text(part) else _file(part, api)


def _picture(part: Image, api: Api, *, sees: bool) -> str | None:
    if api == "deepseek" and not sees:
        return "it takes no pictures: ask a model that does"
    taken = _PICTURES.get(api)
    if taken is None or part.media_type is None or part.media_type in taken:
        return None
    return f"it takes no pictures of the type {part.media_type}, but {', '.join(sorted(taken))}"


def _file(part: File, api: Api) -> str | None:
    if api in _NO_FILE:
        return "it takes no files: give their text"
    if part.url is not None:
        return (
            None if api in _FILE_BY_ADDRESS or part.media_type in (None, _PDF) else "it takes such files only as bytes"
        )
    if api in _PDF_ONLY and part.media_type != _PDF:
        return f"it takes no files of the type {part.media_type}, but {_PDF} and texts"
    return None


def _told(part: Part, api: Api) -> Json:
    match part:
        case Image():
            return {"type": "image_url", "image_url": {"url": _address(part), **_typed(part, api)}}
        case Audio() if part.data is not None:
            kind = (part.media_type or "").rpartition("/")[2]
            sound = {"data": b64encode(part.data).decode(), "format": _SOUNDS.get(kind, kind)}
            return {"type": "input_audio", "input_audio": sound}
        case File() if part.data is not None and _is_text(part):
            return {"type": "text", "text": f"{part.name or 'File'}:\n{part.data.decode('utf-8', 'replace')}"}
        case _ if part.data is not None:
            named = {"filename": part.name or f"file.{(part.media_type or '').rpartition('/')[2]}"}
            return {"type": "file", "file": {"file_data": _address(part), **named, **_typed(part, api)}}
        case _:
            return {"type": "file", "file": {"file_id": part.url, **_typed(part, api)}}


def _address(part: Part) -> str:
    if part.data is None:
        return part.url or ""
    return f"data:{part.media_type};base64,{b64encode(part.data).decode()}"


def _typed(part: Part, api: Api) -> Json:
    return {"format": part.media_type} if part.media_type and api in _TOLD_TYPE else {}


def _is_text(part: Part) -> bool:
    """Whether a file given as bytes can be told as text, which every model takes."""
    kind = (part.media_type or "").partition(";")[0]
    return part.data is not None and (kind.startswith("text/") or kind in _TEXTUAL)
