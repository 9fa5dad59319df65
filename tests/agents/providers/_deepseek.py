"""DeepSeek's chat completions, and for each of its rules a request that breaks it and one that does not."""

import re
from dataclasses import replace
from typing import Any, Final

from tests.agents.providers import _deepseek_rules as rules
from tests.agents.providers._chat_rules import assistant, called, image, messages, result, tool, user, with_
from tests.agents.providers._chat_wire import Dialect, problem, read, reply
from tests.agents.providers._rules import Asked, Json, Proof, Provider, Reply, Request, Says, Setting, Thought

_DIALECT: Final = Dialect(
    call_id=lambda number, index: f"call_{index:02}_{number:024}",
    thinks=lambda text: {"reasoning_content": text},
    counts_uncached=True,
)
_USUAL: Final = Thought("We are asked something.")  # a model that thinks does so before each answer


def _read(request: Request) -> Asked:
    thoughts = [message.get("reasoning_content") for message in messages(request)]
    return replace(read(request), thoughts=[thought for thought in thoughts if thought])


def _reply(request: Request, said: Says, number: int) -> Reply:
    thinking = (said.thinking or (_USUAL,)) if rules.thinks(request) else ()
    return reply(request, replace(said, thinking=thinking), number, _DIALECT)


_ASKED: Final[Json] = {"model": "deepseek-chat", "messages": [user()], "tools": [tool()]}
_THINKING: Final[Json] = with_(_ASKED, model="deepseek-reasoner")
_FORCED: Final[tuple[Any, ...]] = ("required", {"type": "function", "function": {"name": "look"}})
_SCHEMA: Final[Json] = {"type": "json_schema", "json_schema": {"name": "Report", "schema": {"type": "object"}}}
_JSON: Final[Json] = {"type": "json_object"}


def said(*given: Json, **changes: Any) -> Json:
    return with_(_ASKED, messages=list(given), **changes)


def thought(*given: Json, **changes: Any) -> Json:
    return with_(_THINKING, messages=list(given), **changes)


def given(parameters: object) -> Json:
    return with_(_ASKED, tools=[tool(parameters=parameters)])


PROOFS: Final = (
    Proof(rules.roles_are_known, said(), said(user())),
    Proof(
        rules.roles_are_known,
        said({"role": "developer", "content": "Go."}, user()),
        said({"role": "system", "content": "Go."}, user()),
    ),
    Proof(rules.content_is_text, said(user([image()])), said(user([{"type": "text", "text": "Oslo?"}]))),
    Proof(
        rules.content_is_text,
        said(user(), called("c"), result("c", [image()])),
        said(user(), called("c"), result("c", [{"type": "text", "text": "3"}])),
    ),
    Proof(rules.answers_say_something, said(user(), assistant(None), user()), said(user(), assistant(), user())),
    Proof(rules.answers_say_something, said(user(), assistant(None)), said(user(), called("c"), result("c"))),
    Proof(rules.calls_have_ids, said(user(), called(""), result("")), said(user(), called("c"), result("c"))),
    Proof(
        rules.calls_have_ids,
        said(user(), called("c", name=""), result("c")),
        said(user(), called("c", name="dig"), result("c")),
    ),
    Proof(
        rules.calls_have_ids,
        said(user(), called("c", "c"), result("c"), result("c")),
        said(user(), called("c", "d"), result("c"), result("d")),
    ),
    *(
        Proof(rules.results_follow_their_calls, said(*bad), said(user(), called("c", "d"), result("d"), result("c")))
        for bad in [
            [user(), called("c", "d"), result("c")],
            [user(), called("c"), user()],
            [user(), called("c"), {"role": "system", "content": "!"}, result("c")],
            [user(), result("c")],
            [user(), called("c"), result("d")],
        ]
    ),
    Proof(
        rules.thinking_comes_back_with_its_calls,
        thought(user(), called("c"), result("c")),
        thought(user(), called("c", reasoning_content="Hm."), result("c")),
    ),
    Proof(
        rules.thinking_comes_back_with_its_calls,
        thought(user(), called("c"), result("c"), assistant(), user()),
        thought(user(), called("c"), result("c"), assistant(), user(), thinking={"type": "disabled"}),
    ),
    Proof(
        rules.thinking_comes_back_with_its_calls,
        said(user(), called("c"), result("c"), thinking={"type": "enabled"}),
        said(user(), called("c"), result("c")),
    ),
    *(
        Proof(
            rules.thinking_and_forced_calls_exclude_each_other,
            with_(_THINKING, tool_choice=bad),
            with_(_THINKING, tool_choice="none"),
        )
        for bad in _FORCED
    ),
    *(
        Proof(
            rules.thinking_and_forced_calls_exclude_each_other,
            with_(_THINKING, tool_choice=choice),
            with_(_ASKED, tool_choice=choice),
        )
        for choice in _FORCED
    ),
    Proof(rules.tool_lists_are_not_empty, with_(_ASKED, tools=[]), with_(_ASKED, tools=None)),
    Proof(
        rules.tool_lists_are_not_empty,
        with_(_ASKED, tools=[tool(f"t{index}") for index in range(129)]),
        with_(_ASKED, tools=[tool(f"t{index}") for index in range(128)]),
    ),
    *(
        Proof(rules.tool_names_fit, with_(_ASKED, tools=[tool(bad)]), with_(_ASKED, tools=[tool(good)]))
        for bad, good in [("files.read", "files_read"), ("", "a"), ("a" * 65, "a" * 64)]
    ),
    *(
        Proof(rules.parameters_are_one_object, given(bad), given({"type": "object"}))
        for bad in [{"$ref": "#/$defs/A"}, {"type": "array"}, {"anyOf": [{"type": "object"}]}]
    ),
    Proof(
        rules.answers_are_not_of_a_schema,
        with_(_ASKED, response_format=_SCHEMA),
        with_(_ASKED, response_format={"type": "text"}),
    ),
    Proof(
        rules.json_mode_is_named,
        with_(_ASKED, response_format=_JSON),
        with_(_ASKED, response_format=_JSON, messages=[user("As json.")]),
    ),
)

DEEPSEEK: Final = Provider(
    name="deepseek",
    title="DeepSeek",
    path=re.compile("/chat/completions"),
    usual="/chat/completions",
    setting=Setting("deepseek/deepseek-chat"),
    thinking=Setting("deepseek/deepseek-reasoner"),
    rules=rules.RULES,
    proofs=PROOFS,
    read=_read,
    reply=_reply,
    problem=problem,
    takes=frozenset({"thinking"}),
)
