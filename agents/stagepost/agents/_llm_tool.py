"""Tools that are prompts."""

from inspect import Parameter, Signature
from typing import Any, Final

from pydantic import BaseModel

from stagepost.hub import Duration, check_name, seconds

from ._agent import Agent
from ._arguments import read_arguments
from ._budget import Budget
from ._context import ToolContext
from ._model import Model
from ._prompt import fill, placeholders
from ._tool import Tool
from .errors import InvalidTool

_TASK: Final = "Do what you are asked to do, and answer with the result alone."
_BUDGET: Final = Budget(turns=3)  # an answer, and two corrections
_CONTEXT: Final = "context"


class LLMTool(Tool[..., object]):
    """A tool that is a prompt: a model answers it, and knows of nothing else that was said.

    A call has no effect but its cost, so the tool is idempotent. What it costs is not part of the calling run's budget.

    Args:
        name: What the calling model calls it by.
        prompt: What is asked. Each ``{placeholder}`` is a parameter of the tool, a text.
        description: What the tool is for; by default the prompt.
        model: Who is asked; by default the model of the agent that calls.
        output: Pydantic model of the answer; None for plain text. An answer that does not fit is corrected twice.
        timeout: Seconds (or a `timedelta`) that a call may take.
        needs_approval: A person has to allow each call.

    Raises:
        InvalidTool: The prompt has no placeholder, or one that cannot be.
        InvalidAgent: The output is no pydantic model, or the model no model.
        InvalidName: The name holds characters that are not allowed.
    """

    def __init__(
        self,
        name: str,
        prompt: str,
        *,
        description: str | None = None,
        model: Model | None = None,
        output: type[BaseModel] | None = None,
        timeout: Duration | None = None,
        needs_approval: bool = False,
    ) -> None:
        check_name("tool name", name)
        agent = _answerer(name, model, output)

        async def function(context: ToolContext, **arguments: object) -> object:
            result = await agent.run(fill(prompt, arguments), model=agent.model or context.model, deps=context.deps)
            return result.output

        vars(function)["__signature__"] = _signature(name, prompt)
        super().__init__(
            name=name,
            description=prompt if description is None else description,
            idempotent=True,
            timeout=None if timeout is None else seconds(timeout),
            function=function,
            _arguments=read_arguments(name, function, {}),
            needs_approval=needs_approval,
        )


def _answerer(name: str, model: Model | None, output: type[BaseModel] | None) -> Agent[Any]:
    """Asks the model, and has it correct what does not fit."""
    if output is None:
        return Agent(name, prompt=_TASK, model=model, budget=_BUDGET)
    return Agent(name, prompt=_TASK, model=model, output=output, budget=_BUDGET)


def _signature(name: str, prompt: str) -> Signature:
    """A parameter for each placeholder."""
    names = (*_parameters(name, prompt), _CONTEXT)
    return Signature([Parameter(each, Parameter.KEYWORD_ONLY, annotation=str) for each in names])


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
