"""Rules of Gemini's generateContent on how contents fit: order, calls and responses, signatures."""

from base64 import b64decode
from binascii import Error
from collections.abc import Iterator, Sequence
from typing import Final

from tests.agents.providers._gemini_wire import Part, normal, parts, signs
from tests.agents.providers._rules import Json, Refused, Request, Rule
from tests.agents.providers._seals import unhide

_SKIP: Final = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")


def calls_follow_user(request: Request) -> None:
    """A turn with calls comes after a turn of the user, or of responses.

    Source: https://github.com/google-gemini/gemini-cli/issues/26486
    """
    contents = normal(request)["contents"]
    for number, content in enumerate(contents):
        before = contents[number - 1].get("role", "user") if number else ""
        if _calls(content) and before != "user":
            raise Refused(
                "Please ensure that function call turn comes immediately after a user turn or after "
                "a function response turn."
            )


def responses_follow_calls(request: Request) -> None:
    """A turn of responses comes after a turn with calls.

    Source: https://github.com/GoogleCloudPlatform/generative-ai/pull/368
    """
    before: Json = {}
    for content in normal(request)["contents"]:
        if _responses(content) and not _calls(before):
            raise Refused("Please ensure that function response turn comes immediately after a function call turn.")
        before = content


def responses_stand_alone(request: Request) -> None:
    """A turn of responses has nothing else in it.

    Source: https://github.com/anomalyco/opencode/pull/43479
    """
    for content in normal(request)["contents"]:
        if _responses(content) and len(_responses(content)) != len(content["parts"]):
            raise Refused(
                "Please ensure that the number of function response parts is equal to the number of function call "
                "parts of the function call turn."
            )


def each_call_has_a_response(request: Request) -> None:
    """After a turn with calls comes one with as many responses, to the same functions.

    Source: https://github.com/google-gemini/gemini-cli/issues/3814, https://github.com/google-gemini/gemini-cli/issues/16543
    """
    contents = normal(request)["contents"]
    for content, after in zip(contents, [*contents[1:], {}], strict=True):
        calls, responses = _calls(content), _responses(after)
        if calls and sorted(call["name"] for call in calls) != sorted(response["name"] for response in responses):
            raise Refused(
                "Please ensure that the number of function response parts is equal to the number of function call "
                "parts of the function call turn."
            )


def responses_have_the_ids_of_calls(request: Request) -> None:
    """A call that has an id is answered under it.

    Source: https://ai.google.dev/api/caching#FunctionResponse (id: to match the corresponding function call id)
    """
    contents = normal(request)["contents"]
    for content, after in zip(contents, [*contents[1:], {}], strict=True):
        wanted = sorted(call["id"] for call in _calls(content) if "id" in call)
        if wanted and wanted != sorted(response.get("id", "") for response in _responses(after)):
            raise Refused("Function response ids must match the ids of the function calls of the function call turn.")


def _calls(content: Json) -> list[Json]:
    return [part["functionCall"] for part in content.get("parts") or () if "functionCall" in part]


def _responses(content: Json) -> list[Json]:
    return [part["functionResponse"] for part in content.get("parts") or () if "functionResponse" in part]


def ends_with_user(request: Request) -> None:
    """The last turn is the user's, or one of responses.

    Source: https://github.com/crewAIInc/crewAI/pull/6973, https://github.com/microsoft/semantic-kernel/pull/13288
    """
    if normal(request)["contents"][-1].get("role", "user") != "user":
        raise Refused("Please ensure that multiturn requests end with a user role or a function response.")


def signature_on_calls(request: Request) -> None:
    """From Gemini 3 on, the first call of each step of the turn has the signature with which it came.

    Source: https://ai.google.dev/gemini-api/docs/thought-signatures (validation),
    https://github.com/langgenius/dify-official-plugins/issues/2088
    """
    if not signs(request):
        return
    steps: dict[str, list[Part]] = {}
    for part in _turn(request):
        if "functionCall" in part.body:
            steps.setdefault(part.where.split("]")[0], []).append(part)
    for calls in steps.values():
        if not calls[0].body.get("thoughtSignature"):
            name = calls[0].body["functionCall"]["name"]
            raise Refused(
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to "
                f"work correctly. Additional data, function call `default_api:{name}`"
            )


def _turn(request: Request) -> Iterator[Part]:
    """The model's parts since the user last said something other than responses."""
    contents = normal(request)["contents"]
    said = [
        number for number, each in enumerate(contents) if each.get("role", "user") == "user" and not _responses(each)
    ]
    begin = said[-1] if said else 0
    for part in parts(request):
        if part.role == "model" and int(part.where.split("[")[1].split("]")[0]) > begin:
            yield part


def signature_is_its_own(request: Request) -> None:
    """A signature is as it came; or the documented word for a history from elsewhere.

    Source: https://ai.google.dev/gemini-api/docs/thought-signatures (pass it back exactly as received; FAQ)
    """
    for part in parts(request):
        signature = part.body.get("thoughtSignature")
        if signature is not None and unhide(signature) is None and not _is_skipped(signature):
            raise Refused("Thought signature is not valid")


def _is_skipped(signature: str) -> bool:
    try:
        return signature in _SKIP or b64decode(signature, validate=True).decode("latin-1") in _SKIP
    except (Error, ValueError):
        return False


FIT: Final[Sequence[Rule]] = (
    calls_follow_user,
    responses_follow_calls,
    responses_stand_alone,
    each_call_has_a_response,
    responses_have_the_ids_of_calls,
    ends_with_user,
    signature_on_calls,
    signature_is_its_own,
)
"""The rules, in the order in which they are checked."""
