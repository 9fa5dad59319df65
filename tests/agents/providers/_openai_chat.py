"""OpenAI's chat completions."""

import re
from typing import Final

from tests.agents.providers import _openai_chat_options, _openai_chat_rules
from tests.agents.providers._chat_wire import Dialect, problem, read, reply
from tests.agents.providers._openai_chat_proofs import PROOFS
from tests.agents.providers._rules import Provider, Reply, Request, Says, Setting

_DIALECT: Final = Dialect(call_id=lambda number, index: f"call_{number:016}{index:08}", refuses=True)


def _reply(request: Request, said: Says, number: int) -> Reply:
    return reply(request, said, number, _DIALECT)


OPENAI_CHAT: Final = Provider(
    name="openai-chat",
    title="OpenAI chat completions",
    path=re.compile("/v1/chat/completions"),
    usual="/v1/chat/completions",
    setting=Setting("openai/gpt-4.1-mini", "/v1"),
    rules=(*_openai_chat_rules.RULES, *_openai_chat_options.RULES),
    proofs=PROOFS,
    read=read,
    reply=_reply,
    problem=problem,
    takes=frozenset({"image", "refusal"}),
)
