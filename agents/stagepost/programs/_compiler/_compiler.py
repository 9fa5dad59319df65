"""Compiles forms: literals, names and calls; special forms have modules of their own."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple, TypeAlias

from .._builtins import BUILTINS, CONSTANTS
from .._fault import Fault, refused
from .._keyword import Keyword
from .._machine import Machine
from .._reader._forms import Braces, Brackets, Call, Form, Regex, SetOf, Short, Symbol, VarOf, symbols
from .._values._calling import accessor, callable_value, too_many
from .._values._key import enc
from .._values._regex import pattern
from .._values._types import Builtin, Var, accepts
from ._calls import called
from ._fast import fast
from ._names import canonical, undefined
from ._scope import Frame, Node, Scope

_FRAMES: Final = 3  # of the interpreter, between a function of the language and one that it calls
_CALLING: Final = frozenset({"Transform", "Order", "Part", "Combine", "Aggregate", "Map", "Tree", "Function"})
_PREDICATES: Final = frozenset({"where", "all-of", "any-of", "none-of"})
_MAKERS: Final = frozenset({"juxt", "fnil"})
_RESULTS: Final = {"*1": 0, "*2": 1, "*3": 2}


class Tail(NamedTuple):
    """Where a ``recur`` goes: the slots of the loop or function, and what binds them."""

    rebind: Callable[[Frame, list[Any]], None]
    values: int


Handler: TypeAlias = Callable[["Compiler", Call, Scope, Tail | None], Node]


class Compiler:
    """Compiles the forms of one program for one machine.

    Attributes:
        machine: Runs what was compiled.
        memory: Names that the program or one before it has defined.
        tools: Names of tools.
        special: What compiles each special form.
    """

    def __init__(
        self, machine: Machine, memory: Iterable[str], tools: Iterable[str], special: Mapping[str, Handler]
    ) -> None:
        self.machine = machine
        self.memory = set(memory)
        self.tools = tuple(sorted(tools))
        self.special = special
        self._depth = 0

    def compile(self, form: Form, scope: Scope, tail: Tail | None = None) -> Node:
        """The function that evaluates the form in a frame of the scope."""
        self.machine.tick()
        self._depth += 1
        if self._depth > self.machine.max_depth:
            raise self.machine.too_deep()
        node = self._compile(form, scope, tail)
        self._depth -= 1
        return node

    def body(self, forms: tuple[Any, ...], scope: Scope, tail: Tail | None = None) -> Node:
        """One form after another; the value of the last."""
        if not forms:
            return _constant(None)
        if len(forms) == 1:
            return self.compile(forms[0], scope, tail)
        first = [self.compile(form, scope) for form in forms[:-1]]
        last = self.compile(forms[-1], scope, tail)

        def body(frame: Frame) -> Any:
            for node in first:
                node(frame)
            return last(frame)

        return body

    def inner(self, scope: Scope, compiled: Callable[[Scope], Any]) -> tuple[Any, Scope]:
        """Compile the body of a function, in a scope inside this one."""
        own, depth = Scope(scope), self._depth
        self._depth = 0
        made = compiled(own)
        self._depth = depth
        return made, own

    def _compile(self, form: Form, scope: Scope, tail: Tail | None) -> Node:
        match form:
            case Symbol():
                return self.name(form, scope)
            case Call():
                return self._call(form, scope, tail)
            case Brackets() | Braces() | SetOf():
                return self._collection(form, scope)
            case Short():
                return self.special["#()"](self, Call(form.items, form.place), scope, None)
            case _:
                return _constant(self._atom(form))

    def _atom(self, form: Form) -> Any:
        if isinstance(form, Regex):
            return pattern(form.name, self.machine.limits, form.place)
        return self._var(form.name, form) if isinstance(form, VarOf) else form

    def _var(self, name: str, form: VarOf) -> Var:
        if name not in self.memory and canonical(name) not in BUILTINS:
            raise undefined(name, form.place, self.memory)
        return Var(name)

    def _collection(self, form: Brackets | Braces | SetOf, scope: Scope) -> Node:
        nodes = [self.compile(item, scope) for item in form.items]
        machine = self.machine
        if isinstance(form, Brackets):
            return lambda frame: machine.vector([node(frame) for node in nodes])
        if isinstance(form, SetOf):
            return lambda frame: machine.members([enc(node(frame)) for node in nodes])
        for key in form.items[::2]:
            if not isinstance(key, str):
                place = getattr(key, "place", form.place)
                raise refused(
                    "keys of a map that is written out are keywords or texts", place, "use (assoc {} key value)"
                )
        pairs = list(zip(form.items[::2], nodes[1::2], strict=True))
        return lambda frame: machine.mapping({key: node(frame) for key, node in pairs})

    # names

    def name(self, symbol: Symbol, scope: Scope) -> Node:
        """What a name stands for: a local, else what is in memory, else what the language has."""
        slot = scope.find(symbol.name)
        if slot is not None:
            return lambda frame: frame[slot]
        name = symbol.name
        return self._remembered(name, symbol.place) if name in self.memory else self._global(symbol)

    def _global(self, symbol: Symbol) -> Node:
        name = symbol.name
        if "/" in name and name.startswith(("data/", "ctx/")):
            return self._input(name.split("/", 1)[1])
        if name in _RESULTS:
            return _constant(self.machine.world.result(_RESULTS[name], self.machine.tick))
        known = canonical(name)
        found = BUILTINS.get(known, CONSTANTS.get(known))
        if found is not None:
            return _constant(found)
        raise undefined(name, symbol.place, self.memory)

    def _remembered(self, name: str, place: int) -> Node:
        machine = self.machine

        def remembered(_: Frame) -> Any:
            memory = machine.branch.memory
            if name not in memory:
                raise Fault("undefined_variable", f"Undefined variable: {name} has no value yet", None, place)
            return memory[name]

        return remembered

    def _input(self, name: str) -> Node:
        return _constant(self.machine.world.data(name, self.machine.tick))

    # calls

    def _call(self, form: Call, scope: Scope, tail: Tail | None) -> Node:
        head = form.items[0]
        if isinstance(head, Symbol):
            if scope.find(head.name) is None and head.name not in self.memory:
                return self._named_call(head, form, scope, tail)
        elif isinstance(head, Keyword):
            return self._keyword_call(head, form, scope)
        return self._value_call(form, scope)

    def _named_call(self, head: Symbol, form: Call, scope: Scope, tail: Tail | None) -> Node:
        handler = self.special.get(head.name) or self.special.get(head.name.split("/")[0] + "/")
        if handler is not None and head.name not in BUILTINS:
            node = handler(self, form, scope, tail)
            return self._kept(form, node, scope) if head.name in _PREDICATES else node
        builtin = BUILTINS.get(canonical(head.name))
        if builtin is None:
            return self._value_call(form, scope)
        if not accepts(builtin, len(form.items) - 1):
            raise too_many(builtin, len(form.items) - 1).at(form.place)
        if builtin.family in _CALLING:
            scope.deepest = max(scope.deepest, self._depth + _FRAMES)
        node = self.builtin_call(builtin, [self.compile(item, scope) for item in form.items[1:]], form.place)
        return self._kept(form, node, scope) if builtin.name in _MAKERS else node

    def _kept(self, form: Call, node: Node, scope: Scope) -> Node:
        """A function that a form makes, with what it takes to make it again in another run."""
        found = {symbol.name: scope.find(symbol.name) for symbol in symbols(form)}
        slots = [(name, slot) for name, slot in found.items() if slot is not None]

        def kept(frame: Frame) -> Any:
            made = node(frame)
            return replace(made, form=form, held=tuple((name, frame[slot]) for name, slot in slots))

        return kept

    def builtin_call(self, builtin: Builtin, nodes: list[Node], place: int) -> Node:
        """A call of a function of the language."""
        made = fast(builtin, self.machine, nodes, place)
        return made or called(builtin, self.machine, nodes, place)

    def _keyword_call(self, head: Keyword, form: Call, scope: Scope) -> Node:
        nodes = [self.compile(item, scope) for item in form.items[1:]]
        if len(nodes) not in {1, 2}:
            raise Fault(
                "arity_error", f"arity error: {head} expects 1 or 2 argument(s), got {len(nodes)}", None, form.place
            )
        read = accessor(head, len(nodes))
        if len(nodes) == 1:
            (only,) = nodes
            return lambda frame: read(only(frame))
        return lambda frame: read(nodes[0](frame), nodes[1](frame))

    def _value_call(self, form: Call, scope: Scope) -> Node:
        scope.deepest = max(scope.deepest, self._depth)
        head, *nodes = [self.compile(item, scope) for item in form.items]
        machine, count, place = self.machine, len(nodes), form.place

        def call(frame: Frame) -> Any:
            try:
                return callable_value(machine, head(frame), count)(*[node(frame) for node in nodes])
            except Fault as fault:
                raise fault.at(place) from None

        return call


def _constant(value: Any) -> Node:
    return lambda _: value
