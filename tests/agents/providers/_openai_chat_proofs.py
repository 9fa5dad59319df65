"""For each rule of OpenAI's chat completions a request that breaks it and one that does not."""

from typing import Any, Final

from tests.agents.providers import _openai_chat_options as options
from tests.agents.providers import _openai_chat_rules as rules
from tests.agents.providers._chat_rules import assistant, called, image, result, tool, user, with_
from tests.agents.providers._rules import Json, Proof

_ASKED: Final[Json] = {"model": "gpt-4.1-mini", "messages": [user()], "tools": [tool()]}
_CITY: Final[Json] = {"city": {"type": "string"}}
_CLOSED: Final[Json] = {
    "type": "object",
    "properties": _CITY,
    "required": ["city"],
    "additionalProperties": False,
}


def said(*messages: Json, **changes: Any) -> Json:
    return with_(_ASKED, messages=list(messages), **changes)


def given(parameters: object, **more: Any) -> Json:
    return with_(_ASKED, tools=[tool(parameters=parameters, **more)])


def answering(schema: Json, name: str = "Report", *, strict: bool = False) -> Json:
    asked = {"name": name, "schema": schema, "strict": strict}
    return with_(_ASKED, response_format={"type": "json_schema", "json_schema": asked})


def nested(levels: int) -> Json:
    schema = _CLOSED
    for _ in range(levels - 1):
        schema = {**_CLOSED, "properties": {"city": schema}}
    return schema


def of_many(number: int) -> Json:
    names = [f"p{index}" for index in range(number)]
    return {**_CLOSED, "properties": {name: {"type": "string"} for name in names}, "required": names}


def with_image(role: str, part: Json) -> Json:
    if role == "tool":
        return said(user(), called("c"), result("c", [part]))
    return said({"role": role, "content": [part]})


_SHOWN: Final = image()
_WORD: Final = {"type": "text", "text": "3 degrees"}
_ARRAYS: Final[tuple[Json, ...]] = (
    {"type": "array"},
    {"type": ["array", "null"]},
    {"type": "array", "prefixItems": [{"type": "string"}]},
)
_CHOICES: Final[tuple[Json, ...]] = ({"tool_choice": "auto"}, {"tool_choice": "none"}, {"parallel_tool_calls": False})

PROOFS: Final = (
    Proof(rules.messages_are_there, said(), said(user())),
    Proof(rules.messages_are_there, said({"role": "model", "content": "?"}), said(user())),
    Proof(rules.messages_have_no_unknown_fields, said(assistant(reasoning_content="so"), user()), said(assistant())),
    Proof(rules.messages_have_no_unknown_fields, said(assistant(thinking_blocks=[]), user()), said(assistant())),
    Proof(rules.content_is_there, said(user(), assistant(None), user()), said(user(), assistant(""), user())),
    Proof(rules.content_is_there, said(user(None)), said(user(), called("c"), result("c"))),
    Proof(rules.call_lists_are_not_empty, said(user(), assistant(tool_calls=[])), said(user(), assistant())),
    Proof(
        rules.call_ids_are_short,
        said(user(), called("c" * 41), result("c" * 41)),
        said(user(), called("c" * 40), result("c" * 40)),
    ),
    Proof(rules.call_ids_are_short, said(user(), called(""), result("")), said(user(), called("c"), result("c"))),
    *(
        Proof(
            rules.called_names_fit,
            said(user(), called("c", name=bad), result("c")),
            said(user(), called("c", name=good), result("c")),
        )
        for bad, good in [("functions.look", "functions-look"), ("", "_"), ("a" * 65, "a" * 64)]
    ),
    Proof(
        rules.call_ids_are_distinct,
        said(user(), called("c", "c"), result("c"), result("c")),
        said(user(), called("c", "d"), result("c"), result("d")),
    ),
    *(
        Proof(rules.results_follow_their_calls, said(*bad), said(user(), called("c", "d"), result("d"), result("c")))
        for bad in [
            [user(), called("c", "d"), result("c")],
            [user(), called("c"), user()],
            [user(), called("c"), user(), result("c")],
            [user(), result("c")],
            [user(), called("c"), result("d")],
            [user(), called("c"), result("c"), result("c")],
        ]
    ),
    Proof(rules.only_users_show_images, with_image("tool", _SHOWN), with_image("tool", _WORD)),
    Proof(rules.only_users_show_images, with_image("assistant", _SHOWN), with_image("user", _SHOWN)),
    Proof(rules.only_users_show_images, with_image("user", {"type": "image"}), with_image("user", _SHOWN)),
    *(
        Proof(rules.images_are_of_known_types, with_image("user", image(bad)), with_image("user", image(good)))
        for bad, good in [
            ("data:image/bmp;base64,Qk0=", "data:image/webp;base64,Qk0="),
            ("data:image/png;base64,", "data:image/png;base64,Qk0="),
            ("sea.png", "https://example.org/sea.png"),
        ]
    ),
    Proof(options.tool_lists_are_not_empty, with_(_ASKED, tools=[]), with_(_ASKED, tools=None)),
    Proof(
        options.tool_lists_are_not_empty,
        with_(_ASKED, tools=[tool(f"t{index}") for index in range(129)]),
        with_(_ASKED, tools=[tool(f"t{index}") for index in range(128)]),
    ),
    *(
        Proof(options.tool_names_fit, with_(_ASKED, tools=[tool(bad)]), with_(_ASKED, tools=[tool(good)]))
        for bad, good in [("files.read", "files_read"), ("", "a"), ("a" * 65, "a" * 64), ("læs", "laes")]
    ),
    Proof(
        options.tool_descriptions_are_short,
        with_(_ASKED, tools=[tool(description="a" * 1025)]),
        with_(_ASKED, tools=[tool(description="a" * 1024)]),
    ),
    *(
        Proof(options.parameters_are_one_object, given(bad), given({"type": "object", "properties": _CITY}))
        for bad in [
            {"$defs": {"A": _CLOSED}, "$ref": "#/$defs/A"},
            {"type": "array", "items": {"type": "string"}},
            {"anyOf": [_CLOSED, _CLOSED]},
            {"type": "object", "properties": _CITY, "oneOf": [{"required": ["city"]}]},
            {"type": "object", "properties": {}, "allOf": [_CLOSED]},
        ]
    ),
    Proof(options.parameters_are_complete, given({"type": "object"}), given({"type": "object", "properties": {}})),
    *(
        Proof(
            options.parameters_are_complete,
            given({"type": "object", "properties": {"cities": bad}}),
            given({"type": "object", "properties": {"cities": {**bad, "items": {"type": "string"}}}}),
        )
        for bad in _ARRAYS
    ),
    *(
        Proof(options.strict_parameters_are_closed, given(bad, strict=True), given(good, strict=good is _CLOSED))
        for bad, good in [
            ({"type": "object", "properties": _CITY, "required": ["city"]}, _CLOSED),
            ({**_CLOSED, "required": []}, _CLOSED),
            ({**_CLOSED, "required": []}, {**_CLOSED, "required": []}),
            ({**_CLOSED, "properties": {"city": {"not": {"type": "null"}}}}, _CLOSED),
            ({**_CLOSED, "properties": {"city": {"$ref": "#", "description": "of it"}}}, _CLOSED),
        ]
    ),
    Proof(options.strict_parameters_are_closed, given(nested(11), strict=True), given(nested(10), strict=True)),
    Proof(options.strict_parameters_are_closed, given(of_many(5001), strict=True), given(of_many(5000), strict=True)),
    *(
        Proof(options.choice_needs_tools, with_(_ASKED, tools=None, **asked), with_(_ASKED, **asked))
        for asked in _CHOICES
    ),
    Proof(
        options.chosen_tool_is_there,
        with_(_ASKED, tool_choice={"type": "function", "function": {"name": "dig"}}),
        with_(_ASKED, tool_choice={"type": "function", "function": {"name": "look"}}),
    ),
    Proof(options.answers_name_fits, answering(_CLOSED, "Page[int]"), answering(_CLOSED, "Page_int_")),
    Proof(options.answers_name_fits, answering(_CLOSED, "P" * 65), answering(_CLOSED, "P" * 64)),
    Proof(options.answers_schema_is_one_object, answering({"type": "array", "items": {}}), answering(_CLOSED)),
    Proof(options.answers_schema_is_one_object, answering({"$ref": "#/$defs/A"}), answering(_CLOSED, strict=True)),
    Proof(
        options.answers_schema_is_one_object,
        answering({**_CLOSED, "required": []}, strict=True),
        answering({**_CLOSED, "required": []}),
    ),
    Proof(
        options.json_mode_is_named,
        with_(_ASKED, response_format={"type": "json_object"}),
        with_(_ASKED, response_format={"type": "json_object"}, messages=[user("As JSON.")]),
    ),
    *(
        Proof(
            options.reasoning_models_have_their_own_settings,
            with_(_ASKED, model="gpt-5-mini", **bad),
            with_(_ASKED, model="gpt-5-mini", **good),
        )
        for bad, good in [({"max_tokens": 9}, {"max_completion_tokens": 9}), ({"temperature": 0}, {"temperature": 1})]
    ),
)
