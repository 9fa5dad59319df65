import subprocess
import sys
from typing import cast

import pytest
from anyio import fail_after
from tests.checkpoint._processes import environment

from stagepost._installing import how_to_install
from stagepost.agents import AsyncioRequired, InvalidModel, LiteLLM, Model, ModelRequest, ScriptedModel, UserMessage
from stagepost.agents._models._as_model import as_model

MISSING = """
import sys, anyio
sys.modules[sys.argv[1]] = None
from stagepost.agents import LiteLLM, ModelRequest
from stagepost.workflows import ExtraMissing
try:
    anyio.run(LiteLLM("openai/local").answer, ModelRequest([]))
except ExtraMissing as error:
    print(error)
"""


def test_a_name_becomes_a_model_of_litellm() -> None:
    made = as_model("openai/gpt-5-mini")
    assert isinstance(made, LiteLLM)
    assert made.name == "openai/gpt-5-mini"
    assert repr(made) == "LiteLLM('openai/gpt-5-mini')"


def test_a_model_stays_what_it_is() -> None:
    model = ScriptedModel(["fine"])
    assert as_model(model) is model


@pytest.mark.parametrize("given", ["", 7, None], ids=["empty", "number", "none"])
def test_anything_else_is_refused(given: object) -> None:
    with pytest.raises(InvalidModel, match="openai/gpt-5-mini"):
        as_model(cast("Model", given))


@pytest.mark.parametrize("option", ["model", "api_key", "num_retries", "tools"])
def test_options_that_are_set_otherwise_are_refused(option: str) -> None:
    with pytest.raises(InvalidModel, match=option):
        LiteLLM("openai/local", options={option: 1})


def test_a_timeout_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="-1"):
        LiteLLM("openai/local", timeout=-1)


async def test_another_loop_than_asyncio_is_refused(anyio_backend_name: str) -> None:
    if anyio_backend_name == "trio":
        with fail_after(5), pytest.raises(AsyncioRequired, match="under trio"):
            await LiteLLM("openai/local").answer(ModelRequest([UserMessage(text="?")]))


async def test_closing_what_was_never_asked_does_nothing() -> None:
    await LiteLLM("openai/local").aclose()


@pytest.mark.parametrize("package", ["litellm", "tenacity"])
def test_what_is_not_installed_is_said_in_a_sentence(package: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MISSING, package], capture_output=True, check=True, timeout=30, env=environment()
    )
    said = f"LiteLLM needs {package}, which is not installed: {how_to_install('llm')}"
    assert done.stdout.decode().strip() == said
