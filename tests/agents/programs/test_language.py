"""Another language: agents use it without knowing more of it than the protocol."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tests.agents._ways import both_ways
from tests.agents.programs._orders import Asked

from stagepost.programs import (
    CallAnswer,
    CallRequest,
    End,
    FeedbackFacts,
    Language,
    Limits,
    MemoryStrategy,
    Outcome,
    ProgramError,
    ProgramTool,
    PromptFacts,
    Started,
    Surroundings,
    Validation,
)


class Lines:
    """Each line is a call, ``look {"id": 1}``, and the results are returned: ``return``."""

    name = "Lines"
    fences = ("lines",)
    limits = Limits()
    memory: MemoryStrategy = "strict"
    validation = Validation.ENABLED
    keeps_tasks = False

    def find(self, answer: str) -> str | ProgramError:
        """The lines."""
        return answer if answer.startswith("look") else ProgramError("no_code_found", "write lines")

    def start(
        self,
        source: str,
        *,
        data: Mapping[str, Any],  # noqa: ARG002
        memory: Mapping[str, Any],
        tools: Collection[str],
        around: Surroundings,  # noqa: ARG002
    ) -> Started:
        """The lines, one after another."""
        assert "look" in tools
        return Going(source.splitlines(), memory)

    async def run(
        self,
        source: str,
        *,
        data: Mapping[str, Any],
        memory: Mapping[str, Any],
        tools: Mapping[str, ProgramTool],
        limits: Limits,
        around: Surroundings,
    ) -> Outcome:
        """The loop starts programs, and leaves this to others."""
        raise AssertionError(source, data, memory, tools, limits, around)

    def check(self, source: str, tools: Collection[str]) -> Sequence[ProgramError]:  # noqa: ARG002
        """Nothing can be seen before."""
        return ()

    def system(self, facts: PromptFacts) -> str:
        """The names of the tools."""
        return f"{facts.mission} {[tool.name for tool in facts.tools]} {sorted(facts.memory)}"

    def feedback(self, facts: FeedbackFacts) -> str:
        """What went wrong."""
        return f"{facts.error} {list(facts.stored)}"

    def result(self, value: Any) -> Any:
        """As it is."""
        return value

    def shortened(self, value: Any) -> Any:
        """As it is."""
        return value

    def dump(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """They are JSON."""
        return dict(values)

    def load(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        """They are JSON."""
        return dict(stored)

    def show(self, value: Any) -> str:
        """As JSON."""
        return json.dumps(value)


class Going:
    """Lines under way."""

    def __init__(self, lines: list[str], memory: Mapping[str, Any]) -> None:
        self._lines = lines
        self._memory = memory
        self._found: list[Any] = []

    async def advance(
        self,
        answers: Sequence[CallAnswer] = (),
        *,
        again: bool = False,  # noqa: ARG002
    ) -> Outcome | Sequence[CallRequest]:
        """The next line."""
        self._found += [answer.result["name"] for answer in answers]
        line = self._lines.pop(0) if self._lines else "keep"
        if line == "return":
            value = {"total": len(self._found), "names": [*self._memory.get("found", ()), *self._found]}
            return Outcome(value, memory=self._memory, end=End.RETURN)
        if line == "keep":
            return Outcome(None, memory={"found": self._found})
        name, _, arguments = line.partition(" ")
        return [CallRequest(name, json.loads(arguments))]

    def close(self) -> None:
        """Nothing is left."""


@both_ways
async def test_an_agent_answers_in_another_language(way: Any) -> None:
    language: Language = Lines()
    asked = Asked('look {"id": 1}', "hm", 'look {"id": 2}\nlook {"id": 3}\nreturn', programs=language, input=None)
    result = await way(asked.agent)
    assert (result.output.total, result.output.names) == (2, ["n1", "n2", "n3"])
    assert asked.told == ["None ['found']", "no_code_found: write lines []"]
    assert asked.prompts[-1] == "Report. ['look', 'send', 'broken'] ['found']"
