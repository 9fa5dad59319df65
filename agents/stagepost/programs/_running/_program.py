"""One program from its text to its outcome, by whatever host."""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from .._compiler._compiler import Compiler
from .._compiler._functions import remade
from .._compiler._scope import Scope
from .._compiler._special import HANDLERS
from .._compiler._undefined import faults_of
from .._errors import InvalidValue, ProgramsError
from .._fault import Failed, Fault, Returned
from .._keyword import Keyword
from .._limits import Limits
from .._machine import Machine
from .._outcome import End, Outcome, Place, ProgramError
from .._reader._forms import Call, Form, Symbol
from .._reader._reader import read
from .._values._boundary import inward
from .._values._lookup import lookup
from .._values._show import Printer, show
from .._values._types import Function
from ._hosts import DirectHost

_DEFINING = frozenset({"def", "defn", "defonce"})
_KIND = 200  # characters of the kind of a failure that a program names


def perform(machine: Machine, source: str, memory: Mapping[str, Any], tools: Iterable[str]) -> Outcome:
    """Read, check and run the program; whatever goes wrong in it is in the outcome.

    Raises:
        InvalidValue: An input is no value of programs.
        PackageMissing: The program needs a package that is not installed.
    """
    try:
        value, end = _ended(machine, source, memory, tools)
        if end is End.FAIL:
            reason = _settled(machine, value, "the value", None)
            return _failed(machine, memory, _reason(reason), end)
        return _outcome(machine, value, end)
    except Fault as fault:
        return _failed(machine, memory, _error(fault, source), End.ERROR)
    except RecursionError:
        return _failed(machine, memory, _error(machine.too_deep(), source), End.ERROR)
    except ProgramsError:
        raise
    except Exception as error:  # noqa: BLE001 - a defect of the interpreter must not end the host
        defect = Fault("eval_error", f"the interpreter failed with {type(error).__name__}; write it in another way")
        return _failed(machine, memory, _error(defect, source), End.ERROR)


def check(source: str, tools: Collection[str], limits: Limits) -> Sequence[ProgramError]:
    """What is wrong with a program that can be seen without running it, in the order of its text.

    Args:
        source: The program.
        tools: Names of the tools that it may call.
        limits: What reading and checking it may use.
    """
    host = DirectHost()
    machine = Machine(limits, host, None, time.perf_counter)
    host.machine = machine
    try:
        forms = read(source, limits, machine.tick)
        faults = faults_of(forms, _defined(forms), tools, HANDLERS, limits)
    except Fault as fault:
        return (_error(fault, source),)
    except RecursionError:
        return (_error(machine.too_deep(), source),)
    return tuple(_error(fault, source) for fault in faults)


def _ended(machine: Machine, source: str, memory: Mapping[str, Any], tools: Iterable[str]) -> tuple[Any, End]:
    forms = read(source, machine.limits, machine.tick)
    compiler = Compiler(machine, {*memory, *_defined(forms)}, tools, HANDLERS)
    machine.branch.memory = {
        name: inward(value, f"memory.{name}", machine.tick, lambda function: remade(compiler, function))
        for name, value in memory.items()
    }
    scope = Scope()
    run = compiler.body(tuple(forms), scope)
    machine.depth = scope.deepest
    try:
        return run([None] * scope.size), End.VALUE
    except Returned as returned:
        return returned.value, End.RETURN
    except Failed as failed:
        return failed.value, End.FAIL


def _defined(forms: Iterable[Form]) -> set[str]:
    """The names that the program defines anywhere; those that it uses are checked against them before it runs."""
    found: set[str] = set()
    waiting: list[Any] = list(forms)
    while waiting:
        form = waiting.pop()
        match form:
            case Call((Symbol(word), Symbol(name), *_)) if word in _DEFINING:
                found.add(name)
        waiting.extend(getattr(form, "items", ()))
    return found


def _outcome(machine: Machine, value: Any, end: End) -> Outcome:
    branch = machine.branch
    memory = {
        name: _settled(machine, of, f"memory.{name}", _storable(machine, name)) for name, of in branch.memory.items()
    }
    _check_stored(machine, memory)
    return Outcome(
        _settled(machine, value, "the value", None),
        tuple(branch.prints),
        memory,
        tuple(branch.calls),
        None,
        end,
        machine.world.journal,
        machine.world.summaries,
    )


def _settled(machine: Machine, value: Any, where: str, remade: Callable[[Function], Any] | None) -> Any:
    """A copy that no longer knows the machine."""
    try:
        return inward(value, where, machine.copying, remade)
    except InvalidValue as refused:
        raise Fault("memory_exceeded", f"{where} is nested too deep to be kept") from refused


def _storable(machine: Machine, name: str) -> Callable[[Function], Any]:
    def check(function: Function) -> Function:
        if function.form is None:
            raise Fault(
                "type_error",
                f"{name} holds a function that cannot be stored: of (apply juxt …) or the like",
                f"write (defn {name} [x] …) that calls it",
            )
        held = [(each, inward(of, f"memory.{name}", machine.copying, check)) for each, of in function.held]
        return replace(function, held=tuple(held))

    return check


def _check_stored(machine: Machine, memory: Mapping[str, Any]) -> None:
    limit = machine.limits.stored
    if limit is None or not memory:
        return
    printer = Printer(None, machine.tick)
    if sum(len(name) + len(printer.text(value)) for name, value in memory.items()) > limit:
        raise Fault(
            "memory_limit_exceeded",
            f"what def keeps is longer than {limit} characters; Limits(stored=…) raises it",
            "keep less: results instead of inputs",
        )


def _failed(machine: Machine, memory: Mapping[str, Any], error: ProgramError, end: End) -> Outcome:
    branch = machine.branch
    return Outcome(None, tuple(branch.prints), memory, tuple(branch.calls), error, end, machine.world.journal, {})


def _reason(value: Any) -> ProgramError:
    if not isinstance(value, dict):
        return ProgramError("failed", value if type(value) is str else show(value, items=50))
    reason, message = lookup(value, Keyword("reason")), lookup(value, Keyword("message"))
    kind = reason.twin if isinstance(reason, Keyword) else reason or "failed"
    kind = kind if isinstance(kind, str) else show(kind, items=5)
    return ProgramError(kind[:_KIND], message if type(message) is str else show(value, items=50))


def _error(fault: Fault, source: str) -> ProgramError:
    place = None
    if fault.place is not None:
        before = source[: fault.place]
        place = Place(before.count("\n") + 1, len(before) - before.rfind("\n"))
    return ProgramError(fault.kind, fault.text, place, fault.hint)
