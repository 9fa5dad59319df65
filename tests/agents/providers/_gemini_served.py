"""Rules of Gemini's generateContent on the tools that Google executes itself."""

from collections.abc import Sequence
from typing import Final

from tests.agents.providers._gemini_wire import functions, parts, search_id, searches, shows_searches, signs
from tests.agents.providers._rules import Refused, Request, Rule


def tools_may_be_mixed(request: Request) -> None:
    """Google's tools come beside functions from Gemini 3 on only.

    Source: https://github.com/googleapis/go-genai/issues/323, https://github.com/withceleste/celeste-python/issues/197
    """
    if functions(request) and searches(request) and not signs(request):
        raise Refused("Tool use with function calling is unsupported by the model.")


def mixed_tools_are_shown(request: Request) -> None:
    """Beside functions, Google's tools come with ``toolConfig.includeServerSideToolInvocations``.

    Source: https://github.com/cloudwego/eino-ext/issues/761, https://github.com/ag2ai/ag2/pull/3145
    """
    if functions(request) and searches(request) and not shows_searches(request):
        raise Refused(
            "Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with Function "
            "calling."
        )


def served_parts_are_whole(request: Request) -> None:
    """A call of Google's own tools comes back with its response after it, both as they were, with their signatures.

    Source: https://github.com/Pretend-to/mio-chat-backend/issues/30,
    https://ai.google.dev/gemini-api/docs/tool-combination
    """
    called: list[str] = []
    for part in parts(request):
        call, response = part.body.get("toolCall"), part.body.get("toolResponse")
        if (call or response) and "thoughtSignature" not in part.body:
            raise Refused(f"{part.where}: the part is missing a thought_signature")
        if call:
            called.append(call["id"])
            if call["id"] != search_id(call["args"]["queries"][0]):
                raise Refused(f"{part.where}.tool_call: the arguments are not those of this call")
        if response and (not called or response["id"] != called.pop()):
            raise Refused(f"{part.where}.tool_response: there is no such call before it")
    if called:
        raise Refused("The number of tool response parts is not equal to the number of tool call parts.")


SERVED: Final[Sequence[Rule]] = (tools_may_be_mixed, mixed_tools_are_shown, served_parts_are_whole)
"""The rules, in the order in which they are checked."""
