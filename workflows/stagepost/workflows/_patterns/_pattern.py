"""What all patterns have in common: a name, a state, and that they can be compiled and run."""

from abc import abstractmethod
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import cached_property
from inspect import isawaitable
from itertools import chain
from typing import Any, Protocol, TypeAlias

from pydantic import BaseModel

from stagepost.checkpoint import Codec, Shape, Snapshot, TypedCodec
from stagepost.hub import check_name

from .._arguments import by_key, version_of
from .._lifespans import Lifespan
from .._pattern_errors import describe
from .._plans._diagram import mermaid
from .._plans._places import signals_of
from .._plans._plan import Plan, PlanBuilder
from .._plans._shape import is_plain, shape_of
from .._plans._within import Within, child_path
from .._steps._step import Step, StepFunction, own_name, step, wants_context
from .._values._schema import ModelSchema, PlainSchema, Schema
from .._values._state import Types
from .._values._types import codec_of
from ..errors import DefinitionError, PatternError
from ._builder import Builder, add_part
from ._given import check_model, listed
from ._in_memory import InMemory
from ._nesting import check_nesting
from ._takes import check_takes
from ._told import BeginTold, told_run


class Servable(Protocol):
    """Whatever a workflow does the work of: a pattern, which is one itself, or an agent."""

    def as_workflow(self) -> "Pattern":
        """The workflow that does its work."""
        ...


class Pattern(InMemory):
    """A composition of steps: it runs alone, under a `Runner`, or as a part of another pattern.

    Attributes:
        name: Unique among its siblings; at the top, the workflow's name.
        version: Declared version of the definition. Old versions may be registered beside new ones.
        state: Model of the states; None for plain `State`.
        lifespan: Opens what the steps of its runs find as ``context.resources``; None if they need nothing. That of the
            outermost pattern counts. A runner enters it once, before the first run that needs it is worked on, and
            leaves it after all runs; lifespans that are equal (``==``) are one.
    """

    kind: str

    def __init__(
        self,
        name: str,
        *,
        state: type[BaseModel] | None = None,
        types: Mapping[str, Any] | None = None,
        version: int = 1,
        companions: Sequence[Servable] = (),
        lifespan: Lifespan | None = None,
    ) -> None:
        check_name(f"{self.kind} name", name)
        where = f"{self.kind} {name!r}"
        check_model(where, state)
        version_of(where, version)
        if lifespan is not None and not callable(lifespan):
            raise DefinitionError(
                where, f"lifespan={lifespan!r:.80}: give a function that makes an async context manager"
            )
        self.name = name
        self.state = state
        self.version = version
        self._types = {key: codec for key, kind in by_key(where, "types=", types).items() if (codec := codec_of(kind))}
        self._companions = listed(where, "companions=", companions)
        self.lifespan = lifespan

    def as_workflow(self) -> "Pattern":
        """Itself."""
        return self

    @property
    def companions(self) -> Sequence["Pattern"]:
        """Workflows whose runs its steps start: a runner that knows this one knows them too."""
        return tuple(companion.as_workflow() for companion in self._companions)

    @property
    def hidden(self) -> Collection[tuple[str, str]]:
        """Texts that its runs may not keep, though nobody has given them as secrets: each with what it is.

        Such as the keys of the models that an agent asks. Runs of it mask and refuse them like secrets, and so do all
        runs of a runner that knows the workflow.
        """
        return tuple(chain.from_iterable(part.hidden for part in self.parts if isinstance(part, Pattern)))

    @property
    def traced_agent(self) -> str | None:
        """Name of the agent whose work its runs are, for whoever traces them; None for other workflows."""
        return None

    @property
    def parts(self) -> Sequence["Node"]:
        """Steps and patterns inside, whatever state they work on."""
        return tuple(self.children.values())

    @property
    def inside(self) -> "Sequence[Pattern]":
        """Patterns that are its parts."""
        return tuple(part for part in self.parts if isinstance(part, Pattern))

    @property
    @abstractmethod
    def children(self) -> "Mapping[str, Node]":
        """Steps and patterns inside that work on the same state, by name."""

    @abstractmethod
    def compile(self, builder: Builder) -> str:
        """Add this pattern's places to the plan of a workflow; returns the path of the first one.

        Args:
            builder: Where they go; it knows where the pattern stands and what comes after it.
        """

    def failed(self, child: str, cause: BaseException, *, state: Any, trail: Sequence[str]) -> PatternError:  # noqa: ARG002  # for those who tell how they got there
        """The error that says that this pattern failed at a child.

        Args:
            child: The child's name; empty for the pattern itself.
            cause: Why.
            state: What the failing step saw.
            trail: Paths of the nodes of loops and graphs that were entered before, oldest first.
        """
        where = f" at {child!r}" if child else ""
        return PatternError(f"{self.kind} {self.name!r} failed{where}: {describe(cause)}", name=self.name, state=state)

    def order(self, child: str) -> tuple[int, int] | None:  # noqa: ARG002  # for those whose children have an order
        """Position of a child and how many there are, if one comes after the other."""
        return None

    @property
    def root_path(self) -> str:
        """Path of the pattern where it is the whole workflow: its name, unless its children are the first in theirs."""
        return self.name

    @cached_property
    def plan(self) -> Plan:
        """The compiled workflow.

        Raises:
            DefinitionError: Its parts do not fit together, or are nested too deep.
        """
        check_nesting(self)
        return self.compile_alone({})

    @cached_property
    def signals(self) -> Mapping[str, Codec[Any]]:
        """The signals that the workflow receives, and what each carries."""
        return signals_of(self.plan)

    @cached_property
    def shape(self) -> Shape:
        """What the workflow is made of, as it is stored with its runs."""
        return shape_of(self.plan)

    @cached_property
    def is_plain(self) -> bool:
        """Whether no value of its runs has a type, which may change while they are stored."""
        return is_plain(self.plan)

    def compile_alone(self, inherited: Types) -> Plan:
        """A plan of its own: at the top, or as the worker of a fan-out.

        Args:
            inherited: Typed keys of the state that a worker inherits.
        """
        plan = PlanBuilder(self._schema(inherited))
        return plan.plan(add_part(plan, self, self.root_path, None, Within()))

    def _schema(self, inherited: Types) -> Schema:
        if self.state is not None:
            return ModelSchema(self.state, self.stored_keys, f"{self.kind} {self.name!r}")
        return PlainSchema({**inherited, **self.types})

    @property
    def types(self) -> Types:
        """The typed keys of the state: declared here, or by what is inside.

        Raises:
            DefinitionError: Two parts give one key different types.
        """
        merged: dict[str, TypedCodec[Any]] = dict(self._types)
        for child in self.children.values():
            for key, codec in child.types.items():
                if merged.setdefault(key, codec).kind != codec.kind:
                    raise DefinitionError(
                        f"{self.kind} {self.name!r}",
                        f"key {key!r} is {merged[key].kind!r} in one step and {codec.kind!r} in another: "
                        "give one of them another into=",
                    )
        return merged

    @property
    def stored_keys(self) -> frozenset[str]:
        """Keys that steps inside store their results under."""
        keys: set[str] = set()
        for child in self.children.values():
            keys |= child.stored_keys
        return frozenset(keys)

    def part(self, given: "NodeLike", name: str | None = None) -> "Node":
        """A part that works on the same state, ready to be one of the `children`: a function becomes a step.

        Args:
            given: A function, step or pattern.
            name: Its name in this pattern; by default it is known by its own.

        Raises:
            DefinitionError: It is none of these, or for another kind of state; or it is nested too deep.
            ValueError: The name is none.
        """
        if name is not None:
            check_name(f"name in {self.kind} {self.name!r}", name)
        child = as_node(given)
        if isinstance(child, Pattern):
            check_nesting(self, child)
        self._check_states(child)
        return child

    def _check_states(self, child: "Node") -> None:
        if not isinstance(child, Pattern):
            if self.state is not None:
                check_takes(child, child.takes, self.state)
            return
        if child.state not in (None, self.state):
            raise DefinitionError(
                f"{child.kind} {child.name!r}",
                f"its state is {child.state!r}, but {self.kind} {self.name!r} around it has {self.state!r}: "
                "nested patterns share one state; declare it on the outermost",
            )
        for grandchild in child.children.values():
            self._check_states(grandchild)

    def accept(self, payload: object) -> Mapping[str, object] | BaseModel:
        """What a run starts with when the workflow is served and asked with this payload.

        Raises:
            TypeError: It is no mapping and no model.
        """
        if isinstance(payload, BaseModel) and self.state is None:
            return payload.model_dump(mode="json")
        if isinstance(payload, BaseModel | Mapping):
            return payload
        raise TypeError(f"workflow {self.name!r} is asked with a mapping or a model, not {type(payload).__name__}")

    def reply(self, state: Any) -> object:
        """What a served run is answered with: by default its final state."""
        return state

    def told(self, runner: object, begin: BeginTold) -> AbstractAsyncContextManager[AsyncIterator[object]]:  # noqa: ARG002 - for those that need it
        """What is told to whoever reads a served run as a stream: by default the stream of the run.

        Args:
            runner: The runner that serves it.
            begin: Starts the run, or finds it.
        """
        return told_run(begin)

    def foresee(self, snapshot: Snapshot, state: Any, path: str) -> Iterator[str]:
        """What else is known of an open run that goes on with this: sentences, for a check before a deploy.

        Such as a limit that it has reached already. Of a pattern inside of items nobody asks.

        Args:
            snapshot: The run, as one of this version.
            state: Its state, as its next step sees it.
            path: Where the pattern stands in the workflow.
        """
        for name, child in self.children.items():
            if isinstance(child, Pattern):
                yield from child.foresee(snapshot, state, child_path(path, name))

    def mermaid(self) -> str:
        """The workflow as a mermaid flowchart."""
        return mermaid(self.plan)


Node: TypeAlias = Step | Pattern
NodeLike: TypeAlias = Node | StepFunction


def as_node(part: NodeLike) -> Node:
    """A step of a function; steps and patterns as they are.

    Raises:
        DefinitionError: It is neither.
    """
    if isinstance(part, Step | Pattern):
        return part
    if callable(part):
        return step(part)
    why = "a step is a function, step(…), Ask(…) or a pattern"
    if isawaitable(part) or isinstance(part, Mapping):
        why += "; this is what a call has returned: give the function itself, without ()"
    elif isinstance(part, list | tuple):
        why += '; for several at once give each a name: {"name": step, …}'
    raise DefinitionError(f"step {part!r:.100}", why)


def as_worker(part: NodeLike) -> Node:
    """The same for the worker of a fan-out, whose function takes an item.

    Raises:
        DefinitionError: It takes something else.
    """
    if callable(part) and not isinstance(part, Step | Pattern):
        wants_context(own_name(part), part, takes=("item",))
    return as_node(part)
