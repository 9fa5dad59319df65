"""Rules of Anthropic's messages on tools, their schemas, the output's, and settings."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from tests.agents.providers._anthropic_wire import blocks, own_tools, thinks
from tests.agents.providers._rules import Json, Refused, Request, Rule
from tests.agents.providers._schemas import misfit, nodes, recursive

_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_KEY: Final = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_CACHED: Final = 4
_LEAST_BUDGET: Final = 1024
_LEAST_TOP_P: Final = 0.95
_UNSUPPORTED: Final = frozenset({
    "exclusiveMaximum",
    "exclusiveMinimum",
    "maxItems",
    "maxLength",
    "maximum",
    "minLength",
    "minimum",
    "multipleOf",
})  # fmt: skip


def cache_points(request: Request) -> None:
    """At most 4 blocks are marked to be cached.

    Source: https://platform.claude.com/docs/en/build-with-claude/prompt-caching (up to 4 cache breakpoints)
    """
    system = request.body.get("system") or []
    marked = [*(system if isinstance(system, list) else ()), *_tools(request), *(each.body for each in blocks(request))]
    found = sum("cache_control" in part for part in marked)
    if found > _CACHED:
        raise Refused(f"A maximum of 4 blocks with cache_control may be provided. Found {found}.")


def tool_names(request: Request) -> None:
    """Names of tools match ``^[a-zA-Z0-9_-]{1,128}$``.

    Source: https://github.com/anthropics/claude-code/issues/96152 (the documentation says 64:
    https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools)
    """
    for index, tool in enumerate(_tools(request)):
        _match(_NAME, tool["name"], f"tools.{index}.custom.name")


def unique_tools(request: Request) -> None:
    """Names of tools are unique.

    Source: https://github.com/eclipse-theia/theia/issues/16122, https://github.com/tailcallhq/forgecode/issues/892
    """
    names = [tool["name"] for tool in request.body.get("tools") or ()]
    if len(names) != len({*names}):
        raise Refused("tools: Tool names must be unique.")


def schema_is_object(request: Request) -> None:
    """The schema of a tool's input is one of an object.

    Source: https://platform.claude.com/docs/en/api/messages (body, tools, input_schema, type: "object")
    """
    for index, tool in enumerate(_tools(request)):
        if tool["input_schema"].get("type") != "object":
            raise Refused(f"tools.{index}.custom.input_schema.type: Input should be 'object'")


def schema_root_has_no_union(request: Request) -> None:
    """The schema of a tool's input has no ``anyOf``, ``oneOf`` or ``allOf`` at its root.

    Source: https://github.com/anthropics/claude-code/issues/5973, https://github.com/dearlordylord/huly-mcp/issues/66
    """
    for index, tool in enumerate(_tools(request)):
        if tool["input_schema"].keys() & {"anyOf", "oneOf", "allOf"}:
            raise Refused(
                f"tools.{index}.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf "
                "at the top level"
            )


def schema_is_valid(request: Request) -> None:
    """The schema of a tool's input is valid: known types, and references to what is in it.

    Source: https://github.com/anthropics/claude-code/issues/7365, https://github.com/openclaw/openclaw/issues/29416
    """
    for index, tool in enumerate(_tools(request)):
        if misfit(tool["input_schema"]) is not None:
            raise Refused(
                f"tools.{index}.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12"
            )


def schema_keys(request: Request) -> None:
    """Names of a tool's arguments match ``^[a-zA-Z0-9_.-]{1,64}$``.

    Source: https://github.com/decocms/studio/pull/6874, https://github.com/ComposioHQ/composio/issues/3500
    """
    for index, tool in enumerate(_tools(request)):
        for key in tool["input_schema"].get("properties") or ():
            if _KEY.fullmatch(key) is None:
                where = f"tools.{index}.custom.input_schema.properties"
                raise Refused(f"{where}: Property keys should match pattern '^[a-zA-Z0-9_.-]{{1,64}}$'")


def choice_among_tools(request: Request) -> None:
    """``tool_choice`` comes with tools.

    Source: https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools (forcing tool use)
    """
    if request.body.get("tool_choice") and not request.body.get("tools"):
        raise Refused("tool_choice: tool_choice may only be specified while providing tools")


def choice_while_thinking(request: Request) -> None:
    """A model that thinks is not made to call a tool.

    Source: https://platform.claude.com/docs/en/build-with-claude/extended-thinking (thinking with tool use),
    https://github.com/mastra-ai/mastra/issues/7507
    """
    choice = (request.body.get("tool_choice") or {}).get("type")
    if thinks(request) and choice in ("any", "tool"):
        raise Refused("Thinking may not be enabled when tool_choice forces tool use.")


def thinking_budget(request: Request) -> None:
    """The budget of thinking is at least 1024 tokens and less than ``max_tokens``.

    Source: https://platform.claude.com/docs/en/build-with-claude/extended-thinking (working with thinking budgets)
    """
    thinking = request.body.get("thinking") or {}
    if thinking.get("type") != "enabled":
        return
    if thinking["budget_tokens"] < _LEAST_BUDGET:
        raise Refused("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
    if thinking["budget_tokens"] >= request.body["max_tokens"]:
        raise Refused("`max_tokens` must be greater than `thinking.budget_tokens`")


def sampling_while_thinking(request: Request) -> None:
    """A model that thinks has a temperature of 1, a ``top_p`` from 0.95 and no ``top_k``.

    Source: https://platform.claude.com/docs/en/build-with-claude/extended-thinking (feature compatibility),
    https://github.com/MartialBE/one-hub/issues/529
    """
    if not thinks(request):
        return
    if request.body.get("temperature", 1) != 1:
        raise Refused("`temperature` may only be set to 1 when thinking is enabled.")
    if request.body.get("top_p", 1) < _LEAST_TOP_P:
        raise Refused("`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.")
    if "top_k" in request.body:
        raise Refused("`top_k` must be unset when thinking is enabled.")


def sampling(request: Request) -> None:
    """The temperature is from 0 to 1, and not set beside ``top_p``.

    Source: https://platform.claude.com/docs/en/api/messages (body, temperature),
    https://github.com/BerriAI/litellm/issues/15097
    """
    if not 0 <= request.body.get("temperature", 1) <= 1:
        raise Refused("temperature: range: 0..1")
    if "temperature" in request.body and "top_p" in request.body:
        raise Refused("`temperature` and `top_p` cannot both be specified for this model. Please use only one.")


def output_schema(request: Request) -> None:
    """A schema of the output, or of a strict tool, closes its objects, has no recursion, and no limits on values.

    Source: https://platform.claude.com/docs/en/build-with-claude/structured-outputs (JSON Schema limitations),
    https://github.com/BerriAI/litellm/pull/35811
    """
    for where, schema in _strict_schemas(request):
        if recursive(schema):
            raise Refused(f"{where}: Recursive schemas are not supported")
        if misfit(schema) is not None:
            raise Refused(f"{where}{misfit(schema)}: Invalid schema")
        for place, node in nodes(schema):
            if node.get("type") == "object" and node.get("additionalProperties") is not False:
                raise Refused(
                    f"{where}{place}: For 'object' type, 'additionalProperties' must be explicitly set to false"
                )
            for key in sorted(node.keys() & _UNSUPPORTED):
                raise Refused(f"{where}{place}: For '{node.get('type')}' type, property '{key}' is not supported")


def _strict_schemas(request: Request) -> Iterator[tuple[str, Json]]:
    config = request.body.get("output_config") or {}
    for where, given in (
        ("output_format", request.body.get("output_format")),
        ("output_config.format", config.get("format")),
    ):
        if given:
            yield f"{where}.schema", given["schema"]
    for index, tool in enumerate(_tools(request)):
        if tool.get("strict"):
            yield f"tools.{index}.custom.input_schema", tool["input_schema"]


def _tools(request: Request) -> Sequence[Json]:
    return own_tools(request)


def _match(pattern: re.Pattern[str], text: str, where: str) -> None:
    if pattern.fullmatch(text) is None:
        raise Refused(f"{where}: String should match pattern '^{pattern.pattern}$'")


SETTINGS: Final[Sequence[Rule]] = (
    cache_points,
    tool_names,
    unique_tools,
    schema_is_object,
    schema_root_has_no_union,
    schema_is_valid,
    schema_keys,
    choice_among_tools,
    choice_while_thinking,
    thinking_budget,
    sampling_while_thinking,
    sampling,
    output_schema,
)
"""The rules, in the order in which they are checked."""
