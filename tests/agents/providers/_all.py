"""All providers whose rules are kept here."""

from typing import Final

from tests.agents.providers._anthropic import ANTHROPIC
from tests.agents.providers._openai_chat import OPENAI_CHAT
from tests.agents.providers._rules import Provider

PROVIDERS: Final[tuple[Provider, ...]] = (OPENAI_CHAT, ANTHROPIC)
