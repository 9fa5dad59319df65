"""Gemini's generateContent."""

import re
from typing import Final

from tests.agents.providers._gemini_fit import FIT
from tests.agents.providers._gemini_parts import PARTS
from tests.agents.providers._gemini_proofs import PROOFS
from tests.agents.providers._gemini_schemas import SCHEMAS
from tests.agents.providers._gemini_served import SERVED
from tests.agents.providers._gemini_served_proofs import SERVED_PROOFS
from tests.agents.providers._gemini_settings import SETTINGS
from tests.agents.providers._gemini_wire import problem, read, reply
from tests.agents.providers._rules import Provider, Setting

GEMINI: Final = Provider(
    name="gemini",
    title="Gemini generateContent",
    path=re.compile(r"/models/[a-z0-9.-]+:(generateContent|streamGenerateContent\?alt=sse)"),
    usual="/models/gemini-2.5-flash:generateContent",
    setting=Setting("gemini/gemini-2.5-flash"),
    thinking=Setting("gemini/gemini-3-pro-preview", options={"reasoning_effort": "low"}),
    rules=(*PARTS, *SETTINGS, *SCHEMAS, *FIT, *SERVED),
    proofs=(*PROOFS, *SERVED_PROOFS),
    read=read,
    reply=reply,
    problem=problem,
    takes=frozenset({"image", "pdf", "thinking"}),
)
