"""Languages of programs."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, Literal, Protocol, TypeAlias, get_args

from stagepost._dataclasses import dataclass

from ._fault import Fault
from ._limits import Limits
from ._outcome import Outcome, ProgramError
from ._running._hosts import ProgramTool
from ._running._program import check
from ._running._run import run, start
from ._running._started import CallAnswer, CallRequest
from ._running._stored import dump, load
from ._running._world import Surroundings
from ._signature._checking import Validation
from ._source import find
from ._telling._facts import FeedbackFacts, PromptFacts
from ._telling._feedback import feedback
from ._telling._prompt import ProgramPrompt, Prompting, system_prompt
from ._values._cut import cut
from ._values._show import show

MemoryStrategy: TypeAlias = Literal["strict", "rollback"]
"""What becomes of a run whose programs keep too much: it fails, or the program is undone and the model told."""

_IN_AGENT: Final = Limits(seconds=5.0)


class Started(Protocol):
    """A program under way."""

    async def advance(
        self, answers: Sequence[CallAnswer] = (), *, again: bool = False
    ) -> Outcome | Sequence[CallRequest]:
        """Work until it ends, or waits for calls of tools.

        Args:
            answers: Those to the calls that it waits for, in their order.
            again: Whether it has got further before: the time that it takes now does not count.
        """
        ...

    def close(self) -> None:
        """End it where it stands."""
        ...


class Language(Protocol):
    """A language in which models write programs; what runs them knows no more of it than this."""

    @property
    def name(self) -> str:
        """As people call it."""
        ...

    @property
    def limits(self) -> Limits:
        """What one program of an agent may use."""
        ...

    @property
    def memory(self) -> MemoryStrategy:
        """What becomes of a run whose programs keep too much."""
        ...

    @property
    def validation(self) -> Validation:
        """How inputs and results are checked."""
        ...

    @property
    def keeps_tasks(self) -> bool:
        """Whether there is a journal of tasks."""
        ...

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
        """Run a program; whatever goes wrong in it is in the outcome."""
        ...

    def start(
        self,
        source: str,
        *,
        data: Mapping[str, Any],
        memory: Mapping[str, Any],
        tools: Collection[str],
        around: Surroundings,
    ) -> Started:
        """A program that asks for calls of tools instead of making them; the same one asks for the same calls."""
        ...

    def find(self, answer: str) -> str | ProgramError:
        """The program in what a model has answered, or what is wrong with the answer."""
        ...

    def check(self, source: str, tools: Collection[str]) -> Sequence[ProgramError]:
        """All that is wrong with a program and can be seen without running it: undefined names, unknown tools."""
        ...

    def system(self, facts: PromptFacts) -> str:
        """The system prompt of a turn."""
        ...

    def feedback(self, facts: FeedbackFacts) -> str:
        """What the model is told after its program."""
        ...

    def result(self, value: Any) -> Any:
        """The result of a run, as programs have it, for its caller."""
        ...

    def shortened(self, value: Any) -> Any:
        """A value as later programs see it among the results of earlier ones."""
        ...

    def dump(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Values by name as JSON values, from which `load` makes them again: memory, journals, results."""
        ...

    def load(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        """What `dump` has made JSON values of."""
        ...

    def show(self, value: Any) -> str:
        """Print a value as programs write it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PtcLisp:
    """PTC-Lisp, a safe and deterministic subset of Clojure, and how agents use it: ``Agent(…, programs=PtcLisp())``.

    Attributes:
        limits: What one program of an agent may use.
        memory: What becomes of a run whose programs keep more than ``limits.stored``: ``"strict"`` fails it,
            ``"rollback"`` undoes the program and tells the model.
        validation: How inputs and results are checked.
        prompt: Changes of single parts of the system prompt, a function that gets the whole prompt and returns it, or
            the prompt itself, which then is the same in all turns.
        prompt_limit: The most characters of the system prompt; None for no limit.
        feedback_max_chars: The most characters of what programs print that a model is shown.
        history_max_bytes: How long the values of earlier programs may be that ``*1``, ``*2`` and ``*3`` give.
        float_precision: Decimals of floats in the result; None for all.
        journal: Whether values of ``task`` are kept.
        plan: Steps that the model is told of and ``step-done`` refers to: texts, or ids with texts.

    Raises:
        ValueError: A number is negative, or `memory` is something else.
    """

    limits: Limits = _IN_AGENT
    memory: MemoryStrategy = "strict"
    validation: Validation = Validation.ENABLED
    prompt: Prompting = ProgramPrompt()
    prompt_limit: int | None = None
    feedback_max_chars: int = 512
    history_max_bytes: int = 512
    float_precision: int | None = 2
    journal: bool = False
    plan: Sequence[str | tuple[str, str]] = ()

    def __post_init__(self) -> None:
        if self.memory not in get_args(MemoryStrategy):
            raise ValueError(f"memory={self.memory!r} is not known: give 'strict' or 'rollback'")
        for name in ("prompt_limit", "feedback_max_chars", "history_max_bytes", "float_precision"):
            most = getattr(self, name)
            if most is not None and most < 0:
                raise ValueError(f"{name}={most} is negative: give 0 or more")

    @property
    def name(self) -> str:
        """As people call it."""
        return "PTC-Lisp"

    @property
    def fences(self) -> tuple[str, ...]:
        """The words after the three backquotes of a block of code."""
        return _FENCES

    @property
    def keeps_tasks(self) -> bool:
        """Whether there is a journal of tasks."""
        return self.journal

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
        return await run(source, data=data, memory=memory, tools=tools, limits=limits, around=around)

    def start(
        self,
        source: str,
        *,
        data: Mapping[str, Any],
        memory: Mapping[str, Any],
        tools: Collection[str],
        around: Surroundings,
    ) -> Started:
        """A program that asks for calls of tools instead of making them."""
        return start(source, data=data, memory=memory, tools=tools, limits=self.limits, around=around)

    def find(self, answer: str) -> str | ProgramError:
        """The program in what a model has answered, or what is wrong with the answer."""
        try:
            return find(answer, _FENCES)
        except Fault as fault:
            return ProgramError(fault.kind, fault.text)

    def check(self, source: str, tools: Collection[str]) -> Sequence[ProgramError]:
        """All that is wrong with a program and can be seen without running it: undefined names, unknown tools."""
        return check(source, tools, self.limits)

    def system(self, facts: PromptFacts) -> str:
        """The system prompt of a turn."""
        return system_prompt(facts, self.prompt, self._steps, journals=self.journal, most=self.prompt_limit)

    def feedback(self, facts: FeedbackFacts) -> str:
        """What the model is told after its program."""
        return feedback(facts, self.feedback_max_chars)

    def result(self, value: Any) -> Any:
        """The result of a run, with rounded floats."""
        return value if self.float_precision is None else _rounded(value, self.float_precision)

    def shortened(self, value: Any) -> Any:
        """A value of at most `history_max_bytes`, for ``*1``."""
        return cut(value, self.history_max_bytes)

    def dump(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Values by name as JSON values."""
        return dump(values)

    def load(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        """What `dump` has made JSON values of."""
        return load(stored)

    def show(self, value: Any) -> str:
        """Print a value in the syntax of the language."""
        return show(value)

    @property
    def _steps(self) -> tuple[tuple[str, str], ...]:
        return tuple((step, "") if isinstance(step, str) else (step[0], step[1]) for step in self.plan)


_FENCES: Final = ("clojure", "lisp")


def _rounded(value: Any, decimals: int) -> Any:
    if type(value) is float:
        return round(value, decimals)
    if isinstance(value, list):
        return [_rounded(each, decimals) for each in value]
    if isinstance(value, dict):
        return {key: _rounded(of, decimals) for key, of in value.items()}
    return value
