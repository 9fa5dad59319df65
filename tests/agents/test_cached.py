"""A model whose answers are kept: for whom, for how long, and which are not."""

import sys

import pytest

from stagepost.agents import (
    AssistantMessage,
    Cached,
    InvalidModel,
    ModelRequest,
    ModelResponse,
    ModelSettings,
    Token,
    ToolMessage,
    ToolSchema,
    Usage,
    UserMessage,
    provider_tool,
)
from stagepost.workflows import ExtraMissing

QUESTION = ModelRequest([UserMessage(text="How many hours?")])
DATA = ModelRequest(
    [UserMessage(text="?"), AssistantMessage(text=""), ToolMessage(call_id="1", tool="hours", text="32")]
)
WEB = provider_tool("web", {"openai": {"type": "web_search"}})


class Counting:
    """Says the how many-th answer it is."""

    def __init__(self, *, is_final: bool = True, size: int = 0) -> None:
        self.asked = 0
        self.is_final = is_final
        self.size = size
        self.secrets = ("sk-secret-of-mine",)

    async def answer(self, request: ModelRequest) -> ModelResponse:  # noqa: ARG002  # the protocol
        self.asked += 1
        usage = Usage(input_tokens=10, output_tokens=5, cost=0.01)
        return ModelResponse(f"answer {self.asked}" + "x" * self.size, usage=usage, is_final=self.is_final)


async def test_the_same_question_is_answered_again_and_costs_nothing() -> None:
    inner = Counting()
    model = Cached(inner, tenant="acme")
    first, second = await model.answer(QUESTION), await model.answer(QUESTION)
    assert (first.text, second.text, inner.asked) == ("answer 1", "answer 1", 1)
    assert first.usage.tokens == 15
    assert second.usage == Usage(cost=0.0)
    assert model.secrets == inner.secrets


async def test_a_kept_answer_is_told_piece_by_piece() -> None:
    model = Cached(Counting(), tenant="acme")
    await model.answer(QUESTION)
    told: list[Token] = []
    await model.answer(ModelRequest(QUESTION.messages, on_token=told.append))
    assert "".join(token.text for token in told) == "answer 1"


@pytest.mark.parametrize(
    "other",
    [
        ModelRequest([UserMessage(text="How many days?")]),
        ModelRequest(QUESTION.messages, tools=[ToolSchema("hours", "", {})]),
        ModelRequest(QUESTION.messages, settings=ModelSettings(temperature=1)),
    ],
    ids=["messages", "tools", "settings"],
)
async def test_another_question_is_asked(other: ModelRequest) -> None:
    inner = Counting()
    model = Cached(inner, tenant="acme")
    await model.answer(QUESTION)
    assert (await model.answer(other)).text == "answer 2"


async def test_no_tenant_gets_an_answer_of_another() -> None:
    inner, tenant = Counting(), ["acme"]
    model = Cached(inner, tenant=lambda _: tenant[0])
    await model.answer(QUESTION)
    tenant[0] = "globex"
    assert (await model.answer(QUESTION)).text == "answer 2"
    tenant[0] = "acme"
    assert (await model.answer(QUESTION)).text == "answer 1"


async def test_without_a_tenant_nothing_is_kept() -> None:
    inner = Counting()
    model = Cached(inner, tenant=lambda _: None)
    await model.answer(QUESTION)
    assert (await model.answer(QUESTION)).text == "answer 2"


@pytest.mark.parametrize(
    "question", [DATA, ModelRequest(QUESTION.messages, provider_tools=[WEB])], ids=["results of tools", "search"]
)
async def test_answers_built_on_data_are_kept_only_if_asked(question: ModelRequest) -> None:
    inner = Counting()
    for model, expected in ((Cached(inner, tenant="a"), 2), (Cached(inner, tenant="a", with_data=True), 1)):
        inner.asked = 0
        await model.answer(question)
        await model.answer(question)
        assert inner.asked == expected


async def test_answers_are_kept_for_a_time_and_within_a_size() -> None:
    now, inner = [0.0], Counting(size=1000)
    model = Cached(inner, tenant="a", ttl=10, max_bytes=3000, clock=lambda: now[0])
    questions = [ModelRequest([UserMessage(text=str(number))]) for number in range(3)]
    for question in questions:
        await model.answer(question)  # two fit: the first one is dropped
    await model.answer(questions[2])
    assert inner.asked == 3
    await model.answer(questions[0])
    assert inner.asked == 4
    now[0] = 10.0
    await model.answer(questions[2])
    assert inner.asked == 5


@pytest.mark.parametrize(("is_final", "size"), [(False, 0), (True, 5000)], ids=["not complete", "too large"])
async def test_what_cannot_be_kept_is_asked_each_time(is_final: bool, size: int) -> None:  # noqa: FBT001  # a table
    inner = Counting(is_final=is_final, size=size)
    model = Cached(inner, tenant="a", max_bytes=3000)
    await model.answer(QUESTION)
    await model.answer(QUESTION)
    assert inner.asked == 2


@pytest.mark.parametrize("options", [{"ttl": 0}, {"max_bytes": 0}], ids=["ttl", "max_bytes"])
def test_limits_that_keep_nothing_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(InvalidModel, match="give more than 0"):
        Cached(Counting(), tenant="a", **options)  # type: ignore[arg-type]  # a table of whole numbers


@pytest.fixture
def _no_cachetools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cachetools", None)


@pytest.mark.usefixtures("_no_cachetools")
def test_without_the_extra_it_says_what_to_install() -> None:
    with pytest.raises(ExtraMissing, match="assistant"):
        Cached(Counting(), tenant="a")
