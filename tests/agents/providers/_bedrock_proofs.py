"""For each rule of Bedrock's Converse API a request that breaks it, and one that differs in nothing but that."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from pydantic_core import to_json
from tests.agents.providers import _bedrock_fit as fit
from tests.agents.providers import _bedrock_parts as parts
from tests.agents.providers import _bedrock_settings as settings
from tests.agents.providers._images import PDF, PNG
from tests.agents.providers._rules import Json, Proof
from tests.agents.providers._seals import hide, seal

_OBJECT: Final[Json] = {"type": "object", "properties": {"city": {"type": "string"}}}
_CLOSED: Final[Json] = {**_OBJECT, "additionalProperties": False}
_THINKING: Final[Json] = {"additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 1024}}}


def _user(*content: Json) -> Json:
    return {"role": "user", "content": list(content) or [{"text": "hi"}]}


def _said(*content: Json) -> Json:
    return {"role": "assistant", "content": list(content) or [{"text": "ho"}]}


def _asked(*messages: Json, **fields: Any) -> Json:
    return {"messages": list(messages) or [_user()], **fields}


def _call(id_: str = "c1", name: str = "look", **fields: Any) -> Json:
    return {"toolUse": {"toolUseId": id_, "name": name, "input": {}, **fields}}


def _result(id_: str = "c1", *content: Json, **fields: Any) -> Json:
    return {"toolResult": {"toolUseId": id_, "content": list(content) or [{"text": "fine"}], **fields}}


def _tool(name: str = "look", schema: Json = _OBJECT, **fields: Any) -> Json:
    return {"toolSpec": {"name": name, "description": "Looks.", "inputSchema": {"json": schema}, **fields}}


def _with(*tools: Json, **fields: Any) -> Json:
    return _asked(toolConfig={"tools": list(tools) or [_tool()], **fields})


def _called(*answer: Json, results: Sequence[Json] = (), **fields: Any) -> Json:
    """A conversation with a call in it."""
    content = answer or (_call(),)
    answered = results or [_result(block["toolUse"]["toolUseId"]) for block in content if "toolUse" in block]
    return _asked(_user(), _said(*content), _user(*answered), **{"toolConfig": {"tools": [_tool()]}, **fields})


def _image(kind: str = "png", data: str = PNG) -> Json:
    return {"image": {"format": kind, "source": {"bytes": data}}}


def _document(name: str = "report") -> Json:
    return {"document": {"format": "pdf", "name": name, "source": {"bytes": PDF}}}


def _thought(text: str = "Let me look.", place: int = 0, count: int = 1, signature: str | None = None) -> Json:
    signed = seal(text, place, count) if signature is None else signature
    return {"reasoningContent": {"reasoningText": {"text": text, "signature": signed}}}


def _hidden(place: int = 0, count: int = 1) -> Json:
    return {"reasoningContent": {"redactedContent": hide("secret", place, count)}}


def _form() -> Iterator[Proof]:
    good = _asked()
    yield Proof(settings.members, {}, good)
    yield Proof(settings.members, _asked({"role": "user"}), good)
    yield Proof(settings.members, _asked(_user({"text": "hi", **_image()})), _asked(_user({"text": "hi"}, _image())))
    yield Proof(settings.members, _asked(_user({"type": "text"})), good)
    yield Proof(settings.members, _with(toolChoice={"none": {}}), _with(toolChoice={"auto": {}}))
    yield Proof(settings.types, _asked({"role": "user", "content": "hi"}), good)
    yield Proof(settings.types, _asked(inferenceConfig={"maxTokens": "many"}), good)
    yield Proof(settings.types, _asked(_user(_image(data="%"))), _asked(_user(_image())))
    yield Proof(
        settings.limits, _asked(inferenceConfig={"temperature": 1.5}), _asked(inferenceConfig={"temperature": 1})
    )
    yield Proof(settings.limits, _asked(toolConfig={"tools": []}), good)
    for bad, fine in (("a.b", "a-b"), ("x" * 65, "x" * 64), ("", "x")):
        yield Proof(settings.limits, _with(_tool(bad)), _with(_tool(fine)))
        yield Proof(settings.limits, _called(_call(name=bad)), _called(_call(name=fine)))
    yield Proof(settings.limits, _called(_call("a/b")), _called(_call("a.b:c")))
    yield Proof(settings.limits, _called(_call("x" * 65)), _called(_call("x" * 64)))
    yield Proof(settings.limits, _with(_tool(description="")), _with())
    yield Proof(settings.limits, _asked(_user(_image("svg"))), _asked(_user(_image())))
    yield Proof(settings.limits, _asked(system=[{"text": ""}]), _asked(system=[{"text": "x"}]))
    yield Proof(settings.limits, _asked({"role": "tool", "content": [{"text": "x"}]}), good)


def _settings() -> Iterator[Proof]:
    yield Proof(settings.unique_tools, _with(_tool(), _tool()), _with(_tool(), _tool("see")))
    union = {"anyOf": [_OBJECT]}
    yield Proof(settings.schema_is_object, _with(_tool(schema=union)), _with())
    yield Proof(settings.schema_root_has_no_union, _with(_tool(schema={**_OBJECT, **union})), _with())
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    dangling = {"type": "object", "properties": {"root": {"$ref": "#/$defs/Node"}}}
    whole = {**dangling, "$defs": {"Node": node}}
    yield Proof(settings.schema_is_valid, _with(_tool(schema=dangling)), _with(_tool(schema=whole)))
    for bad, fine in (("Account Number", "Account.Number"), ("x" * 65, "x" * 64)):
        odd, right = ({"type": "object", "properties": {key: {}}} for key in (bad, fine))
        yield Proof(settings.schema_keys, _with(_tool(schema=odd)), _with(_tool(schema=right)))
    closed = {**whole, "additionalProperties": False, "$defs": {"Node": {**node, "additionalProperties": False}}}
    for schema in (_OBJECT, closed, {**dangling, "additionalProperties": False}):
        yield Proof(settings.output_schema, _output(schema), _output(_CLOSED))
    yield Proof(settings.output_schema, _with(_tool(strict=True)), _with(_tool(schema=_CLOSED, strict=True)))
    choices: Sequence[Json] = ({"any": {}}, {"tool": {"name": "look"}})
    for choice in choices:
        forced = _with(toolChoice=choice)
        yield Proof(settings.choice_while_thinking, {**forced, **_THINKING}, forced)
    passed = {"additionalModelRequestFields": {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}}
    yield Proof(settings.choice_among_tools, _asked(**passed), {**_with(), **passed})
    small = {"additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 1023}}}
    yield Proof(settings.thinking_budget, _asked(**small), _asked(**_THINKING))
    few, more = ({"inferenceConfig": {"maxTokens": tokens}} for tokens in (1024, 1025))
    yield Proof(settings.thinking_budget, _asked(**_THINKING, **few), _asked(**_THINKING, **more))
    cool = {"inferenceConfig": {"temperature": 0.5}}
    yield Proof(settings.sampling, _asked(inferenceConfig={"temperature": 0.5, "topP": 0.5}), _asked(**cool))
    yield Proof(settings.sampling, _asked(**_THINKING, **cool), _asked(**cool))


def _output(schema: Json) -> Json:
    structure = {"jsonSchema": {"name": "Out", "schema": to_json(schema).decode()}}
    return _asked(outputConfig={"textFormat": {"type": "json_schema", "structure": structure}})


def _parts() -> Iterator[Proof]:
    good = _asked()
    yield Proof(parts.content_there, _asked(_user(), {"role": "assistant", "content": []}, _user()), good)
    yield Proof(parts.text_not_blank, _asked(_user({"text": " "})), good)
    yield Proof(parts.text_not_blank, _called(results=[_result("c1", {"text": ""})]), _called())
    yield Proof(parts.input_is_object, _called(_call(input=[1])), _called())
    yield Proof(
        parts.input_is_object,
        _called(results=[_result("c1", {"json": [1]})]),
        _called(results=[_result("c1", {"json": {"a": 1}})]),
    )
    yield Proof(parts.blocks_by_role, _asked(_user(), _said(_image()), _user()), _asked(_user(), _said(), _user()))
    yield Proof(parts.blocks_by_role, _asked(_user(_call())), good)
    empty = {"toolResult": {"toolUseId": "c1", "content": [], "status": "error"}}
    yield Proof(
        parts.failed_result_says_why, _called(results=[empty]), _called(results=[_result("c1", status="error")])
    )
    text = {"text": "x"}
    for bad, fine in (("a.pdf", "a pdf"), ("a  b", "a b"), ("é", "e")):
        yield Proof(parts.document_names, _asked(_user(text, _document(bad))), _asked(_user(text, _document(fine))))
    two = (text, _document("a"))
    yield Proof(parts.unique_documents, _asked(_user(*two, _document("a"))), _asked(_user(*two, _document("b"))))
    yield Proof(parts.text_beside_documents, _asked(_user(_document())), _asked(_user(text, _document())))


def _fit() -> Iterator[Proof]:
    said, results = _said(), _user(_result())
    config: Json = {"toolConfig": {"tools": [_tool()]}}
    yield Proof(fit.begins_with_user, _asked(said, _user()), _asked(_user(), said, _user()))
    yield Proof(fit.begins_with_user, {"messages": []}, _asked())
    yield Proof(fit.roles_alternate, _asked(_user(), _user()), _asked(_user(), said, _user()))
    yield Proof(fit.tools_for_calls, _asked(_user(), _said(_call()), results), _called())
    same = _called(_call("c1"), _call("c1"), results=[_result("c1")])
    pair = _called(_call("c1"), _call("c2"))
    yield Proof(fit.unique_ids, same, pair)
    yield Proof(fit.unique_ids, _called(results=[_result("c1"), _result("c1")]), _called())
    yield Proof(fit.no_result_without_call, _called(results=[_result("c1"), _result("c2")]), pair)
    yield Proof(fit.no_result_without_call, _asked(_user(), said, results, **config), _called())
    yield Proof(fit.calls_are_answered, _called(_call("c1"), _call("c2"), results=[_result("c1")]), pair)
    yield Proof(fit.calls_are_answered, _asked(_user(), _said(_call()), _user(), **config), _called())
    yield Proof(fit.ends_with_user, _asked(_user(), said), _asked(_user(), said, _user()))
    yield Proof(
        fit.thinking_signed, _asked(_user(), _said(_thought(signature="")), _user()), _asked(_user(), said, _user())
    )
    yield from _thinking()


def _thinking() -> Iterator[Proof]:
    good = _called(_thought("a", 0, 2), _hidden(1, 2), _call(), **_THINKING)
    forged: Sequence[Json] = (
        _thought(signature=seal("Let me see.", 0, 1)),
        {"reasoningContent": {"reasoningText": {"text": "Let me look."}}},
        {"reasoningContent": {"redactedContent": "bm8="}},
    )
    for block in forged:
        yield Proof(fit.thinking_signed, _called(block, _call(), **_THINKING), good)
    yield Proof(fit.thinking_begins_turn, _called(**_THINKING), _called())
    yield Proof(fit.thinking_begins_turn, _called({"text": "x"}, _thought(), _call(), **_THINKING), good)
    for kept in ([_thought("a", 0, 2)], [_hidden(1, 2)], [_hidden(1, 2), _thought("a", 0, 2)]):
        yield Proof(fit.thinking_kept, _called(*kept, _call(), **_THINKING), good)


PROOFS: Final[Sequence[Proof]] = (*_form(), *_settings(), *_parts(), *_fit())
