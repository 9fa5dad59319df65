"""Tools that are prompts."""

from collections.abc import Mapping
from inspect import Parameter, Signature
from typing import Any, Final, cast

from stagepost.hub import Duration, check_name

from .._definition._budget import Budget
from .._definition._prompt import fill, placeholders
from .._delegation._delegate_tool import DelegateTool
from .._models._model import Model
from .._models._settings import ModelSettings
from .._tools._arguments import Arguments, read_arguments
from ..errors import InvalidTool
from ._agent import Agent

_TASK: Final = "Do what you are asked to do, and answer with the result alone."
_BUDGET: Final = Budget(turns=3)  # an answer, and two corrections
_CONTEXT: Final = "context"
_SETTINGS: Final = ModelSettings()


class LLMTool(DelegateTool):
    """A prompt as a tool: a model answers it, without any other context.

    A call has no effect but its cost, so the tool is idempotent. Under a runner each call is a durable child run: no
    answer is paid for twice after a crash. Its turns and tokens count against the budget of the root run.

    Args:
        name: What the calling model calls it by.
        prompt: The prompt. Each ``{placeholder}`` is a text parameter of the tool.
        description: The tool's description; by default the prompt.
        model: The model, or its name; by default the model of the calling agent.
        output: Type of the answer, any that pydantic can check; None for plain text. An answer that does not fit is
            corrected twice.
        timeout: Seconds (or a `timedelta`) that a call may take.
        needs_approval: Whether each call needs a person's approval.
        settings: Settings for the model.

    Raises:
        InvalidTool: The prompt has no placeholder, or an invalid one.
        InvalidAgent: The output is not a type that can be checked, or the model is not a model.
        InvalidName: The name contains characters that are not allowed.
    """

    _prompt: str

    def __init__(
        self,
        name: str,
        prompt: str,
        *,
        description: str | None = None,
        model: Model | str | None = None,
        output: object = None,
        timeout: Duration | None = None,
        needs_approval: bool = False,
        settings: ModelSettings = _SETTINGS,
    ) -> None:
        check_name("tool name", name)
        super().__init__(
            _answerer(name, model, output, settings),
            name=name,
            description=prompt if description is None else description,
            model=None,
            parameters=_arguments(name, prompt),
            idempotent=True,
            timeout=timeout,
            needs_approval=needs_approval,
        )
        vars(self)["_prompt"] = prompt

    def request(self, arguments: Mapping[str, object]) -> object:
        """The prompt, filled."""
        return fill(self._prompt, arguments)


def _answerer(name: str, model: Model | str | None, output: object, settings: ModelSettings) -> Agent[Any]:
    """The agent that asks the model, and has it correct answers that do not fit."""
    out = cast("type[object]", output)
    return Agent(name, prompt=_TASK, model=model, output=out, budget=_BUDGET, settings=settings)


def _arguments(name: str, prompt: str) -> Arguments:
    """A parameter for each placeholder."""

    def takes() -> None:
        """The parameters of a call."""

    names = _parameters(name, prompt)
    vars(takes)["__signature__"] = Signature(
        [Parameter(each, Parameter.KEYWORD_ONLY, annotation=str) for each in names]
    )
    return read_arguments(name, takes, {})


def _parameters(name: str, prompt: str) -> tuple[str, ...]:
    """The placeholders."""
    names = tuple(placeholders(prompt))
    if not names:
        raise InvalidTool(
            name, "its prompt takes nothing, so each call would be the same: write {text}, for one, into it"
        )
    if _CONTEXT in names:
        raise InvalidTool(name, "its prompt has the placeholder {context}, which tools get otherwise: rename it")
    return names
