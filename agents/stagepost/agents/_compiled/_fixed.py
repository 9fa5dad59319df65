"""A program that is known before the run, for an agent whose model and language are made of it.

The model gives the program as its only answer. The language runs it, and makes an end of the run of whatever it comes
to: nobody could write another one.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from anyio.lowlevel import checkpoint

from stagepost._dataclasses import dataclass
from stagepost.programs import (
    AmbiguousKeys,
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
    Signature,
    Started,
    Surroundings,
    Validation,
    plain,
)

from .._models._model import ModelRequest, ModelResponse

_INVALID: Final = "validation_error"


class FixedModel:
    """Answers with a program; no model is asked.

    Args:
        source: The program.
    """

    name = "program"

    def __init__(self, source: str) -> None:
        self._source = source

    async def answer(self, request: ModelRequest) -> ModelResponse:  # noqa: ARG002  # the answer is always the same
        """The program."""
        await checkpoint()
        return ModelResponse(self._source)


@dataclass(frozen=True, slots=True)
class FixedLanguage:
    """A language in which answers are programs as they stand, and each program ends its run.

    Attributes:
        language: The language of the programs.
        signature: What goes in and what comes out.
        errors: Where it is noted why programs have failed; None to note it nowhere.
    """

    language: Language
    signature: Signature
    errors: list[ProgramError] | None = None

    @property
    def name(self) -> str:
        """As people call it."""
        return self.language.name

    @property
    def limits(self) -> Limits:
        """What one program may use."""
        return self.language.limits

    @property
    def memory(self) -> MemoryStrategy:
        """A program that keeps too much fails."""
        return "strict"

    @property
    def validation(self) -> Validation:
        """How results are checked."""
        return self.language.validation

    @property
    def keeps_tasks(self) -> bool:
        """There is no journal of tasks: nothing comes from an earlier program."""
        return False

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
        """Run a program."""
        return await self.language.run(
            source, data=data, memory=memory, tools=tools, limits=limits, around=replace(around, clock=None)
        )

    def start(
        self,
        source: str,
        *,
        data: Mapping[str, Any],
        memory: Mapping[str, Any],  # noqa: ARG002  # there is none
        tools: Collection[str],
        around: Surroundings,
    ) -> Started:
        """The program, on inputs that are checked; it sees no clock, budget or earlier turn."""
        checked = self.signature.check_input(data, Validation.STRICT)
        if checked.errors:
            return _Refused(self.judged(_failed(_INVALID, "; ".join(checked.errors))))
        alone = replace(around, clock=None, results=(), budget={})
        return _Judged(self, self.language.start(source, data=checked.value, memory={}, tools=tools, around=alone))

    def judged(self, outcome: Outcome) -> Outcome:
        """An outcome as the end of a run: a result that fits, or a failure."""
        if outcome.error is None:
            value = self.result(outcome.value)
            checked = self.signature.check_output(value, self.validation)
            try:
                wrong = self.signature.correction(checked) if checked.errors else ""
                made = None if wrong else plain(value)
            except AmbiguousKeys as error:
                wrong = str(error)
            if not wrong:
                return replace(outcome, value=made, end=End.RETURN, memory={})
            outcome = replace(_failed(_INVALID, wrong), prints=outcome.prints)
        if self.errors is not None and outcome.error is not None:
            self.errors.append(outcome.error)
        return replace(outcome, end=End.FAIL, memory={})

    def find(self, answer: str) -> str:
        """The whole answer."""
        return answer

    def check(self, source: str, tools: Collection[str]) -> Sequence[ProgramError]:
        """All that is wrong with a program and can be seen without running it."""
        return self.language.check(source, tools)

    def system(self, facts: PromptFacts) -> str:
        """What the program is for; nobody reads it."""
        return facts.mission

    def feedback(self, facts: FeedbackFacts) -> str:
        """What is told after a program."""
        return self.language.feedback(facts)

    def result(self, value: Any) -> Any:
        """The result of a run."""
        return self.language.result(value)

    def shortened(self, value: Any) -> Any:
        """A value as later programs would see it."""
        return self.language.shortened(value)

    def dump(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Values by name as JSON values."""
        return self.language.dump(values)

    def load(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        """What `dump` has made JSON values of."""
        return self.language.load(stored)

    def show(self, value: Any) -> str:
        """Print a value as programs write it."""
        return self.language.show(value)


class _Judged:
    """A program under way, whose outcome is judged."""

    def __init__(self, language: FixedLanguage, started: Started) -> None:
        self._language = language
        self._started = started

    async def advance(
        self, answers: Sequence[CallAnswer] = (), *, again: bool = False
    ) -> Outcome | Sequence[CallRequest]:
        """Work until it ends, or waits for calls."""
        came = await self._started.advance(answers, again=again)
        return self._language.judged(came) if isinstance(came, Outcome) else came

    def close(self) -> None:
        """End it where it stands."""
        self._started.close()


class _Refused:
    """A program that is not run, because its inputs do not fit."""

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome

    async def advance(self, answers: Sequence[CallAnswer] = (), *, again: bool = False) -> Outcome:  # noqa: ARG002  # as all
        """Why."""
        return self._outcome

    def close(self) -> None:
        """Nothing was begun."""


def _failed(kind: str, text: str) -> Outcome:
    return Outcome(None, error=ProgramError(kind, text), end=End.FAIL)
