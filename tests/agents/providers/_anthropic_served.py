"""Rules of Anthropic's messages on the tools that Anthropic executes itself."""

from collections.abc import Sequence
from typing import Final

from tests.agents.providers._anthropic_wire import blocks, content, sealed, search_id
from tests.agents.providers._rules import Refused, Request, Rule


def served_calls_have_results(request: Request) -> None:
    """A search of the provider's own has its result after it, unless the last turn is to go on with it.

    Source: https://github.com/AnswerDotAI/lisette/issues/108,
    https://platform.claude.com/docs/en/agents-and-tools/tool-use/server-tools (beside a call of another tool the result
    comes with the next answer)
    """
    found = {block.body["tool_use_id"] for block in blocks(request) if block.type == "web_search_tool_result"}
    messages = request.body["messages"]
    answers = [number for number, message in enumerate(messages) if message["role"] == "assistant"]
    for number in answers[:-1]:
        for block in content(messages[number]):
            if block["type"] == "server_tool_use" and block["id"] not in found:
                raise Refused(
                    f"messages.{number}: `web_search` tool use with id `{block['id']}` was found without a "
                    "corresponding `web_search_tool_result` block"
                )


def served_results_have_calls(request: Request) -> None:
    """A result of the provider's own search stands after this search.

    Source: https://github.com/anthropics/claude-code/issues/66944
    """
    known: set[str] = set()
    for block in blocks(request):
        if block.type == "server_tool_use":
            known.add(block.body["id"])
        elif block.type == "web_search_tool_result" and block.body["tool_use_id"] not in known:
            raise Refused(
                f"{block.where}: unexpected `tool_use_id` found in `web_search_tool_result` blocks: "
                f"{block.body['tool_use_id']}. Each `web_search_tool_result` block must have a corresponding "
                "`server_tool_use` block before it."
            )


def served_content_is_unchanged(request: Request) -> None:
    """Searches and what they have found come back as they were, with their encrypted content.

    Source: https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool (encrypted_content has to be
    passed back)
    """
    queries: dict[str, str] = {}
    for block in blocks(request):
        if block.type == "server_tool_use":
            query = str(block.body["input"].get("query"))
            queries[block.body["id"]] = query
            if block.body["id"] != search_id(query):
                raise Refused(f"{block.where}.server_tool_use.input: the input is not that of this call")
        if block.type == "web_search_tool_result":
            for result in block.body["content"]:
                if result.get("encrypted_content") != sealed(queries[block.body["tool_use_id"]]):
                    raise Refused(
                        f"{block.where}.web_search_tool_result: Invalid `encrypted_content` in `search_result`"
                    )


SERVED: Final[Sequence[Rule]] = (served_results_have_calls, served_calls_have_results, served_content_is_unchanged)
"""The rules, in the order in which they are checked."""
