"""How many tokens there are: by the provider, by a tokenizer, by bytes."""

import pytest
from tests._needs import need
from tests.agents.context._long import Digger, dig, digger, tokens

from stagepost.agents import (
    AssistantMessage,
    ContextPolicy,
    Fallback,
    Image,
    LiteLLM,
    ProviderContent,
    RateLimited,
    ScriptedModel,
    SystemMessage,
    ToolCall,
    UserMessage,
)
from stagepost.agents._context._counting import Tally, estimate, estimate_tools
from stagepost.agents._models._around import count_tokens, model_window


@pytest.mark.parametrize(
    ("message", "tokens"),
    [
        (UserMessage(text=""), 6),
        (UserMessage(text="x" * 400), 106),
        (UserMessage(text="水" * 400), 306),
        (SystemMessage(text="x" * 400), 106),
        (UserMessage(text="", parts=(Image(url="https://x.org/a.png"),)), 1_006),
        (AssistantMessage(calls=(ToolCall(id="c", name="dig", arguments='{"n":1}'),)), 8),
        (AssistantMessage(provider=(ProviderContent(provider="p", model="m", data=("x" * 396,)),)), 106),
    ],
    ids=["nothing", "text", "not ascii", "prompt", "picture", "call", "provider's own"],
)
def test_a_message_is_estimated_by_its_bytes(message: UserMessage, tokens: int) -> None:
    assert estimate(message) == tokens


def test_what_was_counted_says_how_good_the_estimate_is() -> None:
    tally = Tally()
    tally.beside = 50
    said = [UserMessage(text="x" * 176)]
    tally.take(said)
    assert (tally.total, tally.is_counted) == (100, False)
    tally.counted(0)
    assert (tally.total, tally.is_counted) == (100, False)
    tally.counted(200)
    assert (tally.total, tally.is_counted, tally.ratio) == (200, True, 2.0)
    tally.take([*said, UserMessage(text="x" * 176)])
    assert tally.total == 300
    tally.begin()
    assert tally.total == 100
    tally.counted(100_000, also=50)
    assert tally.ratio == 8.0


def test_tools_are_estimated_by_what_is_said_of_them() -> None:
    assert estimate_tools([dig.schema]) > 20
    assert estimate_tools([]) == 0


class Known(ScriptedModel):
    """A model that knows itself."""

    def __init__(self, window: object, factor: int = 1) -> None:
        super().__init__(["x"])
        self.context_window = window
        self.factor = factor

    async def count_tokens(self, text: str) -> int:
        return len(text) * self.factor


@pytest.mark.parametrize(("window", "known"), [(5, 5), (0, None), (None, None), ("many", None), (-1, None)])
def test_a_window_is_a_number_of_tokens(window: object, known: int | None) -> None:
    assert model_window(Known(window)) == known
    assert model_window(ScriptedModel([])) is None


async def test_a_model_around_others_has_the_smallest_window_and_the_first_count() -> None:
    both = Fallback([ScriptedModel([]), Known(9), RateLimited(Known(7, factor=2))])
    assert both.context_window == 7
    assert await both.count_tokens("four") == 4
    plain = Fallback([ScriptedModel([])])
    assert (plain.context_window, await count_tokens(plain, "four")) == (None, 0)


async def test_a_tokenizer_counts_where_no_provider_has() -> None:
    """The first question of a process to a transcript that may be too long."""

    class Fine(Digger):
        async def count_tokens(self, text: str) -> int:
            return len(text)

    result = await digger(Digger(8), ContextPolicy(compact=())).run("go")
    model = Fine(8, counts=False)
    await digger(model, ContextPolicy(limit=1_500)).run("and now?", after=result)
    assert tokens(model.requests[0]) * 4 <= 1_500
    plain = Digger(8, counts=False)
    await digger(plain, ContextPolicy(limit=1_500)).run("and now?", after=result)
    assert tokens(plain.requests[0]) * 4 > 1_500


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_litellm_knows_windows_and_counts() -> None:
    need("litellm")
    model = LiteLLM("openai/gpt-4o")
    assert model.context_window is None
    await model.prepare()
    assert model.context_window == 128_000
    assert await model.count_tokens("The tide is high.") == 5
    unknown = LiteLLM("openai/nobody-knows-it")
    await unknown.prepare()
    assert unknown.context_window is None
