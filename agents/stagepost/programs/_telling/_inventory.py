"""The inventories of the system prompt: inputs, tools, memory, the plan, and the result that is expected."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic_core import to_json

from .._signature._types import Field, MapOf, Type, bare
from .._signature._writing import write_type
from .._values._hidden import is_firewalled
from .._values._show import Printer, show
from ._facts import PromptFacts, ToolFacts
from ._types import (
    FIREWALLED,
    described,
    example,
    example_map,
    example_of_schema,
    is_function,
    of_field,
    of_schema,
    of_value,
    sample,
)
from ._words import PLAN

_SAMPLE: Final = 80  # characters
_WIDE: Final = 30
_LOGGED: Final = 200
_SCHEMA: Final = """\
## Result

Expected: a value whose JSON fits this schema: {schema}
Call `(return value)` when it is complete."""
_ENDS: Final = (
    "tool/return  ; (return value) ends the work with this value",
    'tool/fail  ; (fail {:reason :why :message "…"}) ends it without one',
)


def inputs(facts: PromptFacts) -> str:
    """``data/name  ; type, sample: …``, sorted by name."""
    fields = {} if facts.signature is None else {field.name: field for field in facts.signature.params}
    lines = [_input(name, facts.data[name], fields.get(name)) for name in sorted(facts.data)]
    return "\n".join(("## Inputs", "", *lines)) if lines else ""


def _input(name: str, value: Any, field: Field | None) -> str:
    told = f"data/{name}".ljust(_WIDE)
    kind = of_value(value) if field is None else of_field(field)
    about = f" -- {field.description}" if field is not None and field.description else ""
    if is_firewalled(name):
        return f"{told}; {kind}, {FIREWALLED}{about}"
    return f"{told}; {kind}, sample: {sample(value, _SAMPLE)}{about}"


def tools(facts: PromptFacts) -> str:
    """The tools, with an example of a call of each; those that end the work, too."""
    lines = ["## Tools", ""]
    if facts.turn.has_tools and facts.tools:
        for each in sorted(facts.tools, key=lambda tool: tool.name):
            lines += _tool(each)
    else:
        lines.append(";; No tools available")
    return "\n".join((*lines, *_ENDS))


def _tool(tool: ToolFacts) -> list[str]:
    properties: Mapping[str, Mapping[str, Any]] = tool.parameters.get("properties", {})
    needed = frozenset(tool.parameters.get("required", ()))
    given = ", ".join(
        f"{name} {of_schema(schema)}{'' if name in needed or of_schema(schema).endswith('?') else '?'}"
        for name, schema in properties.items()
    )
    returns = f" -> {tool.returns}" if tool.returns else ""
    about = f"  ; {' '.join(tool.description.split())}" if tool.description else ""
    arguments = [(name, example_of_schema(schema)) for name, schema in properties.items() if name in needed]
    lines = [f"tool/{tool.name}({given}){returns}{about}"]
    lines += [f"    ; {name}: {text}" for name, schema in properties.items() if (text := schema.get("description"))]
    call = f" {example_map(arguments)}" if arguments else ""
    return [*lines, f"    ; (tool/{tool.name}{call})"]


def memory(facts: PromptFacts) -> str:
    """What earlier programs have kept: functions first, then values."""
    if not facts.memory:
        return ""
    functions = sorted(name for name, value in facts.memory.items() if is_function(value))
    values = sorted(name for name in facts.memory if name not in functions)
    lines = [f"{name.ljust(_WIDE)}; {show(facts.memory[name])}" for name in functions]
    for name in values:
        shown = FIREWALLED if is_firewalled(name) else f"sample: {sample(facts.memory[name], _SAMPLE)}"
        told = "" if facts.prints else f", {shown}"
        lines.append(f"{name.ljust(_WIDE)}; = {described(facts.memory[name])}{told}")
    return "\n".join(("## Stored by earlier programs", "", *lines))


def journal(values: Mapping[str, Any]) -> str:
    """The tasks that are done."""
    lines = [f"- [✓] {name}: {_logged(value)}" for name, value in values.items()]
    return "\n".join(("## Mission Log (Completed Tasks)", "", *lines)) if lines else ""


def plan(steps: tuple[tuple[str, str], ...], summaries: Mapping[str, str]) -> str:
    """The steps of the plan, with what was said of those that are done."""
    lines = [
        f"- [{'✓' if key in summaries else ' '}] {key}{f': {text}' if text else ''}"
        + (f" -- {summaries[key]}" if key in summaries else "")
        for key, text in steps
    ]
    return "\n".join((PLAN, "", *lines)) if lines else ""


def result(facts: PromptFacts) -> str:
    """The type of the result, its fields, and how it is returned."""
    signature, schema = facts.signature, facts.schema
    if signature is None:
        return "" if schema is None else _SCHEMA.format(schema=to_json(schema).decode())
    lines = ["## Result", "", f"Expected: {write_type(signature.returns)}", *_fields(signature.returns)]
    shown = example(signature.returns)
    if facts.turn.compiles:
        return "\n".join((*lines, f"Such as `{shown}`, for every input."))
    return "\n".join((*lines, f"Call `(return {shown})` when it is complete."))


def _fields(returns: Type) -> list[str]:
    inner = bare(returns)
    fields = inner.fields if isinstance(inner, MapOf) else ()
    return [f"- {field.name}: {field.description}" for field in fields if field.description]


def _logged(value: Any) -> str:
    text = Printer(hides=True).text(value)
    return text if len(text) <= _LOGGED else f"{text[:_LOGGED]}…"
