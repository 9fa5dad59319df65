"""For each rule of OpenAI's responses a request that breaks it and one that does not."""

from typing import Any, Final

from tests.agents.providers import _openai_responses_options as options
from tests.agents.providers import _openai_responses_rules as rules
from tests.agents.providers._chat_rules import with_
from tests.agents.providers._openai_responses_wire import encrypted, search_id
from tests.agents.providers._rules import Json, Proof

_CITY: Final[Json] = {"city": {"type": "string"}}
_OBJECT: Final[Json] = {"type": "object", "properties": _CITY}
_CLOSED: Final[Json] = {**_OBJECT, "required": ["city"], "additionalProperties": False}


def tool(name: str = "look", parameters: object = _OBJECT, **more: Any) -> Json:
    return {"type": "function", "name": name, "description": "Look.", "parameters": parameters, **more}


_ASKED: Final[Json] = {"model": "gpt-5-mini", "input": "Oslo?", "tools": [tool()]}


def said(*items: Json, **changes: Any) -> Json:
    return with_(_ASKED, input=list(items), **changes)


def user(kind: str = "input_text", **part: Any) -> Json:
    return {"role": "user", "content": [{"type": kind, **(part or {"text": "Oslo?"})}]}


def assistant(kind: str = "output_text") -> Json:
    return {"type": "message", "role": "assistant", "content": [{"type": kind, "text": "Fine."}]}


def called(call_id: str = "call_p", name: str = "look", **more: Any) -> Json:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": "{}", **more}


def output(call_id: str = "call_p", parts: object = "3 degrees") -> Json:
    return {"type": "function_call_output", "call_id": call_id, "output": parts}


def reasoning(id_: str = "rs_1", **more: Any) -> Json:
    return {"type": "reasoning", "id": id_, "summary": [{"type": "summary_text", "text": "Hm."}], **more}


def given(parameters: object, **more: Any) -> Json:
    return with_(_ASKED, tools=[tool(parameters=parameters, **more)])


def answering(schema: Json, name: str = "Report", **more: Any) -> Json:
    return with_(_ASKED, text={"format": {"type": "json_schema", "name": name, "schema": schema, **more}})


def shown(url: object) -> Json:
    return said(user("input_image", image_url=url))


def shown_in_result(url: object) -> Json:
    return said(user(), called(), output(parts=[{"type": "input_image", "image_url": url}]))


_PNG: Final = "data:image/png;base64,iVBORw0KGgo="
_BMP: Final = "data:image/bmp;base64,Qk0="
_SECRET: Final = encrypted("Hm.")
_MADE: Final = [called("call_r1", id="fc_r1"), output("call_r1")]
_LESS: Final = "gpt-4.1-mini"
_EFFORTS: Final[tuple[Json, ...]] = ({"reasoning": {"effort": "low"}}, {"include": ["reasoning.encrypted_content"]})


def searched(query: str = "tides", *, after_reasoning: bool = False, **more: Any) -> Json:
    own = search_id("tides", after_reasoning=after_reasoning)
    return {"type": "web_search_call", "id": own, "status": "completed", "action": {"query": query}, **more}


PROOFS: Final = (
    Proof(
        rules.searches_stand_after_their_reasoning,
        said(user(), searched(after_reasoning=True), assistant()),
        said(user(), searched(), assistant()),
    ),
    Proof(
        rules.searches_are_unchanged,
        said(user(), searched(query="waves"), assistant()),
        said(user(), searched(), assistant()),
    ),
    Proof(rules.input_is_there, said(), said(user())),
    Proof(rules.input_is_there, said({"role": "tool", "content": "3"}), said(user())),
    Proof(rules.input_is_there, said({"type": "thinking"}), said(user())),
    Proof(rules.parts_are_the_roles_own, said(user(), assistant("input_text")), said(user(), assistant())),
    Proof(rules.parts_are_the_roles_own, said(user("text")), said(user())),
    Proof(
        rules.parts_are_the_roles_own,
        said(user(), called(), output(parts=[{"type": "output_text", "text": "3"}])),
        said(user(), called(), output(parts=[{"type": "input_text", "text": "3"}])),
    ),
    Proof(
        rules.item_ids_are_of_their_type,
        said(user(), called(id="call_p"), output()),
        said(user(), called(id="fc_p"), output()),
    ),
    Proof(
        rules.item_ids_are_of_their_type,
        said(user(), reasoning(""), *_MADE),
        said(user(), reasoning("rs_1"), *_MADE),
    ),
    Proof(
        rules.items_stand_once,
        said(user(), reasoning(), *_MADE, reasoning(), assistant()),
        said(user(), reasoning(), *_MADE, reasoning("rs_2"), assistant()),
    ),
    Proof(
        rules.items_stand_once,
        said(user(), called(), output(), called(), output()),
        said(user(), called(), output(), called("call_q"), output("call_q")),
    ),
    *(
        Proof(rules.call_ids_are_short, said(user(), called(bad), output(bad)), said(user(), called(ok), output(ok)))
        for bad, ok in [("c" * 65, "c" * 64), ("", "c")]
    ),
    *(
        Proof(rules.called_names_fit, said(user(), called(name=bad), output()), said(user(), called(name=ok), output()))
        for bad, ok in [("functions.look", "functions_look"), ("", "a"), ("a" * 65, "a" * 64)]
    ),
    *(
        Proof(rules.calls_and_outputs_match, said(*bad), said(user(), called(), output(), user()))
        for bad in [
            [user(), called()],
            [user(), called(), user()],
            [user(), output()],
            [user(), output(), called()],
            [user(), called(), output(), output()],
        ]
    ),
    Proof(
        rules.encrypted_reasoning_is_unchanged,
        said(user(), reasoning(encrypted_content=f"{_SECRET}A"), *_MADE),
        said(user(), reasoning(encrypted_content=_SECRET), *_MADE),
    ),
    Proof(
        rules.encrypted_reasoning_is_unchanged,
        said(user(), reasoning(encrypted_content="signed by somebody else"), *_MADE),
        said(user(), reasoning(encrypted_content=_SECRET), *_MADE),
    ),
    Proof(
        rules.unstored_reasoning_is_complete,
        said(user(), reasoning(), *_MADE, store=False),
        said(user(), reasoning(encrypted_content=_SECRET), *_MADE, store=False),
    ),
    Proof(
        rules.unstored_reasoning_is_complete,
        said(user(), reasoning(), *_MADE, store=False),
        said(user(), reasoning(), *_MADE, store=True),
    ),
    Proof(rules.reasoning_stands_before_its_call, said(user(), *_MADE), said(user(), reasoning(), *_MADE)),
    Proof(
        rules.reasoning_stands_before_its_call,
        said(user(), called("call_r1"), output("call_r1")),
        said(user(), called("call_p1"), output("call_p1")),
    ),
    Proof(
        rules.reasoning_stands_before_its_call,
        said(user(), reasoning(), *_MADE, called("call_r2"), output("call_r2")),
        said(user(), reasoning(), *_MADE, reasoning("rs_2"), called("call_r2"), output("call_r2")),
    ),
    Proof(rules.reasoning_is_followed, said(user(), reasoning()), said(user(), reasoning(), assistant())),
    Proof(rules.reasoning_is_followed, said(reasoning(), user()), said(reasoning(), reasoning("rs_2"), assistant())),
    Proof(rules.images_are_of_known_types, shown(_BMP), shown(_PNG)),
    Proof(rules.images_are_of_known_types, shown_in_result(_BMP), shown_in_result(_PNG)),
    Proof(rules.images_are_of_known_types, shown({"url": _PNG}), shown("https://example.org/sea.png")),
    Proof(rules.images_are_of_known_types, shown("sea.png"), shown("https://example.org/sea.png")),
    *(
        Proof(options.tool_names_fit, with_(_ASKED, tools=[tool(bad)]), with_(_ASKED, tools=[tool(ok)]))
        for bad, ok in [("files.read", "files_read"), ("", "a"), ("a" * 65, "a" * 64)]
    ),
    *(
        Proof(options.parameters_are_one_object, given(bad), given(_OBJECT))
        for bad in [
            {"$defs": {"A": _CLOSED}, "$ref": "#/$defs/A"},
            {"anyOf": [_CLOSED]},
            {**_OBJECT, "oneOf": []},
            {**_OBJECT, "enum": []},
        ]
    ),
    Proof(options.parameters_are_complete, given({"type": "object"}), given({"type": "object", "properties": {}})),
    Proof(
        options.parameters_are_complete,
        given({"type": "object", "properties": {"cities": {"type": "array"}}}),
        given({"type": "object", "properties": {"cities": {"type": "array", "items": {}}}}),
    ),
    Proof(options.strict_parameters_are_closed, given(_OBJECT, strict=True), given(_CLOSED, strict=True)),
    Proof(options.strict_parameters_are_closed, given(_OBJECT, strict=True), given(_OBJECT, strict=False)),
    Proof(
        options.chosen_tool_is_there,
        with_(_ASKED, tool_choice="required", tools=None),
        with_(_ASKED, tool_choice="required"),
    ),
    Proof(
        options.chosen_tool_is_there,
        with_(_ASKED, tool_choice={"type": "function", "name": "dig"}),
        with_(_ASKED, tool_choice={"type": "function", "name": "look"}),
    ),
    Proof(options.answers_name_fits, answering(_CLOSED, "Page[int]"), answering(_CLOSED, "Page_int_")),
    Proof(options.answers_schema_is_one_object, answering({"type": "array", "items": {}}), answering(_CLOSED)),
    Proof(options.answers_schema_is_one_object, answering(_OBJECT, strict=True), answering(_OBJECT, strict=False)),
    Proof(
        options.json_mode_is_named,
        with_(_ASKED, text={"format": {"type": "json_object"}}),
        with_(_ASKED, text={"format": {"type": "json_object"}}, input="Oslo, as JSON."),
    ),
    Proof(options.answers_are_given_room, with_(_ASKED, max_output_tokens=15), with_(_ASKED, max_output_tokens=16)),
    *(
        Proof(options.reasoning_models_take_no_temperature, with_(_ASKED, **asked), with_(_ASKED, model=_LESS, **asked))
        for asked in [{"temperature": 1}, {"top_p": 1}]
    ),
    *(
        Proof(
            options.only_reasoning_models_are_asked_to_reason,
            with_(_ASKED, model=_LESS, **asked),
            with_(_ASKED, **asked),
        )
        for asked in _EFFORTS
    ),
)
