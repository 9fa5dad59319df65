"""Output types: any type that pydantic can check, and its schema for the model."""

import re
from dataclasses import field
from functools import lru_cache, partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, Final, Literal, Self, TypeAlias, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, JsonValue, PydanticUserError, TypeAdapter, ValidationError, create_model
from pydantic_core import from_json, to_json

from stagepost._dataclasses import dataclass
from stagepost.hub import describe_error
from stagepost.workflows import own_failure

from .._models._model import JsonSchema, OutputSchema
from .._validation import problems
from ._fitting import Unsendable, fitted, is_sendable_root
from ._schema import schema_of

OutputMode: TypeAlias = Literal["tool", "native", "prompted"]
"""How a model is told what to answer with: by the tools ``return`` and ``fail``, by the provider, or in the prompt."""

WRAPPED: Final = "value"  # the property of an answer that is not an object

_NAME: Final = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME: Final = 64
_FENCED: Final = re.compile(r"\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*", re.DOTALL)
_JSON_BEGINS: Final = ("{", "[", '"')


@dataclass(frozen=True, slots=True)
class Complaint:
    """Why an answer cannot be used.

    Attributes:
        why: What is wrong.
        text: The same in words for the model, which has to answer again.
    """

    why: str
    text: str


@dataclass(frozen=True, slots=True)
class Output:
    """A type of answers.

    Attributes:
        name: What it is called, for the model.
        schema: The schema of an answer: always of an object, accepted by every provider.
        is_wrapped: Whether the answer is the object's only property, because it is not an object, or one that a
            provider refuses.
        description: Its author's description.
    """

    name: str
    schema: JsonSchema
    is_wrapped: bool
    description: str
    _plain: JsonSchema = field(repr=False)
    _type: TypeAdapter[Any] = field(repr=False)
    _whole: TypeAdapter[Any] | None = field(repr=False)

    @classmethod
    def of(cls, kind: Any) -> Self:
        """The output of a type.

        Raises:
            Unsendable: It has no schema that every provider accepts.
        """
        adapter = _adapter(kind)
        plain = _schema(adapter)
        description = str(plain.get("description", ""))
        bare = {key: value for key, value in plain.items() if key not in ("title", "description")}
        if is_sendable_root(bare):
            return cls(type_name(kind), bare, False, description, bare, adapter, None)
        around = {"type": "object", "properties": {WRAPPED: plain}, "required": [WRAPPED]}
        model = create_model("Answer", __config__=ConfigDict(extra="forbid"), value=(kind, ...))
        return cls(type_name(kind), around, True, "", plain, adapter, TypeAdapter(model))

    @property
    def to_show(self) -> OutputSchema:
        """What a provider is told of it."""
        name = _NAME.sub("_", self.name).strip("_")[:_LONGEST_NAME]
        about = {"description": self.description} if self.description else {}
        return OutputSchema(name or "output", {**about, **self.schema})

    @property
    def bare_schema(self) -> JsonSchema:
        """The schema of an answer that nothing is around."""
        return self._plain

    @property
    def instructions(self) -> str:
        """What a model is told of it in words."""
        about = f"{self.description}\n" if self.description else ""
        return (
            "Give your final answer as JSON, and nothing else, that fits this JSON schema of "
            f"{self.name}:\n{about}{to_json(self._plain).decode()}"
        )

    def read_arguments(self, text: str) -> object | Complaint:
        """The answer that the arguments of a call hold, or what is wrong with it."""
        try:
            return self._read_arguments(text)
        except BaseException as error:  # noqa: BLE001  # a validator of the user's may raise anything
            why = _problem(error)
        return Complaint(why, f"the arguments are not a valid {self.name}: {why}")

    def _read_arguments(self, text: str) -> object:
        if self._whole is None:
            return self._type.validator.validate_json(text)
        try:
            return self._unwrapped(text)
        except ValidationError as error:
            if _is_wrapped(text):
                raise
            given = error
        try:  # some models leave out what is around the answer
            return self._type.validator.validate_json(text)
        except ValidationError:
            raise given from None

    def read_value(self, value: object) -> object | Complaint:
        """The answer that JSON values hold, by names of fields or by their aliases, or what is wrong with it."""
        try:
            found: object = self._type.validator.validate_json(to_json(value), by_alias=True, by_name=True)
        except BaseException as error:  # noqa: BLE001  # a validator of the user's may raise anything
            why = _problem(error)
        else:
            return found
        return Complaint(why, f"the returned value is not a valid {self.name}: {why}")

    def read_text(self, text: str) -> object | Complaint:
        """The answer that a text holds, or what is wrong with it.

        JSON may be in a code fence. A text that is not JSON at all is taken as a string.
        """
        fenced = _FENCED.fullmatch(text)
        text = fenced[1] if fenced else text
        try:
            return self._read(text)
        except BaseException as error:  # noqa: BLE001  # a validator of the user's may raise anything
            why = _problem(error)
        told = f"Your answer is not a valid {self.name}: {why}. Answer again, with nothing but the corrected JSON."
        return Complaint(why, told)

    def plain(self, answer: object) -> JsonValue:
        """An answer as JSON values."""
        plain: JsonValue = self._type.dump_python(answer, mode="json")
        return plain

    def _read(self, text: str) -> object:
        if self._whole is not None and _is_wrapped(text):
            try:
                return self._unwrapped(text)
            except ValidationError:
                pass  # the property may be the answer's own
        try:
            return self._type.validator.validate_json(text)
        except ValidationError as error:
            if not _is_prose(error, text):
                raise
            given = error
        try:
            return self._type.validator.validate_json(to_json(text.strip()))
        except ValidationError:
            raise given from None

    def _unwrapped(self, text: str) -> object:
        assert self._whole is not None  # noqa: S101  # whoever asks has looked
        answer: object = self._whole.validator.validate_json(text).value
        return answer


def output_of(kind: Any) -> Output | None:
    """The output of an agent; None for plain text.

    Raises:
        Unsendable: It has no schema that every provider accepts.
    """
    if kind is None or kind is str:
        return None
    try:
        return _known(kind, str(kind))
    except TypeError:  # it cannot be hashed, which the metadata of Annotated may not
        return Output.of(kind)


@lru_cache(maxsize=256)
def _known(kind: Any, _name: str) -> Output:  # the name, because A | B and B | A are equal, and their order matters
    return Output.of(kind)


def type_name(kind: Any) -> str:
    """A type as its users call it: ``Order``, ``list[int]``, ``Order or str``."""
    if get_origin(kind) is not None:
        parts = get_args(kind)
        if hasattr(kind, "__metadata__"):  # Annotated
            return type_name(parts[0])
        if get_origin(kind) in _UNIONS:
            return " or ".join(map(type_name, parts))
    if isinstance(kind, type) and get_origin(kind) is None:
        return "None" if kind is type(None) else kind.__name__
    return _PLACE.sub("", str(kind))


_NO_TYPES: Final = (str, list, tuple, dict, set, BaseModel, FunctionType, BuiltinFunctionType, MethodType, partial)
_UNIONS: Final = (Union, type(int | str))
_PLACE: Final = re.compile(r"\b(?:[A-Za-z_]\w*\.)+(?:<locals>\.)?")


def _adapter(kind: Any) -> TypeAdapter[Any]:
    if isinstance(kind, _NO_TYPES):  # of a function pydantic would check the arguments, and call it
        raise Unsendable("it is not a type: give a class, or a type such as list[int] or A | B")
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(kind)
    except (PydanticUserError, NameError, TypeError) as error:
        raise Unsendable(f"pydantic cannot check it: {_first_line(error)}") from error
    if not adapter.pydantic_complete:
        raise Unsendable("a type in it is not defined: define it before the agent")
    return adapter


def _schema(adapter: TypeAdapter[Any]) -> dict[str, Any]:
    try:
        return fitted(schema_of(adapter))
    except PydanticUserError as error:
        raise Unsendable(f"JSON cannot say it: {_first_line(error)}") from error


def _is_wrapped(text: str) -> bool:
    try:
        value = from_json(text)
    except ValueError:
        return False
    return isinstance(value, dict) and value.keys() == {WRAPPED}


def _is_prose(error: ValidationError, text: str) -> bool:
    """Whether a text is no JSON and has not been meant to be."""
    return error.errors()[0]["type"] == "json_invalid" and not text.lstrip().startswith(_JSON_BEGINS)


def _problem(error: BaseException) -> str:
    return problems(error) if isinstance(error, ValidationError) else describe_error(own_failure(error))


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
