"""Bedrock's Converse API, with a model of Anthropic's."""

import re
from typing import Final

from tests.agents.providers._bedrock_fit import FIT
from tests.agents.providers._bedrock_parts import PARTS
from tests.agents.providers._bedrock_proofs import PROOFS
from tests.agents.providers._bedrock_settings import SETTINGS
from tests.agents.providers._bedrock_wire import problem, read, reply
from tests.agents.providers._rules import Provider, Setting

_ID: Final = "anthropic.claude-sonnet-4-6"
_MODEL: Final = f"bedrock/converse/{_ID}"
_ENVIRON: Final = {
    "AWS_ACCESS_KEY_ID": "AKIANONE",
    "AWS_SECRET_ACCESS_KEY": "none",
    "AWS_REGION_NAME": "us-east-1",
}
_THINKING: Final = {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 4096}

BEDROCK: Final = Provider(
    name="bedrock",
    title="Bedrock Converse",
    path=re.compile(r"/model/[a-zA-Z0-9.%-]+/converse(-stream)?"),
    usual=f"/model/{_ID}/converse",
    setting=Setting(_MODEL, environ=_ENVIRON),
    thinking=Setting(_MODEL, options=_THINKING, environ=_ENVIRON),
    rules=(*SETTINGS, *PARTS, *FIT),
    proofs=PROOFS,
    read=read,
    reply=reply,
    problem=problem,
    takes=frozenset({"image", "image in result", "pdf", "thinking"}),  # an error flag, too, but litellm never sends it
)
