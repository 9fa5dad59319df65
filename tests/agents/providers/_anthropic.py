"""Anthropic's messages."""

import re
from typing import Final

from tests.agents.providers._anthropic_fit import FIT
from tests.agents.providers._anthropic_parts import PARTS
from tests.agents.providers._anthropic_proofs import PROOFS
from tests.agents.providers._anthropic_served import SERVED
from tests.agents.providers._anthropic_served_proofs import SERVED_PROOFS
from tests.agents.providers._anthropic_settings import SETTINGS
from tests.agents.providers._anthropic_wire import problem, read, reply
from tests.agents.providers._rules import Provider, Setting

_MODEL: Final = "anthropic/claude-sonnet-4-6"
_THINKING: Final = {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 4096}

ANTHROPIC: Final = Provider(
    name="anthropic",
    title="Anthropic messages",
    path=re.compile("/v1/messages"),
    usual="/v1/messages",
    setting=Setting(_MODEL),
    thinking=Setting(_MODEL, options=_THINKING),
    rules=(*PARTS, *SETTINGS, *FIT, *SERVED),
    proofs=(*PROOFS, *SERVED_PROOFS),
    read=read,
    reply=reply,
    problem=problem,
    takes=frozenset({"image", "image in result", "pdf", "thinking"}),  # an error flag, too, but litellm never sends it
)
