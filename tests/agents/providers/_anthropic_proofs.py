"""For each rule of Anthropic's messages a request that breaks it, and one that differs in nothing but that."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from tests.agents.providers import _anthropic_fit as fit
from tests.agents.providers import _anthropic_parts as parts
from tests.agents.providers import _anthropic_settings as settings
from tests.agents.providers._images import PDF, PNG
from tests.agents.providers._rules import Json, Proof
from tests.agents.providers._seals import hide, seal

_USER: Final[Json] = {"role": "user", "content": "hi"}
_OBJECT: Final[Json] = {"type": "object", "properties": {"city": {"type": "string"}}}
_THINKING: Final[Json] = {"type": "enabled", "budget_tokens": 1024}
_OPEN: Final[Json] = {"type": "object", "properties": {"n": {"type": "integer"}}}
_CLOSED: Final[Json] = {**_OPEN, "additionalProperties": False}


def _asked(*messages: Json, **fields: Any) -> Json:
    return {"model": "claude-sonnet-4-6", "max_tokens": 4096, "messages": list(messages) or [_USER], **fields}


def _user(*content: Json) -> Json:
    return {"role": "user", "content": list(content)}


def _said(*content: Json) -> Json:
    return {"role": "assistant", "content": list(content)}


def _text(text: str, **fields: Any) -> Json:
    return {"type": "text", "text": text, **fields}


def _call(id_: str = "c1", name: str = "look", **fields: Any) -> Json:
    return {"type": "tool_use", "id": id_, "name": name, "input": {}, **fields}


def _result(id_: str = "c1", content: object = "fine", **fields: Any) -> Json:
    return {"type": "tool_result", "tool_use_id": id_, "content": content, **fields}


def _tool(name: str = "look", schema: Json = _OBJECT, **fields: Any) -> Json:
    return {"name": name, "description": "Looks.", "input_schema": schema, **fields}


def _called(*answer: Json, results: Sequence[Json] = (), **fields: Any) -> Json:
    """A conversation with a call in it."""
    content = answer or (_call(),)
    answered = results or [_result(block["id"]) for block in content if block["type"] == "tool_use"]
    return _asked(_USER, _said(*content), _user(*answered), **{"tools": [_tool()], **fields})


def _image(media_type: str = "image/png", data: str = PNG) -> Json:
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


def _document(media_type: str, data: str) -> Json:
    return {"type": "document", "source": {"type": "base64", "media_type": media_type, "data": data}}


def _thought(text: str = "Let me look.", place: int = 0, count: int = 1) -> Json:
    return {"type": "thinking", "thinking": text, "signature": seal(text, place, count)}


def _hidden(place: int = 0, count: int = 1) -> Json:
    return {"type": "redacted_thinking", "data": hide("secret", place, count)}


def _output(schema: Json) -> Json:
    return {"type": "json_schema", "schema": schema}


def _parts() -> Iterator[Proof]:
    without = _asked()
    del without["max_tokens"]
    yield Proof(parts.max_tokens, without, _asked())
    yield Proof(parts.messages_there, {**_asked(), "messages": []}, _asked())
    yield Proof(parts.roles, _asked({"role": "system", "content": "be kind"}, _USER), _asked(_USER, system="be kind"))
    yield Proof(parts.content_there, _asked({"role": "user", "content": ""}), _asked())
    yield Proof(parts.content_there, _asked(_USER, _said(), _USER), _asked(_USER, _said(_text("x")), _USER))
    yield Proof(parts.known_blocks, _asked(_user({"type": "image_url"})), _asked(_user(_image())))
    yield Proof(parts.known_blocks, _asked(_user(_call())), _called())
    yield Proof(parts.known_blocks, _asked(_USER, _said(_image()), _USER), _asked(_USER, _said(_text("x")), _USER))
    yield Proof(parts.known_fields, _asked({**_USER, "name": "Ann"}), _asked())
    yield Proof(parts.known_fields, _called(_call(index=0)), _called())
    kept: Json = {"cache_control": {"type": "ephemeral"}}
    yield Proof(
        parts.known_fields,
        _called({**_thought(), **kept}, _call(), thinking=_THINKING),
        _called(_thought(), _call(**kept), thinking=_THINKING),
    )
    yield Proof(parts.text_not_empty, _asked(_user(_text(""))), _asked(_user(_text("x"))))
    yield Proof(parts.text_not_empty, _asked(system=[_text("")]), _asked(system=[_text("x")]))
    yield Proof(parts.text_not_blank, _asked(_user(_text(" \n"))), _asked(_user(_text(" x\n"))))
    yield Proof(parts.text_not_blank, _called(results=[_result(content=[_text(" ")])]), _called())
    yield Proof(parts.call_ids, _called(_call("functions.look:0")), _called(_call("functions_look-0")))
    yield Proof(parts.call_ids, _called(_call("")), _called(_call("c")))
    yield Proof(parts.called_names, _called(_call(name="")), _called(_call(name="functions.look")))
    yield Proof(parts.called_names, _called(_call(name="x" * 201)), _called(_call(name="x" * 200)))
    yield Proof(parts.call_input, _called(_call(input=[1])), _called(_call(input={"a": 1})))
    failed = _result(content="no", is_error=True)
    yield Proof(
        parts.failed_result_says_why,
        _called(results=[{**failed, "content": ""}]),
        _called(results=[failed]),
    )
    yield Proof(parts.image_types, _asked(_user(_image("image/jpg"))), _asked(_user(_image())))
    yield Proof(parts.image_types, _called(results=[_result(content=[_image("image/svg+xml")])]), _called())
    yield Proof(parts.image_bytes, _asked(_user(_image("image/jpeg"))), _asked(_user(_image("image/png"))))
    yield Proof(parts.image_bytes, _asked(_user(_image(data="%"))), _asked(_user(_image())))
    text = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}
    yield Proof(parts.document_types, _asked(_user(_document("text/plain", "eA=="))), _asked(_user(text)))
    yield Proof(
        parts.document_types,
        _asked(_user(_document("application/msword", PDF))),
        _asked(_user(_document("application/pdf", PDF))),
    )


def _settings() -> Iterator[Proof]:
    kept = _text("x", cache_control={"type": "ephemeral"})
    yield Proof(settings.cache_points, _asked(_user(*[kept] * 5)), _asked(_user(*[kept] * 4)))
    for bad, good in (("a.b", "a-b"), ("x" * 129, "x" * 128), ("", "x")):
        yield Proof(settings.tool_names, _asked(tools=[_tool(bad)]), _asked(tools=[_tool(good)]))
    yield Proof(settings.unique_tools, _asked(tools=[_tool(), _tool()]), _asked(tools=[_tool(), _tool("see")]))
    union = {"anyOf": [_OBJECT]}
    yield Proof(settings.schema_is_object, _asked(tools=[_tool(schema=union)]), _asked(tools=[_tool()]))
    yield Proof(
        settings.schema_root_has_no_union,
        _asked(tools=[_tool(schema={**_OBJECT, **union})]),
        _asked(tools=[_tool(schema={"type": "object", "properties": {"x": union}})]),
    )
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    dangling = {"type": "object", "properties": {"root": {"$ref": "#/$defs/Node"}}}
    yield Proof(
        settings.schema_is_valid,
        _asked(tools=[_tool(schema=dangling)]),
        _asked(tools=[_tool(schema={**dangling, "$defs": {"Node": node}})]),
    )
    odd = {"type": "object", "properties": {"x": {"type": "any"}}}
    yield Proof(settings.schema_is_valid, _asked(tools=[_tool(schema=odd)]), _asked(tools=[_tool()]))
    for bad, good in (("filter[id]", "filter.id"), ("x" * 65, "x" * 64)):
        yield Proof(
            settings.schema_keys,
            _asked(tools=[_tool(schema={"type": "object", "properties": {bad: {}}})]),
            _asked(tools=[_tool(schema={"type": "object", "properties": {good: {}}})]),
        )
    choice: Json = {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}
    yield Proof(settings.choice_among_tools, _asked(**choice), _asked(**choice, tools=[_tool()]))
    for kind in ("any", "tool"):
        forced = {"tools": [_tool()], "tool_choice": {"type": kind, "name": "look"}}
        yield Proof(settings.choice_while_thinking, _asked(thinking=_THINKING, **forced), _asked(**forced))
    yield from _thinking_settings()
    yield Proof(settings.sampling, _asked(temperature=1.5), _asked(temperature=1))
    yield Proof(settings.sampling, _asked(temperature=0.5, top_p=0.5), _asked(temperature=0.5))
    yield from _schemas()


def _thinking_settings() -> Iterator[Proof]:
    small = {**_THINKING, "budget_tokens": 1023}
    yield Proof(settings.thinking_budget, _asked(thinking=small), _asked(thinking=_THINKING))
    yield Proof(
        settings.thinking_budget,
        _asked(thinking=_THINKING, max_tokens=1024),
        _asked(thinking=_THINKING, max_tokens=1025),
    )
    odd: Sequence[Json] = ({"temperature": 0.5}, {"top_p": 0.9}, {"top_k": 5})
    for fields in odd:
        yield Proof(settings.sampling_while_thinking, _asked(thinking=_THINKING, **fields), _asked(**fields))


def _schemas() -> Iterator[Proof]:
    good = _asked(output_format=_output(_CLOSED))
    limited = {**_CLOSED, "properties": {"n": {"type": "integer", "minimum": 1}}}
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}, "additionalProperties": False}
    again = {**_CLOSED, "properties": {"root": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": node}}
    lost = {**_CLOSED, "properties": {"root": {"$ref": "/$defs/Node"}}}
    for schema in (_OPEN, limited, again, lost):
        yield Proof(settings.output_schema, _asked(output_format=_output(schema)), good)
        yield Proof(settings.output_schema, _asked(output_config={"format": _output(schema)}), good)
    yield Proof(settings.output_schema, _asked(tools=[_tool(strict=True)]), _asked(tools=[_tool()]))


def _fit() -> Iterator[Proof]:
    said = _said(_text("x"))
    yield Proof(fit.begins_with_user, _asked(said, _USER), _asked(_USER, said, _USER))
    yield Proof(
        fit.ends_without_whitespace, _asked(_USER, _said(_text("x "))), _asked(_USER, _said(_text("x ")), _USER)
    )
    thought = _said(_thought(), _text("x"))
    yield Proof(fit.thinking_stays_on, _asked(_USER, thought), _asked(_USER, thought, _USER))
    yield Proof(fit.ends_with_user, _asked(_USER, said), {**_asked(_USER, said), "model": "claude-sonnet-4-5"})
    yield Proof(fit.ends_with_user, _asked(_USER, said), _asked(_USER, said, _USER))
    yield Proof(fit.tools_for_calls, _called(tools=[]), _called())
    same = (_call("c1"), _call("c1"))
    yield Proof(fit.unique_calls, _called(*same, results=[_result("c1")]), _called(_call("c1"), _call("c2")))
    yield Proof(fit.calls_come_last, _called(_call(), _text("x")), _called(_text("x"), _call()))
    yield from _pairs()
    yield from _thinking()


def _pairs() -> Iterator[Proof]:
    good = _called(_call("c1"), _call("c2"))
    yield Proof(
        fit.results_come_first, _called(results=[_text("x"), _result()]), _called(results=[_result(), _text("x")])
    )
    yield Proof(fit.one_result_each, _called(results=[_result(), _result()]), _called())
    yield Proof(fit.results_answer_calls, _called(results=[_result("c1"), _result("c2")]), good)
    yield Proof(fit.calls_are_answered, _called(_call("c1"), _call("c2"), results=[_result("c1")]), good)
    tools = [_tool()]
    asked = _asked(_USER, _said(_call()), _USER, _user(_result()), tools=tools)
    yield Proof(fit.results_answer_calls, asked, _asked(_USER, _said(_call()), _user(_result()), _USER, tools=tools))
    two = _asked(_USER, _said(_call("c1")), _user(_text("wait")), _said(_text("x")), _USER, tools=tools)
    yield Proof(fit.calls_are_answered, two, _called())


def _thinking() -> Iterator[Proof]:
    good = _called(_thought("a", 0, 2), _hidden(1, 2), _call(), thinking=_THINKING)
    forged: Sequence[Json] = (
        {**_thought(), "thinking": "Let me see."},
        {**_thought(), "signature": ""},
        {"type": "thinking", "thinking": "Let me look."},
        {"type": "redacted_thinking", "data": "bm8="},
    )
    for block in forged:
        yield Proof(fit.thinking_signed, _called(block, _call(), thinking=_THINKING), good)
    yield Proof(fit.thinking_begins_turn, _called(thinking=_THINKING), _called())
    yield Proof(fit.thinking_begins_turn, _called(_text("x"), _thought(), _call(), thinking=_THINKING), good)
    more = [_USER, _said(_thought(), _call("c1")), _user(_result("c1")), _said(_call("c2")), _user(_result("c2"))]
    tools = [_tool()]
    lost = [_USER, _said(_call("c1")), *more[2:]]
    yield Proof(
        fit.thinking_begins_turn,
        _asked(*lost, thinking=_THINKING, tools=tools),
        _asked(*more, thinking=_THINKING, tools=tools),
    )
    for kept in ([_thought("a", 0, 2)], [_hidden(1, 2)], [_hidden(1, 2), _thought("a", 0, 2)]):
        yield Proof(fit.thinking_kept, _called(*kept, _call(), thinking=_THINKING), good)


PROOFS: Final[Sequence[Proof]] = (*_parts(), *_settings(), *_fit())
