"""From an agent to its program: refused, asked for, checked."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from stagepost.programs import Language, MapOf, ProgramError, Signature

from .._agent._agent import Agent
from .._definition._request import brief_of
from .._loop._program_facts import signature_of
from .._loop._traced import model_name
from ..errors import AgentGaveUp, InvalidRequest, NotCompilable
from ._inputs import REQUEST, TEXT, checked, sample_map
from ._program_agent import Kinds, program_agent
from ._refusals import refusals
from ._standing import StandIn, standing
from ._writing import Task, model_of, written


class Compiling(NamedTuple):
    """What is compiled.

    Attributes:
        agent: The agent.
        signature: What goes in and comes out, if it is not that of the agent.
        stand_ins: What is called instead of tools while the program is checked.
        sample: Inputs by name, if they are given.
    """

    agent: Agent[Any]
    signature: Signature | None
    stand_ins: Mapping[str, StandIn]
    sample: Mapping[str, Any] | None


class Compiled(NamedTuple):
    """What has come of it.

    Attributes:
        source: The program.
        signature: What goes in and comes out.
        language: In which it is written.
        turns: How many answers it took.
        tokens: How many tokens.
        model: Name of the model.
    """

    source: str
    signature: Signature
    language: Language
    turns: int
    tokens: int
    model: str


async def compiled_source(task: Compiling, given: Mapping[str, Any]) -> Compiled:
    """The program of an agent.

    Args:
        task: What is compiled.
        given: More arguments for each question to the model.

    Raises:
        NotCompilable: It cannot be compiled; no model was asked.
        InvalidRequest: The sample is not what the agent takes; no model was asked.
        CompileFailed: The model has written no program that passes the check.
    """
    agent = task.agent
    reasons = refusals(agent, task.signature, task.stand_ins)
    if reasons:
        raise NotCompilable(agent.name, reasons)
    signature, language = _signature(task), agent.programs
    assert language is not None  # noqa: S101  # refused otherwise
    check = _Check(task, signature, language)
    made = await written(Task(agent, language, signature, check.sample, check.run), given)
    name = _name_of(agent, given)
    return Compiled(made.source, signature, language, made.turns, made.tokens, name)


def compiled_agent(task: Compiling, made: Compiled) -> Agent[Any]:
    """The agent that runs a program as the agent that it was written for would have answered."""
    agent = task.agent
    return program_agent(
        agent.name,
        made.source,
        made.signature,
        made.language,
        kinds=_kinds(task),
        description=agent.description,
        tools=agent.tools,
        approvals=agent.approvals,
        hooks=agent.hooks,
    )


def read_signature(given: Signature | str) -> Signature:
    """A signature, also from text."""
    return Signature.parse(given) if isinstance(given, str) else given


def descriptions(signature: Signature) -> Mapping[str, str]:
    """What is known of inputs and fields of the result."""
    returned = signature.returns.fields if isinstance(signature.returns, MapOf) else ()
    return {each.name: each.description for each in (*signature.params, *returned) if each.description}


class _Check:
    """Runs programs on the sample.

    Args:
        task: What is compiled.
        signature: What goes in and comes out.
        language: In which they are written.

    Raises:
        InvalidRequest: The sample is not what the agent takes.
    """

    def __init__(self, task: Compiling, signature: Signature, language: Language) -> None:
        agent = task.agent
        self._name = agent.name
        self._signature = signature
        self._language = language
        self._kinds = _kinds(task)
        self._tools = [
            standing(tool, task.stand_ins[tool.name]) if tool.name in task.stand_ins else tool for tool in agent.tools
        ]
        sample = checked(signature, sample_map(signature.params) if task.sample is None else task.sample)
        if sample.errors:
            raise InvalidRequest(agent.name, f"sample=: {'; '.join(sample.errors)}. It takes {signature}")
        self.sample: Mapping[str, Any] = sample.value
        brief_of(program_agent(agent.name, "nil", signature, language, kinds=self._kinds)).read(self._request)

    async def run(self, source: str) -> ProgramError | None:
        """Why a program does not pass; None if it does."""
        errors: list[ProgramError] = []
        agent = program_agent(
            self._name,
            source,
            self._signature,
            self._language,
            kinds=self._kinds,
            tools=self._tools,
            errors=errors,
        )
        try:
            await agent.run(self._request)
        except AgentGaveUp as error:
            return errors[-1] if errors else ProgramError(error.kind or "failed", error.reason)
        return None

    @property
    def _request(self) -> object:
        is_text = self._signature.params == TEXT and self._kinds.input is None
        return self.sample[REQUEST] if is_text else self.sample


def _kinds(task: Compiling) -> Kinds:
    return Kinds(task.agent.input, task.agent.output) if task.signature is None else Kinds()


def _signature(task: Compiling) -> Signature:
    """What goes in and comes out; an agent without input takes the text of its requests."""
    if task.signature is not None:
        return task.signature
    own = signature_of(task.agent)
    assert own is not None  # noqa: S101  # refused otherwise
    return own if task.agent.input is not None else Signature(TEXT, own.returns)


def _name_of(agent: Agent[Any], given: Mapping[str, Any]) -> str:
    model = model_of(agent, given.get("override_model") or given.get("model"))
    return model if isinstance(model, str) else "" if model is None else model_name(model)
