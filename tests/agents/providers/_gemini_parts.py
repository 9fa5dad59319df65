"""Rules of Gemini's generateContent on contents and their parts."""

import re
from base64 import b64decode
from binascii import Error
from collections.abc import Iterator, Sequence
from typing import Final

from tests.agents.providers._gemini_wire import normal, parts, signs
from tests.agents.providers._rules import Json, Refused, Request, Rule

_NAME: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
_DATA: Final = ("text", "inlineData", "fileData", "functionCall", "functionResponse", "toolCall", "toolResponse")
_BESIDE: Final = ("thought", "thoughtSignature", "videoMetadata", "mediaResolution")
_CALL: Final = frozenset({"id", "name", "args"})
_RESPONSE: Final = frozenset({"id", "name", "response", "parts", "scheduling", "willContinue"})
_TYPES: Final = frozenset({
    "application/pdf",
    "image/heic",
    "image/heif",
    "image/jpeg",
    "image/png",
    "image/webp",
    "text/plain",
})  # fmt: skip


def contents_there(request: Request) -> None:
    """There is at least one content.

    Source: https://ai.google.dev/api/generate-content (request body, contents: required)
    """
    if not request.body.get("contents"):
        raise Refused("* GenerateContentRequest.contents: contents is not specified")


def roles(request: Request) -> None:
    """Contents are from ``user`` and ``model``.

    Source: https://ai.google.dev/api/caching#Content (role: must be either 'user' or 'model')
    """
    for content in normal(request)["contents"]:
        if content.get("role", "user") not in ("user", "model"):
            raise Refused("Please use a valid role: user, model.")


def parts_there(request: Request) -> None:
    """Each content has parts.

    Source: https://github.com/vercel/ai/issues/3775, https://github.com/egoist/chatwise-releases/issues/250
    """
    for number, content in enumerate(normal(request)["contents"]):
        if not content.get("parts"):
            raise Refused(f"* GenerateContentRequest.contents[{number}].parts: contents.parts must not be empty.")


def known_fields(request: Request) -> None:
    """Parts, calls and responses have no fields but their own.

    Source: https://ai.google.dev/api/caching#Part, https://ai.google.dev/api/caching#FunctionCall
    """
    for part in parts(request):
        call, response = part.body.get("functionCall") or {}, part.body.get("functionResponse") or {}
        for where, found, known in (
            (part.where, part.body, {*_DATA, *_BESIDE}),
            (f"{part.where}.function_call", call, _CALL),
            (f"{part.where}.function_response", response, _RESPONSE),
        ):
            for field in sorted(found.keys() - known):
                raise Refused(
                    f"Invalid JSON payload received. Unknown name \"{field}\" at '{where}': Cannot find field."
                )


def one_kind_of_data(request: Request) -> None:
    """A part is one thing: a text, data, a call or a response.

    Source: https://github.com/router-for-me/CLIProxyAPI/issues/1292, https://ai.google.dev/api/caching#Part (union)
    """
    for part in parts(request):
        if len(part.body.keys() & {*_DATA}) != 1:
            raise Refused(
                f"* GenerateContentRequest.{part.where}.data: required oneof field 'data' must have one "
                "initialized field"
            )


def text_not_empty(request: Request) -> None:
    """A text is not empty, unless it carries a signature.

    Source: https://github.com/glowingjade/obsidian-smart-composer/issues/218,
    https://ai.google.dev/gemini-api/docs/thought-signatures (a signature may come in a part with an empty text)
    """
    for part in parts(request):
        if part.body.get("text") == "" and "thoughtSignature" not in part.body:
            raise Refused(
                "Unable to submit request because it has an empty text parameter. "
                "Add a value to the parameter and try again."
            )


def media_types(request: Request) -> None:
    """Data are of a supported type: of images PNG, JPEG, WebP, HEIC and HEIF.

    Source: https://github.com/google-gemini/gemini-cli/issues/18057 (GIF),
    https://github.com/brianpetro/obsidian-smart-connections/issues/1238 (image/jpg),
    https://ai.google.dev/gemini-api/docs/image-understanding
    """
    for _, data in _inline(request):
        kind = data.get("mimeType", "")
        if kind not in _TYPES and not kind.startswith(("audio/", "video/")):
            raise Refused(f"Unsupported MIME type: {kind}")


def data_is_base64(request: Request) -> None:
    """Data are base64.

    Source: https://ai.google.dev/api/caching#Blob (data: a base64-encoded string)
    """
    for where, data in _inline(request):
        if not _is_base64(data.get("data") or ""):
            raise Refused(f"Invalid value at '{where}.inline_data.data' (TYPE_BYTES), Base64 decoding failed")


def _inline(request: Request) -> Iterator[tuple[str, Json]]:
    for part in parts(request):
        inner = (part.body.get("functionResponse") or {}).get("parts") or ()
        for each in (part.body, *inner):
            if "inlineData" in each:
                yield part.where, each["inlineData"]


def _is_base64(text: str) -> bool:
    try:
        return bool(b64decode(text, validate=True))
    except (Error, ValueError):
        return False


def media_in_responses(request: Request) -> None:
    """Responses of functions carry images for models from Gemini 3 on.

    Source: https://ai.google.dev/gemini-api/docs/function-calling (multimodal function responses)
    """
    for part in parts(request):
        if (part.body.get("functionResponse") or {}).get("parts") and not signs(request):
            raise Refused("Multimodal function responses are not supported by this model")


def called_names(request: Request) -> None:
    """Calls and responses name a function, in a name as functions have it.

    Source: https://github.com/langflow-ai/langflow/issues/9437, https://ai.google.dev/api/caching#FunctionCall (name)
    """
    for part in parts(request):
        for field, named in (("functionCall", "function_call"), ("functionResponse", "function_response")):
            name = (part.body.get(field) or {}).get("name") or ""
            if field in part.body and not name:
                raise Refused(f"* GenerateContentRequest.{part.where}.{named}.name: Name cannot be empty.")
            if field in part.body and _NAME.fullmatch(name) is None:
                raise Refused(f"* GenerateContentRequest.{part.where}.{named}.name: Invalid function name.")


def arguments_are_objects(request: Request) -> None:
    """The arguments of a call and what a response says are objects.

    Source: https://ai.google.dev/api/caching#FunctionCall (args: a Struct), #FunctionResponse (response: a Struct)
    """
    for part in parts(request):
        for field, inner in (("functionCall", "args"), ("functionResponse", "response")):
            value = (part.body.get(field) or {}).get(inner, {})
            if not isinstance(value, dict):
                raise Refused(f"Invalid value at '{part.where}.{inner}' (type.googleapis.com/google.protobuf.Struct)")


PARTS: Final[Sequence[Rule]] = (
    contents_there,
    roles,
    parts_there,
    known_fields,
    one_kind_of_data,
    text_not_empty,
    media_types,
    data_is_base64,
    media_in_responses,
    called_names,
    arguments_are_objects,
)
"""The rules, in the order in which they are checked."""
