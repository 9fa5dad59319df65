"""What an agent's definition has to be, checked where it is built."""

from collections.abc import Sequence

from pydantic import BaseModel

from ._closing import RESERVED
from ._model import Model
from ._prompt import placeholders
from ._tool import Tool
from .errors import InvalidAgent


def check_model(agent: str, model: Model | None) -> None:
    """See that a model can be asked.

    Raises:
        InvalidAgent: It cannot.
    """
    if model is not None and not callable(getattr(model, "answer", None)):
        raise InvalidAgent(agent, f"model={model!r} is no model: give an object with `async def answer(request)`")


def check_schemas(agent: str, **schemas: object) -> None:
    """See that input and output are pydantic models.

    Raises:
        InvalidAgent: One is not.
    """
    for name, schema in schemas.items():
        if schema is not None and not (isinstance(schema, type) and issubclass(schema, BaseModel)):
            raise InvalidAgent(agent, f"{name}={schema!r} is no pydantic model: give a class, or None for plain text")


def check_tools(agent: str, tools: Sequence[Tool[..., object]]) -> None:
    """See that the model can tell the tools apart.

    Raises:
        InvalidAgent: Two have one name, or one has a reserved name.
    """
    names = [tool.name for tool in tools]
    for name in names:
        if name in RESERVED:
            raise InvalidAgent(agent, f"tool name {name!r} is reserved: rename the tool with @tool(name=…)")
        if names.count(name) > 1:
            raise InvalidAgent(agent, f"two tools are named {name!r}: rename one with @tool(name=…)")


def check_prompt(agent: str, prompt: str, fields: type[BaseModel] | None) -> None:
    """See that every placeholder stands for a field of the input.

    Raises:
        InvalidAgent: One does not.
    """
    known = () if fields is None else tuple(fields.model_fields)
    for name in placeholders(prompt):
        if name not in known:
            raise InvalidAgent(agent, f"its prompt has the placeholder {{{name}}}, and {_way_out(name, fields)}")


def _way_out(name: str, fields: type[BaseModel] | None) -> str:
    if fields is None:
        return f"it has no input: give input=, a model with this field, or write {{{{{name}}}}} for the text itself"
    return (
        f"input={fields.__name__} has no such field (it has {', '.join(fields.model_fields)}): "
        f"correct one of them, or write {{{{{name}}}}} for the text itself"
    )
