"""Rules of Bedrock's Converse API on a request's form, tools, schemas and settings."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from pydantic_core import from_json
from tests.agents.providers._bedrock_model import misfits
from tests.agents.providers._bedrock_wire import extra, thinks, tools
from tests.agents.providers._rules import Json, Refused, Request, Rule
from tests.agents.providers._schemas import misfit, nodes, recursive

_KEY: Final = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_LEAST_BUDGET: Final = 1024


def members(request: Request) -> None:
    """All required members are there, and of a union exactly one.

    Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html (the service's own model)
    """
    _refuse(request, "member")


def types(request: Request) -> None:
    """Members are of their types.

    Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html (the service's own model)
    """
    _refuse(request, "type")


def limits(request: Request) -> None:
    """Members keep to their limits: names of tools, called ones too, match ``[a-zA-Z0-9_-]{1,64}``, ids of calls
    ``[a-zA-Z0-9_.:-]{1,64}``, there is at least one tool in a list of tools, images are PNG, JPEG, GIF or WebP.

    Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html (the service's own model),
    https://github.com/vercel/ai/pull/17769, https://github.com/NousResearch/hermes-agent/pull/90016
    """
    _refuse(request, "limit")


def _refuse(request: Request, kind: str) -> None:
    for found in misfits(request.body):
        if found.kind == kind:
            raise Refused(
                f"1 validation error detected: Value at '{found.where}' failed to satisfy constraint: {found.what}"
            )


def unique_tools(request: Request) -> None:
    """Names of tools are unique.

    Source: https://github.com/aws-samples/amazon-bedrock-client-for-mac/pull/123
    """
    names = [tool["name"] for tool in tools(request)]
    if len(names) != len({*names}):
        raise Refused("The model returned the following errors: tools: Tool names must be unique.")


def schema_is_object(request: Request) -> None:
    """The schema of a tool's input is one of an object.

    Source: https://github.com/aaif-goose/goose/pull/5064, https://github.com/earendil-works/pi/issues/8279
    """
    for index, schema in _inputs(request):
        if schema.get("type") != "object":
            where = f"toolConfig.tools.{index}.toolSpec.inputSchema.json.type"
            raise Refused(f"The value at {where} must be one of the following: object.")


def schema_root_has_no_union(request: Request) -> None:
    """The schema of a tool's input has no ``anyOf``, ``oneOf`` or ``allOf`` at its root.

    Source: https://github.com/anthropics/claude-code/issues/5973 (the model's own rule)
    """
    for index, schema in _inputs(request):
        if schema.keys() & {"anyOf", "oneOf", "allOf"}:
            raise Refused(
                f"The model returned the following errors: tools.{index}.custom.input_schema: input_schema does not "
                "support oneOf, allOf, or anyOf at the top level"
            )


def schema_is_valid(request: Request) -> None:
    """The schema of a tool's input is valid: known types, and references to what is in it.

    Source: https://github.com/acomagu/vscode-as-mcp-server/issues/6
    """
    for index, schema in _inputs(request):
        if misfit(schema) is not None:
            raise Refused(
                f"The model returned the following errors: tools.{index}.custom.input_schema: JSON schema is invalid. "
                "It must match JSON Schema draft 2020-12"
            )


def schema_keys(request: Request) -> None:
    """Names of a tool's arguments match ``^[a-zA-Z0-9_.-]{1,64}$``.

    Source: https://github.com/aws-solutions-library-samples/accelerated-intelligent-document-processing-on-aws/issues/709
    """
    for index, schema in _inputs(request):
        for key in schema.get("properties") or ():
            if _KEY.fullmatch(key) is None:
                raise Refused(
                    f"The model returned the following errors: tools.{index}.custom.input_schema.properties: "
                    "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'"
                )


def _inputs(request: Request) -> list[tuple[int, Json]]:
    return [(index, tool["inputSchema"]["json"]) for index, tool in enumerate(tools(request))]


def output_schema(request: Request) -> None:
    """A schema of the output, or of a strict tool, closes its objects, has no recursion, and refers to what is in it.

    Source: https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html,
    https://platform.claude.com/docs/en/build-with-claude/structured-outputs (JSON Schema limitations)
    """
    for where, schema in _strict(request):
        if recursive(schema) or misfit(schema) is not None:
            raise Refused(f"{where}: the schema is recursive or refers to what is not in it")
        for place, node in nodes(schema):
            if node.get("type") == "object" and node.get("additionalProperties") is not False:
                raise Refused(f"{where}{place}: 'additionalProperties' must be explicitly set to false")


def _strict(request: Request) -> Iterator[tuple[str, Json]]:
    given = ((request.body.get("outputConfig") or {}).get("textFormat") or {}).get("structure") or {}
    if "jsonSchema" in given:
        yield "outputConfig.textFormat.structure.jsonSchema.schema", from_json(given["jsonSchema"]["schema"])
    for index, tool in enumerate(tools(request)):
        if tool.get("strict"):
            yield f"toolConfig.tools.{index}.toolSpec.inputSchema.json", tool["inputSchema"]["json"]


def choice_while_thinking(request: Request) -> None:
    """A model that thinks is not made to call a tool.

    Source: https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-extended-thinking.html (tool use)
    """
    choice = (request.body.get("toolConfig") or {}).get("toolChoice") or {}
    if thinks(request) and choice.keys() & {"any", "tool"}:
        raise Refused(
            "The model returned the following errors: Thinking may not be enabled when tool_choice forces tool use."
        )


def choice_among_tools(request: Request) -> None:
    """A choice that is passed on to the model comes with tools.

    Source: https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools (the model's own rule)
    """
    if extra(request).get("tool_choice") and not tools(request):
        raise Refused(
            "The model returned the following errors: tool_choice may only be specified while providing tools"
        )


def thinking_budget(request: Request) -> None:
    """The budget of thinking is at least 1024 tokens and less than ``maxTokens``.

    Source: https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-extended-thinking.html
    """
    thinking = extra(request).get("thinking") or {}
    if thinking.get("type") != "enabled":
        return
    if thinking["budget_tokens"] < _LEAST_BUDGET:
        raise Refused("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
    if thinking["budget_tokens"] >= (request.body.get("inferenceConfig") or {}).get("maxTokens", 4096):
        raise Refused(
            "The model returned the following errors: `max_tokens` must be greater than `thinking.budget_tokens`"
        )


def sampling(request: Request) -> None:
    """The temperature is not set beside ``topP``, and is 1 for a model that thinks.

    Source: https://github.com/skydiscover-ai/skydiscover/issues/15,
    https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-extended-thinking.html
    """
    config = request.body.get("inferenceConfig") or {}
    if {"temperature", "topP"} <= config.keys():
        raise Refused(
            "The model returned the following errors: `temperature` and `top_p` cannot both be specified for this "
            "model. Please use only one."
        )
    if thinks(request) and config.get("temperature", 1) != 1:
        raise Refused(
            "The model returned the following errors: `temperature` may only be set to 1 when thinking is enabled."
        )


SETTINGS: Final[Sequence[Rule]] = (
    members,
    types,
    limits,
    unique_tools,
    schema_is_object,
    schema_root_has_no_union,
    schema_is_valid,
    schema_keys,
    output_schema,
    choice_while_thinking,
    choice_among_tools,
    thinking_budget,
    sampling,
)
"""The rules, in the order in which they are checked."""
