"""Which model the examples of agents ask: the one that STAGEPOST_MODEL names, or a scripted one on this machine.

The agents do not know the difference. Without the variable a server on 127.0.0.1 speaks the API of OpenAI and answers
as a script says, so that an example needs no network and no key, and litellm, tools and stores are the real ones. With
it, ``STAGEPOST_MODEL=openai/gpt-5-mini`` and the key that litellm looks for (``OPENAI_API_KEY``), a provider answers.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from stagepost.agents import LiteLLM
from stagepost.agents.testing import LocalServer, ServerScript

__all__ = ["example_model"]


@asynccontextmanager
async def example_model(script: ServerScript) -> AsyncIterator[LiteLLM]:
    """The model to ask, for as long as the block lasts.

    Args:
        script: What the server on this machine answers, if it is that one.
    """
    name = os.environ.get("STAGEPOST_MODEL")
    if name:
        async with LiteLLM(name) as model:
            yield model
    else:
        async with (
            LocalServer(script) as server,
            LiteLLM("openai/local", api_base=server.url, api_key="none") as model,
        ):
            yield model
