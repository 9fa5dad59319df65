"""OpenAI's responses, to which litellm bridges from chat completions."""

import re
from typing import Final

from tests.agents.providers import _openai_responses_options, _openai_responses_rules
from tests.agents.providers._chat_wire import problem
from tests.agents.providers._openai_responses_proofs import PROOFS
from tests.agents.providers._openai_responses_wire import read, reply
from tests.agents.providers._rules import Provider, Setting

OPENAI_RESPONSES: Final = Provider(
    name="openai-responses",
    title="OpenAI responses",
    path=re.compile("/v1/responses"),
    usual="/v1/responses",
    setting=Setting("openai/responses/gpt-4.1-mini", "/v1"),
    thinking=Setting("openai/responses/gpt-5-mini", "/v1", {"reasoning_effort": "low"}),
    rules=(*_openai_responses_rules.RULES, *_openai_responses_options.RULES),
    proofs=PROOFS,
    read=read,
    reply=reply,
    problem=problem,
    takes=frozenset({"image", "refusal", "image in result", "thinking", "pdf"}),
)
