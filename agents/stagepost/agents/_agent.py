"""What an agent is: data, checked when it is built."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, Generic, TypeVar, cast, overload

from pydantic import BaseModel

from stagepost.hub import Observer, check_name
from stagepost.workflows import Pattern, PatternError

from ._budget import Budget
from ._checks import check_model, check_prompt, check_schemas, check_tools
from ._failure import failure_of
from ._loop import AgentLoop
from ._model import Model
from ._request import Brief
from ._result import AgentResult
from ._tool import Tool, ToolLike, as_tool
from .errors import ModelMissing

OutputT_co = TypeVar("OutputT_co", covariant=True)
ModelT = TypeVar("ModelT", bound=BaseModel)

_BUDGET: Final = Budget()


@dataclass(frozen=True, init=False, eq=False)
class Agent(Generic[OutputT_co]):
    """An agent: a prompt, a model, tools, and what goes in and comes out. Frozen, and checked when it is built.

    `run` runs it in memory. ``await runner.serve(agent)`` puts it on the hub, where each request is a durable run: what
    the model has answered and what a tool has returned is never asked for again, whatever happens to the process.

    Args:
        name: Its name, also on the hub.
        prompt: What it is for. ``{field}`` stands for a field of the input; other braces are text, and ``{{field}}``
            is the text ``{field}``.
        model: The model that it asks.
        tools: What the model may call: made by `tool`, or plain functions.
        input: Pydantic model of its requests; None if they are plain text.
        output: Pydantic model of its answers; None for plain text. An answer that does not fit costs a turn and goes
            back to the model with what is wrong.
        budget: What one run may use.

    Raises:
        InvalidAgent: The parts do not fit together.
        InvalidTool: A plain function cannot be a tool.
        InvalidName: The name holds characters that are not allowed.
    """

    name: str
    prompt: str
    model: Model | None = field(repr=False)
    tools: Sequence[Tool[..., object]]
    input: type[BaseModel] | None
    output: type[OutputT_co] | None
    budget: Budget

    @overload
    def __init__(
        self: "Agent[str]",
        name: str,
        *,
        prompt: str,
        model: Model | None = None,
        tools: Iterable[ToolLike] = (),
        input: type[BaseModel] | None = None,
        output: None = None,
        budget: Budget = ...,
    ) -> None: ...
    @overload
    def __init__(
        self: "Agent[ModelT]",
        name: str,
        *,
        prompt: str,
        model: Model | None = None,
        tools: Iterable[ToolLike] = (),
        input: type[BaseModel] | None = None,
        output: type[ModelT],
        budget: Budget = ...,
    ) -> None: ...
    def __init__(
        self,
        name: str,
        *,
        prompt: str,
        model: Model | None = None,
        tools: Iterable[ToolLike] = (),
        input: type[BaseModel] | None = None,  # noqa: A002  # the word for it
        output: type[BaseModel] | None = None,
        budget: Budget = _BUDGET,
    ) -> None:
        made = tuple(map(as_tool, tools))
        vars(self).update(name=name, prompt=prompt, model=model, tools=made, input=input, output=output, budget=budget)
        self._check()

    async def run(
        self,
        request: object,
        *,
        model: Model | None = None,
        deps: Any = None,
        observer: Observer | None = None,
    ) -> AgentResult[OutputT_co]:
        """Run in memory: nothing is stored, and a crash loses the run.

        Args:
            request: The input model, a mapping of its fields, or a text.
            model: Instead of the agent's own.
            deps: Given to tools as ``context.deps``.
            observer: Gets the run's events.

        Raises:
            ModelMissing: There is no model.
            InvalidRequest: The request is not what the agent takes.
            CannotStore: The request holds what a run cannot keep, such as a secret.
            BudgetExceeded: The run needs more than its budget.
            AgentFailed: Something else went wrong, such as the model; the cause says what.
        """
        loop = (self if model is None else replace(self, model=model))._loop  # noqa: SLF001  # its own class
        try:
            return loop.result(await loop.run(loop.accept(request), deps=deps, observer=observer))
        except PatternError as error:
            failure = failure_of(self.name, error)
        raise failure  # here, so that its own cause stays its cause

    def as_workflow(self) -> Pattern:
        """The workflow that does its work, for ``runner.serve(agent)`` and ``Runner(workflows=[…])``; always the same.

        Raises:
            ModelMissing: There is no model.
        """
        return self._loop

    @cached_property
    def _loop(self) -> AgentLoop:
        if self.model is None:
            raise ModelMissing(self.name)
        output = cast("type[BaseModel] | None", self.output)
        brief = Brief(self.name, self.prompt, self.input)
        return AgentLoop(brief, model=self.model, tools=self.tools, output=output, budget=self.budget)

    def _check(self) -> None:
        check_name("agent name", self.name)
        check_model(self.name, self.model)
        check_schemas(self.name, input=self.input, output=self.output)
        check_tools(self.name, self.tools)
        check_prompt(self.name, self.prompt, self.input)
