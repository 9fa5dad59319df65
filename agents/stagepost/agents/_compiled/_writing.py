"""Has a model write the program."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from stagepost.programs import FeedbackFacts, Language, ProgramError, PromptFacts, Signature, TurnNumber

from .._agent._agent import Agent
from .._definition._prompt import fill, placeholders
from .._definition._prompting import PromptContext
from .._loop._program_facts import tool_facts
from .._models._model import Model
from ..errors import CompileFailed

_ATTEMPTS: Final = 3  # of an agent with tools: an answer and two repairs
_INVALID: Final = "validation_error"


class Written(NamedTuple):
    """A program that has passed its check.

    Attributes:
        source: The program.
        turns: How many answers it took.
        tokens: How many tokens.
    """

    source: str
    turns: int
    tokens: int


class Task(NamedTuple):
    """What is to be written.

    Attributes:
        agent: What it is for.
        language: In which.
        signature: What goes in and comes out.
        sample: Inputs that the model is shown the types of.
        check: Runs a program on the sample; why it does not pass, or None.
    """

    agent: Agent[Any]
    language: Language
    signature: Signature
    sample: Mapping[str, Any]
    check: Callable[[str], Awaitable[ProgramError | None]]


async def written(task: Task, given: Mapping[str, Any]) -> Written:
    """The program.

    Args:
        task: What is to be written.
        given: More arguments for each question: ``model``, ``tracing`` and so on.

    Raises:
        CompileFailed: No answer has passed the check.
        AgentFailed: The model could not be asked.
    """
    most = _ATTEMPTS if task.agent.tools else 1
    writer = _Writer(task, most)
    result, source, told = None, "", writer.request
    for number in range(1, most + 1):
        writer.number = number
        result = await writer.agent.run(told, after=result, **given)
        writer.tokens += result.usage.tokens
        source, writer.error = await _judged(task, result.output)
        if writer.error is None:
            return Written(source, number, writer.tokens)
        told = writer.told()
    assert writer.error is not None  # noqa: S101  # the last answer has not passed
    raise CompileFailed(task.agent.name, str(writer.error), source, most)


async def _judged(task: Task, answer: str) -> tuple[str, ProgramError | None]:
    """The program of an answer, and what is wrong with it."""
    source = task.language.find(answer)
    if isinstance(source, ProgramError):
        return answer, source
    wrong = task.language.check(source, [tool.name for tool in task.agent.tools])
    return source, wrong[0] if wrong else await task.check(source)


class _Writer:
    """Asks the model, with the prompt of programs that are compiled.

    Args:
        task: What is to be written.
        most: How many answers there may be.
    """

    def __init__(self, task: Task, most: int) -> None:
        self.number = 1
        self.tokens = 0
        self.error: ProgramError | None = None
        self._task = task
        self._most = most
        agent = task.agent
        self.agent: Agent[str] = Agent(
            agent.name,
            self._system,
            model=agent.model,
            models=agent.models,
            settings=replace(agent.settings, tool_choice=None),
            hooks=agent.hooks,
            budget=replace(agent.budget, turns=2, retry_turns=0),  # the last turn is told that it is one
            context=agent.context,
        )

    @property
    def request(self) -> str:
        """What is asked."""
        names = ", ".join(f"data/{field.name}" for field in self._task.signature.params)
        return f"Write the program. Inputs: {names or 'none'}"

    def told(self) -> str:
        """What the model is told after an answer that did not pass."""
        error = self.error
        is_value = error is not None and error.kind == _INVALID
        correction = error.text if error is not None and is_value else ""
        turn = TurnNumber(number=self.number + 1, work=self._most, compiles=True)
        return self._task.language.feedback(
            FeedbackFacts(turn=turn, error=None if is_value else error, correction=correction)
        )

    async def _system(self, context: PromptContext) -> str:  # noqa: ARG002  # what it depends on is known here
        task = self._task
        facts = PromptFacts(
            turn=TurnNumber(number=self.number, work=self._most, compiles=True),
            mission=_mission(task.agent.prompt),
            signature=task.signature,
            data=task.sample,
            tools=tool_facts(task.agent.tools),
            error=self.error,
        )
        return task.language.system(facts)


def _mission(prompt: object) -> str:
    """The agent's prompt; its placeholders become the names of inputs, whose values differ from run to run."""
    text = str(prompt)
    return fill(text, {name: f"data/{name}" for name in placeholders(text)})


def model_of(agent: Agent[Any], given: Model | str | None) -> Model | str | None:
    """The model that is asked."""
    model = agent.model if given is None else given
    return agent.models.get(model, model) if isinstance(model, str) else model
