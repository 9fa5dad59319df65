"""The contract of an agent or of a tool."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

from pydantic import TypeAdapter

from stagepost._dataclasses import dataclass

from .._values._show import Printer
from ._checking import Validated, Validation, problems, snake_case
from ._coercing import coerced_fields
from ._models import fields_of, type_of
from ._pydantic import Extra, pydantic_type, record
from ._reading import read
from ._types import Field, MapOf, Type
from ._writing import write, write_type

_CUT: Final = 200


@dataclass(frozen=True)
class Signature:
    """What an agent or a tool is given, and what it returns: ``(query :string, limit :int?) -> [{id :int}]``.

    Types are ``:string :int :float :bool :keyword :any :map``, ``[type]`` for lists, ``{name type}`` for maps with
    known fields (``{}`` for any map); ``?`` after a type says that the value may be nil or absent. A type alone is a
    signature without parameters.

    Attributes:
        params: The parameters, in order.
        returns: The type that is returned.
    """

    params: tuple[Field, ...]
    returns: Type

    @classmethod
    def parse(cls, text: str) -> "Signature":
        """Read a signature from text.

        Raises:
            InvalidSignature: It cannot be read; the message says where, and what to write instead.
        """
        return cls(*read(text))

    @classmethod
    def of(cls, returns: Any, *, params: Any = None) -> "Signature":
        """Make a signature of Python's types; descriptions of fields are kept.

        Args:
            returns: A pydantic model, or an annotation of str, int, float, bool, Any, lists, dictionaries, models and
                optionals of these.
            params: A pydantic model or typed dictionary, each field of which is a parameter; None for no parameters.

        Raises:
            InvalidSignature: A type has no form in signatures, such as a union; the message names the field.
        """
        return cls(fields_of(params) if params is not None else (), type_of(returns, "returns"))

    def __str__(self) -> str:
        return write(self.params, self.returns)

    @property
    def input_type(self) -> Any:
        """The parameters as a typed dictionary, for pydantic."""
        return self._type_of_input("allow")

    @property
    def output_type(self) -> Any:
        """What is returned as a type for pydantic; maps with fields are typed dictionaries."""
        return pydantic_type(self.returns, "Returned", "allow")

    def check_input(self, value: Mapping[str, Any], mode: Validation = Validation.ENABLED) -> Validated:
        """Check the arguments, by name; texts of numbers and booleans are coerced, with a warning.

        Hyphens in names of arguments and fields are read as underscores.
        """
        named = snake_case(dict(value))
        if mode is Validation.OFF:
            return Validated(named)
        warnings: list[str] = []
        made = named | coerced_fields(self.params, named, "", warnings.append)
        adapter = self._strict_input if mode is Validation.STRICT else self._input
        return _judged(made, problems(adapter, MapOf(self.params), made), tuple(warnings), mode)

    def check_output(self, value: Any, mode: Validation = Validation.ENABLED) -> Validated:
        """Check a returned value, which is never coerced; hyphens in names of fields are read as underscores."""
        named = snake_case(value)
        if mode is Validation.OFF:
            return Validated(named)
        adapter = self._strict_output if mode is Validation.STRICT else self._output
        return _judged(named, problems(adapter, self.returns, named), (), mode)

    def correction(self, checked: Validated) -> str:
        """What to tell a model whose returned value was refused."""
        shown = Printer(hides=True).text(checked.value)
        shown = shown if len(shown) <= _CUT else f"{shown[:_CUT]}…"
        return "\n".join(
            (
                "The returned value does not fit its type.",
                f"Expected: {write_type(self.returns)}",
                f"Received: {shown}",
                "Errors:",
                *(f"- {error}" for error in checked.errors),
                "Correct the value and call (return ...) again.",
            )
        )

    @cached_property
    def _input(self) -> TypeAdapter[Any]:
        return TypeAdapter(self._type_of_input("allow"))

    @cached_property
    def _strict_input(self) -> TypeAdapter[Any]:
        return TypeAdapter(self._type_of_input("forbid"))

    @cached_property
    def _output(self) -> TypeAdapter[Any]:
        return TypeAdapter(pydantic_type(self.returns, "Returned", "allow"))

    @cached_property
    def _strict_output(self) -> TypeAdapter[Any]:
        return TypeAdapter(pydantic_type(self.returns, "Returned", "forbid"))

    def _type_of_input(self, extra: Extra) -> Any:
        return record(self.params, "Given", extra)


def _judged(value: Any, errors: tuple[str, ...], warnings: tuple[str, ...], mode: Validation) -> Validated:
    if mode is Validation.WARN:
        return Validated(value, (), (*warnings, *errors))
    return Validated(value, errors, warnings)
