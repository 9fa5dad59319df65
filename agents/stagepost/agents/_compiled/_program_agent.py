"""The agent that runs a program which is known."""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from pydantic import BaseModel

from stagepost.programs import Kind, Language, ProgramError, PtcLisp, Signature

from .._agent._agent import Agent
from .._agent._fronts import Readied
from .._agent._given import ToolSource
from .._definition._approvals import Approvals
from .._definition._budget import Budget
from .._loop._session import Approve
from .._models._model import Model
from .._models._settings import ModelSettings
from ._fixed import FixedLanguage, FixedModel
from ._inputs import as_texts, input_model

_PROMPT: Final = "Runs a program that was written before."
PTC_LISP: Final = PtcLisp()
_BUDGET: Final = Budget(turns=2)  # the last turn would have no tools


class Kinds(NamedTuple):
    """Python's types of what goes in and comes out.

    Attributes:
        input: Model of the inputs; None for one that is made of the signature.
        output: Type of the result; None for that of the signature.
    """

    input: type[BaseModel] | None = None
    output: Any = None


class ProgramAgent(Agent[Any]):
    """An agent whose model is its program: no other one is asked, not even in tests."""

    def _readied(
        self,
        model: Model | str | None,
        settings: ModelSettings | None,
        approve: Approve | None,
        override_model: Model | str | None,  # noqa: ARG002  # there is no model to replace
    ) -> Readied:
        return super()._readied(model, settings, approve, None)


def program_agent(
    name: str,
    source: str,
    signature: Signature,
    language: Language | None,
    *,
    kinds: Kinds,
    description: str = "",
    tools: Iterable[ToolSource] = (),
    approvals: Approvals | Iterable[str] | None = None,
    hooks: Iterable[object] = (),
    errors: list[ProgramError] | None = None,
) -> ProgramAgent:
    """The agent.

    Args:
        name: Its name.
        source: The program.
        signature: What goes in and what comes out.
        language: In which it is written; None for PTC-Lisp.
        kinds: The same as Python's types, if they are known.
        description: What those who ask it have to know.
        tools: What the program may call.
        approvals: Which calls a person has to allow.
        hooks: Code around its calls.
        errors: Where it is noted why the program has failed.
    """
    made: Any = ProgramAgent
    agent: ProgramAgent = made(
        name,
        _PROMPT,
        model=FixedModel(source),
        tools=tools,
        input=input_model(signature) if kinds.input is None else kinds.input,
        output=_output_of(signature) if kinds.output is None else kinds.output,
        programs=FixedLanguage(language or PTC_LISP, signature, errors),
        budget=_BUDGET,
        approvals=approvals,
        hooks=hooks,
        description=description,
    )
    return agent


def _output_of(signature: Signature) -> object:
    return None if signature.returns in {Kind.STRING, Kind.KEYWORD} else as_texts(signature).output_type
