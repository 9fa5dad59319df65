"""Prompts at a server that answers as Langfuse's public interface is documented."""

import sys

import pytest
from tests.agents.prompts._langfuse_server import Project, langfuse_server

from stagepost.agents import LangfusePrompts, PromptNotFound, Prompts, PromptsUnavailable, RegisteredPrompt
from stagepost.agents._tracing._langfuse_attributes import observation
from stagepost.agents._tracing._observation import ObservationType
from stagepost.hub import InvalidArgument
from stagepost.workflows import ExtraMissing

pytest.importorskip("langfuse", reason="the extra is not installed")


def registry(project: Project, secret: str = "sk-1") -> LangfusePrompts:  # noqa: S107  # a test's
    return LangfusePrompts(public_key="pk-1", secret_key=secret, host=f"{project.url}/")


async def test_a_prompt_is_found_by_name_and_label_with_its_version() -> None:
    with langfuse_server() as project:
        project.add("team/worker", "one", ["production"])
        project.add("team/worker", "two", ["staging"])
        found = registry(project)
        assert await found.get("team/worker", "production") == RegisteredPrompt("one", "1")
        assert await found.get("team/worker", "staging") == RegisteredPrompt("two", "2")
        with pytest.raises(PromptNotFound):
            await found.get("team/worker", "test")
        assert project.requests[0] == "GET /api/public/v2/prompts/team%2Fworker?label=production"


async def test_a_prompt_is_created_with_its_label_unless_there_is_one_of_the_name() -> None:
    with langfuse_server() as project:
        project.add("draft", "unfinished", ["staging"])
        prompts = Prompts(registry(project), {"draft": "local", "worker": "local {{version}}"})
        assert await prompts.sync() == ("draft", "worker")
        assert [(each["name"], each["prompt"], each["labels"]) for each in project.versions] == [
            ("draft", "unfinished", ["staging", "latest"]),
            ("worker", "local {{version}}", ["production", "latest"]),
        ]
        await prompts.check()


async def test_refused_keys_and_chat_prompts_are_told_apart_from_missing_prompts() -> None:
    with langfuse_server() as project:
        with pytest.raises(PromptsUnavailable, match="LANGFUSE_SECRET_KEY"):
            await registry(project, "wrong").get("w", "production")
        with pytest.raises(PromptsUnavailable, match="LANGFUSE_SECRET_KEY"):
            await registry(project, "wrong").create("w", "text", "production")
        project.add("w", [], ["production"], kind="chat")
        with pytest.raises(PromptsUnavailable, match="text prompt"):
            await registry(project).get("w", "production")
    with pytest.raises(PromptsUnavailable, match="Connect"):
        await Prompts(registry(project), {"w": "local"}).check()


def test_a_missing_key_is_refused_when_it_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LANGFUSE_SECRET_KEY", raising=False)
    with pytest.raises(InvalidArgument, match="LANGFUSE_SECRET_KEY"):
        LangfusePrompts(public_key="pk-1")


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "stagepost.agents._prompts._langfuse_sdk", raising=False)
    monkeypatch.setitem(sys.modules, "langfuse.api", None)
    with pytest.raises(ExtraMissing, match=r"LangfusePrompts.*\[langfuse\]"):
        LangfusePrompts(public_key="pk", secret_key="sk")  # noqa: S106  # a test's


@pytest.mark.parametrize(
    ("version", "source", "is_linked"),
    [("3", "registry", True), ("local", "fallback", False), ("sha256-1", "registry", False)],
)
def test_a_question_leads_to_the_version_of_its_prompt(version: str, source: str, *, is_linked: bool) -> None:
    told = {"prompt_name": "w", "prompt_version": version, "prompt_source": source}
    attributes = observation("inference-w", ObservationType.GENERATION, told, None).attributes
    from langfuse import LangfuseOtelSpanAttributes as Known

    linked = {Known.OBSERVATION_PROMPT_NAME: "w", Known.OBSERVATION_PROMPT_VERSION: 3}
    assert {key: attributes[key] for key in linked if key in attributes} == (linked if is_linked else {})
