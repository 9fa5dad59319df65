"""Forms with effects: calls of tools, return and fail, println, tasks, parallel branches."""

from typing import Any, Final

from .._builtins._sequence import sequence
from .._errors import AmbiguousKeys
from .._fault import Failed, Fault, Returned, refused
from .._keyword import Keyword
from .._reader._forms import Braces, Call, Symbol
from .._values._boundary import plain
from .._values._calling import function
from .._values._names import type_word
from .._values._show import Printer
from ._compiler import Compiler, Tail
from ._scope import Frame, Node, Scope

_RESERVED: Final = {"return": Returned, "fail": Failed}


def call(compiler: Compiler, form: Call, scope: Scope, tail: Tail | None) -> Node:
    """``(call "name" {…})``."""
    match form.items[1:]:
        case (str() as name, *rest) if not isinstance(name, Keyword) and len(rest) < 2:  # noqa: PLR2004 - a map, or nothing
            if name in _RESERVED:
                return end(compiler, Call((Symbol(name, form.place), *rest), form.place), scope, tail)
            return _tool(compiler, name, tuple(rest), form, scope)
        case _:
            raise refused('call takes the name of a tool and a map: (call "name" {:key value})', form.place)


def tool(compiler: Compiler, form: Call, scope: Scope, tail: Tail | None) -> Node:
    """``(tool/name {…})``, ``(tool/name :k v …)`` and ``(tool/name)``; also ``ctx/``."""
    name = form.items[0].name.split("/", 1)[1]
    if name in _RESERVED:
        return end(compiler, Call((Symbol(name, form.place), *form.items[1:]), form.place), scope, tail)
    return _tool(compiler, name, form.items[1:], form, scope)


def _tool(compiler: Compiler, name: str, given: tuple[Any, ...], form: Call, scope: Scope) -> Node:
    name = _known(compiler, name, form.place)
    if len(given) > 1 and len(given) % 2 == 0 and all(isinstance(key, Keyword) for key in given[::2]):
        given = (Braces(given, form.place),)
    if len(given) > 1 or (given and not isinstance(given[0], (Braces, Symbol, Call))):
        raise Fault(
            "analysis_error",
            f"Tool calls require named arguments: write (tool/{name} {{:key value}}), not positional ones",
            "the names of the arguments stand in the description of the tool",
            form.place,
        )
    arguments = compiler.compile(given[0], scope) if given else None
    machine = compiler.machine
    printer = Printer(None, machine.tick)

    def call(frame: Frame) -> Any:
        value = arguments(frame) if arguments is not None else None
        if value is not None and not isinstance(value, dict):
            raise Fault(
                "type_error", f"tool/{name}: named arguments are expected, got {type_word(value)}", None, form.place
            )
        if value and len(printer.text(value)) > machine.limits.sent:
            raise Fault(
                "tool_error",
                f"Tool '{name}' was not called: its arguments have more than {machine.limits.sent} characters; "
                "Limits(sent=…) raises it",
                "send what the tool needs, or call it for parts",
                form.place,
            )
        try:
            sent = plain(value or {})
        except AmbiguousKeys as error:
            raise Fault("type_error", f"tool/{name} was not called: {error}", None, form.place) from None
        return machine.host.call(name, sent)

    return call


def _known(compiler: Compiler, name: str, place: int) -> str:
    for spelled in (name, name.replace("-", "_")):
        if spelled in compiler.tools:
            return spelled
    tools = compiler.tools
    available = f"Available tools: {', '.join(tools)}" if tools else "No tools available."
    raise Fault("tool_not_found", f"Unknown tool: {name}. {available}", None, place)


def end(compiler: Compiler, form: Call, scope: Scope, _: Tail | None) -> Node:
    """``(return v)`` and ``(fail v)``."""
    word = form.items[0].name
    if len(form.items) > 2:  # noqa: PLR2004 - the name and the value
        raise Fault(
            "arity_error", f"arity error: {word} expects 1 argument(s), got {len(form.items) - 1}", None, form.place
        )
    value = compiler.body(form.items[1:], scope)
    machine, error = compiler.machine, _RESERVED[word]

    def leave(frame: Frame) -> Any:
        given = value(frame)
        if machine.branch.path:
            raise _not_inside(word, form.place)
        raise error(given)

    return leave


def _not_inside(word: str, place: int) -> Fault:
    return Fault(
        "eval_error",
        f"{word} called inside pmap or pcalls",
        f"let the branches give values, and call {word} after",
        place,
    )


def println(compiler: Compiler, form: Call, scope: Scope, _: Tail | None) -> Node:
    """``(println …)``."""
    nodes = [compiler.compile(item, scope) for item in form.items[1:]]
    machine = compiler.machine
    printer = Printer(None, machine.tick, hides=True)
    limit = machine.limits.printed

    def write(frame: Frame) -> None:
        text = " ".join(printer.said(node(frame)) for node in nodes)
        machine.branch.prints.append(machine.string(text if len(text) <= limit else f"{text[:limit]}…"))

    return write


def budget(compiler: Compiler, form: Call, _: Scope, __: Tail | None) -> Node:
    """``(budget/remaining)``."""
    if len(form.items) > 1:
        raise Fault("arity_error", "arity error: budget/remaining expects 0 argument(s)", None, form.place)
    value = compiler.machine.world.budget(compiler.machine.tick)
    return lambda _: value


def task(compiler: Compiler, form: Call, scope: Scope, _: Tail | None) -> Node:
    """``(task "id" e)``."""
    if len(form.items) < 2:  # noqa: PLR2004 - task and its id
        raise refused('task takes an id and a form: (task "id" form)', form.place)
    name = _literal(form)
    body = compiler.body(form.items[2:], scope)
    machine = compiler.machine

    def run(frame: Frame) -> Any:
        journal = machine.world.journal
        if name in journal:
            return journal[name]
        value = body(frame)
        machine.world.keep(name, value, machine.copying)
        return value

    return run


def task_reset(compiler: Compiler, form: Call, _: Scope, __: Tail | None) -> Node:
    """``(task-reset "id")``."""
    name, machine = _literal(form), compiler.machine

    def reset(_: Frame) -> None:
        if machine.branch.path:
            raise _not_inside("task-reset", form.place)
        machine.world.journal.pop(name, None)

    return reset


def step_done(compiler: Compiler, form: Call, scope: Scope, _: Tail | None) -> Node:
    """``(step-done "id" "text")``."""
    if len(form.items) != 3:  # noqa: PLR2004 - the name, the id, the text
        raise refused('step-done takes an id and a text: (step-done "id" "text")', form.place)
    name, machine = _literal(form), compiler.machine
    text = compiler.compile(form.items[2], scope)
    printer, limit = Printer(None, machine.tick, hides=True), machine.limits.printed

    def done(frame: Frame) -> None:
        if machine.branch.path:
            raise _not_inside("step-done", form.place)
        said = printer.said(text(frame))
        machine.world.summaries[name] = said if len(said) <= limit else f"{said[:limit]}…"

    return done


def _literal(form: Call) -> str:
    word = form.items[0].name
    if len(form.items) < 2 or type(form.items[1]) is not str:  # noqa: PLR2004 - the name and the id
        raise refused(f'{word}: the id has to be a text that is written out, such as "fetch"', form.place)
    return form.items[1]


def pmap(compiler: Compiler, form: Call, scope: Scope, _: Tail | None) -> Node:
    """``(pmap f coll)``."""
    if len(form.items) != 3:  # noqa: PLR2004 - the name, f, coll
        raise Fault(
            "arity_error", f"arity error: pmap expects 2 argument(s), got {len(form.items) - 1}", None, form.place
        )
    act, collection = (compiler.compile(item, scope) for item in form.items[1:])
    machine = compiler.machine

    def run(frame: Frame) -> list[Any]:
        each = function(machine, act(frame), 1, "pmap")
        items = sequence(machine, collection(frame), "pmap")
        return machine.vector(machine.host.parallel([lambda item=item: each(item) for item in items]), fresh=32)  # type: ignore[misc]  # bound now

    return run


def pcalls(compiler: Compiler, form: Call, scope: Scope, _: Tail | None) -> Node:
    """``(pcalls f…)``."""
    nodes = [compiler.compile(item, scope) for item in form.items[1:]]
    machine = compiler.machine

    def run(frame: Frame) -> list[Any]:
        acts = [
            function(machine, node(frame), 0, f"pcalls: function {index}") for index, node in enumerate(nodes, start=1)
        ]
        return machine.vector(machine.host.parallel(acts), fresh=32)

    return run
