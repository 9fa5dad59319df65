"""All providers whose rules are kept here."""

from typing import Final

from tests.agents.providers._anthropic import ANTHROPIC
from tests.agents.providers._bedrock import BEDROCK
from tests.agents.providers._deepseek import DEEPSEEK
from tests.agents.providers._gemini import GEMINI
from tests.agents.providers._mistral import MISTRAL
from tests.agents.providers._openai_chat import OPENAI_CHAT
from tests.agents.providers._openai_responses import OPENAI_RESPONSES
from tests.agents.providers._rules import Provider

PROVIDERS: Final[tuple[Provider, ...]] = (
    OPENAI_CHAT,
    OPENAI_RESPONSES,
    MISTRAL,
    DEEPSEEK,
    ANTHROPIC,
    GEMINI,
    BEDROCK,
)
