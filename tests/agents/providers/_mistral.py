"""Mistral's chat completions, and for each of its rules a request that breaks it and one that does not."""

import re
from typing import Any, Final

from tests.agents.providers import _mistral_rules as rules
from tests.agents.providers._chat_rules import assistant, called, image, result, tool, user, with_
from tests.agents.providers._chat_wire import Dialect, read, reply
from tests.agents.providers._rules import Json, Proof, Provider, Refused, Reply, Request, Says, Setting

_DIALECT: Final = Dialect(
    call_id=lambda number, index: f"m{number:04}{index:04}",
    thinks=lambda text: {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]},
    stops={"length": "length", "filter": "error"},
)


def _reply(request: Request, said: Says, number: int) -> Reply:
    return reply(request, said, number, _DIALECT)


def _problem(refused: Refused) -> Json:
    return {
        "object": "error",
        "message": refused.message,
        "type": "invalid_request_message_order" if refused.code == "3230" else "invalid_request_error",
        "param": None,
        "code": refused.code,
    }


_A, _B = "a00000001", "a00000002"
_ASKED: Final[Json] = {"model": "mistral-large-latest", "messages": [user()], "tools": [tool()]}
_FIELDS: Final[tuple[tuple[Json, Json], ...]] = (
    ({"stream_options": {"include_usage": True}}, {"parallel_tool_calls": False}),
    ({"max_completion_tokens": 9}, {"max_tokens": 9}),
    ({"seed": 1}, {"random_seed": 1}),
)
_SCHEMA: Final[Json] = {"type": "json_schema", "json_schema": {"name": "Report", "schema": {"type": "object"}}}


def said(*messages: Json, **changes: Any) -> Json:
    return with_(_ASKED, messages=list(messages), **changes)


def shown(url: str) -> Json:
    return said(user([image(url)]))


PROOFS: Final = (
    *(Proof(rules.fields_are_known, with_(_ASKED, **bad), with_(_ASKED, **good)) for bad, good in _FIELDS),
    Proof(rules.messages_have_no_unknown_fields, said(), said(user())),
    Proof(rules.messages_have_no_unknown_fields, said({"role": "developer", "content": "?"}), said(user())),
    *(
        Proof(rules.messages_have_no_unknown_fields, said(bad, user()), said(assistant(), user()))
        for bad in [assistant(reasoning_content="so"), assistant(thinking_blocks=[]), {**user(), "name": "ann"}]
    ),
    Proof(rules.functions_have_no_unknown_fields, with_(_ASKED, tools=[tool(required=["city"])]), _ASKED),
    Proof(rules.tool_lists_are_not_empty, with_(_ASKED, tools=[]), with_(_ASKED, tools=None)),
    *(
        Proof(rules.answers_say_something, said(user(), bad, user()), said(user(), assistant(), user()))
        for bad in [assistant(""), assistant(None), {"role": "assistant"}]
    ),
    Proof(rules.answers_say_something, said(user(), assistant(""), user()), said(user(), called(_A), result(_A))),
    *(
        Proof(
            rules.call_ids_have_nine_characters,
            said(user(), called(bad), result(bad)),
            said(user(), called(_A), result(_A)),
        )
        for bad in ["call_0001", "a0000001", "a000000001", "", "ä00000001"]
    ),
    Proof(
        rules.call_ids_have_nine_characters,
        said(user(), called(_A), result("a1")),
        said(user(), called(_A), result(_A)),
    ),
    *(
        Proof(
            rules.called_names_fit,
            said(user(), called(_A, name=bad), result(_A)),
            said(user(), called(_A, name=good), result(_A)),
        )
        for bad, good in [("functions.look", "functions-look"), ("", "_"), ("a" * 65, "a" * 64)]
    ),
    *(
        Proof(rules.tool_names_fit, with_(_ASKED, tools=[tool(bad)]), with_(_ASKED, tools=[tool(good)]))
        for bad, good in [("files.read", "files_read"), ("", "a"), ("a" * 65, "a" * 64)]
    ),
    Proof(
        rules.roles_follow_each_other,
        said(user(), called(_A), result(_A), user()),
        said(user(), called(_A), result(_A), assistant(), user()),
    ),
    Proof(rules.roles_follow_each_other, said(user(), result(_A)), said(user(), user())),
    Proof(
        rules.roles_follow_each_other,
        said(user(), called(_A), result(_A), {"role": "system", "content": "Go on."}, user()),
        said({"role": "system", "content": "Go on."}, user(), called(_A), result(_A)),
    ),
    Proof(
        rules.last_message_is_a_users_or_a_result,
        said(user(), assistant()),
        said(user(), assistant(), user()),
    ),
    Proof(
        rules.last_message_is_a_users_or_a_result,
        said(user(), assistant()),
        said(user(), assistant(prefix=True)),
    ),
    *(
        Proof(rules.results_match_their_calls, said(*bad), said(user(), called(_A, _B), result(_B), result(_A)))
        for bad in [
            [user(), called(_A, _B), result(_A)],
            [user(), called(_A, _B), result(_A), assistant(), user()],
            [user(), called(_A), user()],
            [user(), called(_A), result(_B)],
            [user(), called(_A), result(_A), result(_A)],
            [user(), called(_A, _A), result(_A), result(_A)],
        ]
    ),
    Proof(
        rules.only_users_show_images,
        said(user(), called(_A), result(_A, [image()])),
        said(user(), called(_A), result(_A), assistant(), user([image()])),
    ),
    *(
        Proof(rules.images_are_of_known_types, shown(bad), shown(good))
        for bad, good in [
            ("data:image/bmp;base64,Qk0=", "data:image/webp;base64,Qk0="),
            ("sea.png", "https://example.org/sea.png"),
        ]
    ),
    Proof(
        rules.tools_and_schema_exclude_each_other,
        with_(_ASKED, response_format=_SCHEMA),
        with_(_ASKED, response_format=_SCHEMA, tools=None),
    ),
)

MISTRAL: Final = Provider(
    name="mistral",
    title="Mistral",
    path=re.compile("/v1/chat/completions"),
    usual="/v1/chat/completions",
    setting=Setting("mistral/mistral-large-latest", "/v1"),
    thinking=Setting("mistral/magistral-medium-latest", "/v1"),
    rules=rules.RULES,
    proofs=PROOFS,
    read=read,
    reply=_reply,
    problem=_problem,
    takes=frozenset({"image"}),
)
