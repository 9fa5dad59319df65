"""For each rule of Gemini's generateContent a request that breaks it, and one that differs in nothing but that."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from tests.agents.providers import _gemini_fit as fit
from tests.agents.providers import _gemini_parts as parts
from tests.agents.providers import _gemini_schemas as schemas
from tests.agents.providers import _gemini_settings as settings
from tests.agents.providers._images import PNG
from tests.agents.providers._rules import Json, Proof
from tests.agents.providers._seals import hide

_THREE: Final = "/models/gemini-3-pro-preview:generateContent"
_PRO: Final = "/models/gemini-2.5-pro:generateContent"
_OBJECT: Final[Json] = {"type": "object", "properties": {"city": {"type": "string"}}}
_SIGNED: Final[Json] = {"thoughtSignature": hide("[]", 0, 1)}


def _user(*made: Json) -> Json:
    return {"role": "user", "parts": list(made) or [{"text": "hi"}]}


def _said(*made: Json) -> Json:
    return {"role": "model", "parts": list(made) or [{"text": "ho"}]}


def _asked(*contents: Json, **fields: Any) -> Json:
    return {"contents": list(contents) or [_user()], **fields}


def _call(name: str = "look", **fields: Any) -> Json:
    return {"functionCall": {"name": name, "args": {}, **fields}}


def _response(name: str = "look", **fields: Any) -> Json:
    return {"functionResponse": {"name": name, "response": {"content": "fine"}, **fields}}


def _called(calls: Sequence[Json] = (), responses: Sequence[Json] = (), **fields: Any) -> Json:
    """A conversation with a call in it."""
    made = _said(*(calls or [_call()]))
    return _asked(_user(), made, _user(*(responses or [_response()])), **{"tools": _tools(_function()), **fields})


def _function(name: str = "look", parameters: Json = _OBJECT, **fields: Any) -> Json:
    return {"name": name, "description": "Looks.", "parameters": parameters, **fields}


def _tools(*functions: Json) -> list[Json]:
    return [{"function_declarations": list(functions)}]


def _with(node: Json) -> Json:
    """A request with a function whose argument is described so."""
    return _asked(tools=_tools(_function(parameters={"type": "object", "properties": {"x": node}})))


def _image(kind: str = "image/png", data: str = PNG) -> Json:
    return {"inline_data": {"mime_type": kind, "data": data}}


def _config(**fields: Any) -> Json:
    return _asked(generationConfig=fields)


def _parts() -> Iterator[Proof]:
    good = _asked()
    yield Proof(parts.contents_there, {"contents": []}, good)
    yield Proof(parts.roles, _asked({**_user(), "role": "assistant"}, _user()), _asked(_said(), _user()))
    yield Proof(parts.parts_there, _asked(_user(), {"role": "model", "parts": []}, _user()), good)
    yield Proof(parts.known_fields, _asked(_user({"text": "hi", "reasoning_content": "x"})), good)
    yield Proof(parts.known_fields, _called([_call(arguments="{}")]), _called())
    yield Proof(parts.known_fields, _called(responses=[_response(is_error=True)]), _called())
    yield Proof(parts.one_kind_of_data, _asked(_user({})), good)
    yield Proof(
        parts.one_kind_of_data, _asked(_user({"text": "hi", **_image()})), _asked(_user({"text": "hi"}, _image()))
    )
    yield Proof(parts.text_not_empty, _asked(_user({"text": ""})), good)
    yield Proof(
        parts.text_not_empty,
        _asked(_user(), _said({"text": ""}), _user()),
        _asked(_user(), _said({"text": "", **_SIGNED}), _user()),
    )
    for kind in ("image/gif", "image/jpg", "application/json"):
        yield Proof(parts.media_types, _asked(_user(_image(kind))), _asked(_user(_image())))
    yield Proof(parts.data_is_base64, _asked(_user(_image(data="%"))), _asked(_user(_image())))
    seen = _called([{**_call(), **_SIGNED}], [_response(parts=[_image()])])
    yield Proof(parts.media_in_responses, seen, _called())
    yield Proof(parts.media_types, _called(responses=[_response(parts=[_image("image/gif")])]), _called())
    yield Proof(parts.called_names, _called([_call("")]), _called([_call("a.b:c")], [_response("a.b:c")]))
    yield Proof(parts.called_names, _called([_call("a b")], [_response("a b")]), _called())
    yield Proof(parts.called_names, _called(responses=[_response("")]), _called())
    yield Proof(parts.arguments_are_objects, _called([_call(args=[1])]), _called())
    yield Proof(parts.arguments_are_objects, _called(responses=[_response(response="fine")]), _called())


def _fit() -> Iterator[Proof]:
    call, response, tools = _said(_call()), _user(_response()), _tools(_function())
    yield Proof(fit.calls_follow_user, _asked(call, response, tools=tools), _called())
    yield Proof(
        fit.calls_follow_user,
        _asked(_user(), _said(), call, response, tools=tools),
        _asked(_user(), _said(), _user(), call, response, tools=tools),
    )
    yield Proof(
        fit.responses_follow_calls,
        _asked(_user(), call, _user(), response, tools=tools),
        _asked(_user(), call, response, _user(), tools=tools),
    )
    yield Proof(
        fit.responses_stand_alone,
        _called(responses=[_response(), {"text": "and"}]),
        _asked(_user(), call, response, _user({"text": "and"}), tools=tools),
    )
    two = _called([_call(), _call(args={"a": 1})], [_response(), _response()])
    yield Proof(fit.each_call_has_a_response, _called([_call(), _call(args={"a": 1})]), two)
    yield Proof(fit.each_call_has_a_response, _called(responses=[_response(), _response()]), two)
    yield Proof(fit.each_call_has_a_response, _called(responses=[_response("see")]), _called())
    yield Proof(fit.each_call_has_a_response, _asked(_user(), call, _user(), tools=tools), _called())
    yield Proof(
        fit.responses_have_the_ids_of_calls,
        _called([_call(id="a")], [_response(id="b")]),
        _called([_call(id="a")], [_response(id="a")]),
    )
    yield Proof(fit.ends_with_user, _asked(_user(), _said()), _asked(_user(), _said(), _user()))
    yield from _signatures()


def _signatures() -> Iterator[Proof]:
    signed = {**_call(), **_SIGNED}
    good = _called([signed, _call()], [_response(), _response()])
    yield Proof(fit.signature_on_calls, _called(), _called([signed]), path=_THREE)
    yield Proof(fit.signature_on_calls, _called([_call(), signed], [_response(), _response()]), good, path=_THREE)
    first, after, tools = _said(signed), _user(_response()), _tools(_function())
    lost = _asked(_user(), first, after, _said(_call()), after, tools=tools)
    yield Proof(fit.signature_on_calls, lost, _asked(_user(), first, after, first, after, tools=tools), path=_THREE)
    old = _asked(_user(), _said(_call()), after, _said(), _user(), first, after, tools=tools)
    for forged in ("sig", "c2ln", ""):
        yield Proof(
            fit.signature_is_its_own, _asked(_user(), _said({"text": "x", "thoughtSignature": forged}), _user()), old
        )


def _settings() -> Iterator[Proof]:
    good = _asked(tools=_tools(_function()))
    yield Proof(settings.known_settings, _asked(messages=[]), good)
    yield Proof(settings.known_settings, _asked(tools=_tools(_function(strict=True))), good)
    for bad, fine in (("1x", "_x"), ("b/c", "b.c:d-e"), ("x" * 65, "x" * 64), ("", "x")):
        yield Proof(
            settings.function_names, _asked(tools=_tools(_function(bad))), _asked(tools=_tools(_function(fine)))
        )
    yield Proof(settings.unique_functions, _asked(tools=_tools(_function(), _function())), good)
    many = [_function(f"f{number}") for number in range(129)]
    yield Proof(settings.not_too_many_functions, _asked(tools=_tools(*many)), _asked(tools=_tools(*many[1:])))
    both = _function(parametersJsonSchema=_OBJECT)
    only = {key: value for key, value in both.items() if key != "parameters"}
    yield Proof(settings.one_form_of_parameters, _asked(tools=_tools(both)), _asked(tools=_tools(only)))
    config = {"responseMimeType": "application/json"}
    asked = _asked(tools=_tools(_function()), generationConfig=config)
    yield Proof(settings.functions_or_json, asked, _config(**config))
    yield Proof(settings.functions_or_json, asked, good)
    none = {"functionCallingConfig": {"mode": "NONE"}}
    yield Proof(settings.choice_among_functions, _asked(toolConfig=none), {**good, "toolConfig": none})
    for mode, name in (("AUTO", "look"), ("ANY", "see")):
        chosen = {"functionCallingConfig": {"mode": mode, "allowedFunctionNames": [name]}}
        right = {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["look"]}}
        yield Proof(settings.choice_among_functions, {**good, "toolConfig": chosen}, {**good, "toolConfig": right})
    yield from _thinking()


def _thinking() -> Iterator[Proof]:
    level, budget = {"thinkingLevel": "low"}, {"thinkingBudget": 1024}
    good = _config(thinkingConfig=level)
    yield Proof(settings.thinking, _config(thinkingConfig={**level, **budget}), good, path=_THREE)
    yield Proof(settings.thinking, good, _config(thinkingConfig=budget))
    off = _config(thinkingConfig={"thinkingBudget": 0})
    yield Proof(settings.thinking_budget, off, _config(thinkingConfig={"thinkingBudget": -1}), path=_PRO)
    yield Proof(settings.thinking_budget, _config(thinkingConfig={"thinkingBudget": 24577}), off)
    yield Proof(settings.temperature, _config(temperature=2.5), _config(temperature=2))


def _schemas() -> Iterator[Proof]:
    good = _with({"type": "string"})
    for key, value in (("$ref", "#/$defs/A"), ("const", "a"), ("oneOf", []), ("additionalProperties", False)):
        yield Proof(schemas.schema_fields, _with({"type": "string", key: value}), good)
    yield Proof(schemas.schema_fields, _asked(tools=_tools(_function(parameters={**_OBJECT, "$defs": {}}))), good)
    yield Proof(schemas.schema_types, _with({"type": ["string", "null"]}), _with({"type": "string", "nullable": True}))
    yield Proof(schemas.schema_types, _with({}), _with({"anyOf": [{"type": "string"}]}))
    yield Proof(
        schemas.schema_fits_type, _with({"type": "array"}), _with({"type": "array", "items": {"type": "string"}})
    )
    strays: Sequence[tuple[str, Json]] = (("items", {"type": "string"}), ("properties", {}))
    for field, inner in strays:
        yield Proof(schemas.schema_fits_type, _with({"type": "string", field: inner}), good)
    yield Proof(
        schemas.schema_fits_type, _with({"type": "integer", "enum": ["1"]}), _with({"type": "string", "enum": ["1"]})
    )
    yield Proof(schemas.enum_is_text, _with({"type": "string", "enum": [1]}), _with({"type": "string", "enum": ["1"]}))
    yield Proof(schemas.enum_is_text, _with({"type": "string", "enum": []}), good)
    uuid = {"type": "string", "format": "uuid"}
    yield Proof(schemas.formats, _with(uuid), _with({**uuid, "format": "date-time"}))
    asking = {**_OBJECT, "required": ["country"]}
    yield Proof(
        schemas.required_is_there,
        _asked(tools=_tools(_function(parameters=asking))),
        _asked(tools=_tools(_function(parameters={**asking, "required": ["city"]}))),
    )
    yield from _json_schemas()


def _json_schemas() -> Iterator[Proof]:
    def asked(schema: Json) -> Json:
        return _config(responseMimeType="application/json", responseJsonSchema=schema)

    node = {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}}
    root = {"type": "object", "properties": {"root": {"$ref": "#/$defs/Node"}}, "required": ["root"]}
    good = asked({**root, "$defs": {"Node": node}})
    told = {**root, "properties": {"root": {"$ref": "#/$defs/Node", "description": "It."}}, "$defs": {"Node": node}}
    forced = {**root, "$defs": {"Node": {**node, "required": ["kids"]}}}
    for schema in (root, told, forced):
        yield Proof(schemas.json_schemas, asked(schema), good)
        function = {"name": "look", "parametersJsonSchema": schema}
        yield Proof(schemas.json_schemas, _asked(tools=_tools(function)), good)


PROOFS: Final[Sequence[Proof]] = (*_parts(), *_settings(), *_schemas(), *_fit())
