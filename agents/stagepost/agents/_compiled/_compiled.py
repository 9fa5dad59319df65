"""Compiled agents: a program that a model has written once, and that runs without it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NoReturn, Self

from pydantic import BaseModel, SecretStr

from stagepost._dataclasses import dataclass
from stagepost.workflows import Pattern, TracerFactory

from .._agent._agent import Agent
from .._agent._given import ToolSource, read_tools
from .._definition._approvals import Approvals
from .._delegation._result import AgentResult
from .._loop._session import Approve
from .._models._model import Model
from ..errors import InvalidProgram, InvalidRequest
from ._standing import StandIn

if TYPE_CHECKING:  # programs take time to import, and most agents write none
    from stagepost.programs import Language, ProgramError, Signature

_NONE: Final[Mapping[str, StandIn]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileMetadata:
    """How a program came about.

    Attributes:
        compiled_at: When.
        tokens_used: Tokens of all answers of the model.
        turns: How many answers there were.
        model: Name of the model.
    """

    compiled_at: datetime
    tokens_used: int
    turns: int
    model: str


@dataclass(frozen=True)
class CompiledAgent:
    """A program that a model has written once, and that runs without a model from then on.

    ::

        compiled = await CompiledAgent.compile(agent, sample={"rows": [{"total": 1}]})
        print(compiled.source)
        await compiled.execute({"rows": rows})

        again = CompiledAgent.load(compiled.source, compiled.signature, tools=agent.tools)

    The same inputs give the same result, as far as its tools do: it has no clock, no memory and no chance. Everywhere
    else where an agent can stand, `agent` can: in chains, as a tool or sub-agent of others, on the hub, where its calls
    are committed like those of any agent.

    Attributes:
        name: Its name.
        source: The program, to be read, reviewed and stored.
        signature: What goes in and what comes out.
        metadata: How the program came about; None if it was loaded.
        field_descriptions: What is known of inputs and fields of the result, by name.
        agent: The agent that runs it; its model is the program, and there is no other.
    """

    name: str
    source: str
    signature: "Signature"
    metadata: CompileMetadata | None = None
    field_descriptions: Mapping[str, str] = field(default_factory=dict)
    agent: Agent[Any] = field(compare=False, repr=False, kw_only=True)

    @classmethod
    async def compile(
        cls,
        agent: Agent[Any],
        *,
        sample: Mapping[str, object] | None = None,
        signature: "Signature | str | None" = None,
        stand_ins: Mapping[str, StandIn] = _NONE,
        model: Model | str | None = None,
        override_model: Model | str | None = None,
        tracing: TracerFactory | None = None,
    ) -> Self:
        """Have the agent's model write one program for all requests, and check it on a sample.

        The model is asked once; if the agent has tools, it may repair its program twice. The agent has
        ``programs=PtcLisp()``, ``budget=Budget(turns=1)`` and a text as its prompt, in which ``{field}`` stands for the
        name of an input. Nothing that asks a model may be among its tools. Without ``input=``, programs read the
        request as the input ``request``.

        Args:
            agent: The agent.
            sample: Inputs by name, of which the model sees types and beginnings, and on which the program is run before
                it is accepted; by default empty texts and lists, zeros and nil.
            signature: What goes in and comes out; by default as the agent's ``input=`` and ``output=`` say.
            stand_ins: Functions that are called for the sample instead of tools, by their names; one is needed for
                each tool that is not idempotent or needs approval.
            model: The model for an agent without one of its own.
            override_model: Replaces the agent's own model.
            tracing: As for `Agent.run`, of each question to the model.

        Raises:
            NotCompilable: Something about the agent forbids it; all reasons are named, and no model was asked.
            InvalidSignature: `signature` cannot be read.
            InvalidRequest: The sample is not what the agent takes.
            CompileFailed: What the model has written does not pass the check.
            AgentError: The model could not be asked; see `Agent.run`.
        """
        from ._compiling import Compiling, compiled_agent, compiled_source, descriptions, read_signature  # noqa: PLC0415  # see above

        known = None if signature is None else read_signature(signature)
        task = Compiling(agent, known, stand_ins, None if sample is None else dict(sample))
        given = {"model": model, "override_model": override_model, "tracing": tracing}
        made = await compiled_source(task, given)
        metadata = CompileMetadata(
            compiled_at=datetime.now(UTC), tokens_used=made.tokens, turns=made.turns, model=made.model
        )
        running = compiled_agent(task, made)
        return cls(agent.name, made.source, made.signature, metadata, descriptions(made.signature), agent=running)

    @classmethod
    def load(
        cls,
        source: str,
        signature: "Signature | str",
        tools: Iterable[ToolSource] = (),
        *,
        name: str = "compiled",
        description: str = "",
        input: type[BaseModel] | None = None,  # noqa: A002  # the word for it
        output: object = None,
        approvals: Approvals | Iterable[str] | None = None,
        hooks: Iterable[object] = (),
        language: "Language | None" = None,
        metadata: CompileMetadata | None = None,
        field_descriptions: Mapping[str, str] | None = None,
    ) -> Self:
        """A compiled agent of a program that was stored, or that a person has written.

        Args:
            source: The program.
            signature: What goes in and comes out.
            tools: What it may call.
            name: Its name.
            description: What other agents have to know to ask it.
            input: Pydantic model of the inputs; by default made of the signature.
            output: Type of the result; by default that of the signature, with dictionaries for maps.
            approvals: Which calls need a person's approval.
            hooks: Code around its calls, as of an agent.
            language: In which the program is written.
            metadata: How it came about, if that was stored, too.
            field_descriptions: What is known of inputs and fields of the result, by name.

        Raises:
            InvalidSignature: The signature cannot be read.
            InvalidProgram: The program cannot be read, has undefined names or unknown tools, or a tool is a prompt or
                an agent; all are named.
            InvalidAgent: The rest does not fit together.
        """
        from ._compiling import descriptions, read_signature  # noqa: PLC0415  # see above
        from ._program_agent import Kinds, program_agent  # noqa: PLC0415

        own = read_signature(signature)
        running = program_agent(
            name,
            source,
            own,
            language,
            kinds=Kinds(input, output),
            description=description,
            tools=tools,
            approvals=approvals,
            hooks=hooks,
        )
        problems = _problems(source, running, language)
        if problems:
            raise InvalidProgram(name, problems)
        described = descriptions(own) if field_descriptions is None else dict(field_descriptions)
        return cls(name, source, own, metadata, described, agent=running)

    @staticmethod
    def validate(
        source: str, tools: Iterable[ToolSource] = (), *, language: "Language | None" = None
    ) -> "Sequence[ProgramError]":
        """What is wrong with a program and can be seen without running it: undefined names, unknown tools, syntax.

        Args:
            source: The program.
            tools: What it may call.
            language: In which it is written.
        """
        from ._program_agent import PTC_LISP  # noqa: PLC0415  # see above

        return (language or PTC_LISP).check(source, [tool.name for tool in read_tools("validate", tools, (), ()).tools])

    async def execute(
        self,
        arguments: Mapping[str, object],
        *,
        deps: Any = None,
        secrets: Mapping[str, str | SecretStr] | None = None,
        approve: Approve | None = None,
        tracing: TracerFactory | None = None,
        trace: str | None = None,
    ) -> Any:
        """Run the program; no model is asked.

        Args:
            arguments: One mapping with all inputs by name; ``{}`` for none.
            deps: Given to tools as ``context.deps``.
            secrets: Given to tools as ``context.secrets``, and masked in what tools return.
            approve: As for `Agent.run`.
            tracing: As for `Agent.run`.
            trace: As for `Agent.run`.

        Returns:
            The result: an instance of the agent's ``output=``, or what the signature says.

        Raises:
            InvalidRequest: An input is missing, unknown or does not fit; it is named.
            AgentGaveUp: The program has failed, or has called ``fail``; `AgentGaveUp.kind` says how.
            AgentError: Something else went wrong, as in `Agent.run`.
        """
        result = await self.run(arguments, deps=deps, secrets=secrets, approve=approve, tracing=tracing, trace=trace)
        return result.output

    async def run(
        self,
        arguments: Mapping[str, object],
        *,
        deps: Any = None,
        secrets: Mapping[str, str | SecretStr] | None = None,
        approve: Approve | None = None,
        tracing: TracerFactory | None = None,
        trace: str | None = None,
    ) -> AgentResult[Any]:
        """`execute`, with the whole result: the calls that were made are in its messages.

        Args:
            arguments: As for `execute`, like the others.
            deps: As for `execute`.
            secrets: As for `execute`.
            approve: As for `execute`.
            tracing: As for `execute`.
            trace: As for `execute`.

        Raises:
            InvalidRequest: As for `execute`.
            AgentGaveUp: As for `execute`.
            AgentError: As for `execute`.
        """
        return await self.agent.run(
            self._request(arguments), deps=deps, secrets=secrets, approve=approve, tracing=tracing, trace=trace
        )

    def as_workflow(self) -> Pattern:
        """The workflow that runs it, for ``runner.serve(compiled)`` and as a child of other workflows."""
        return self.agent.as_workflow()

    def _request(self, arguments: object) -> object:
        """The inputs as the agent takes them."""
        if not isinstance(arguments, Mapping):
            self._refuse([f"it takes one mapping of named arguments, not {type(arguments).__name__}"])
        from ._inputs import checked  # noqa: PLC0415  # see above

        given = checked(self.signature, arguments)
        if given.errors:
            self._refuse(given.errors)
        return given.value if self.agent.input is not None else given.value["request"]

    def _refuse(self, errors: Sequence[str]) -> NoReturn:
        raise InvalidRequest(self.name, f"{'; '.join(errors)}. Its signature is {self.signature}")


def _problems(source: str, agent: Agent[Any], language: "Language | None") -> Sequence[str]:
    """Why a program cannot be run with the tools of an agent."""
    from ._refusals import asking_tools  # noqa: PLC0415  # see above

    problems = [str(each) for each in CompiledAgent.validate(source, agent.tools, language=language)]
    asking = asking_tools(agent.tools)
    if asking:
        problems.append(f"{', '.join(map(repr, asking))}: prompts and agents ask a model, which a program must not")
    return problems
