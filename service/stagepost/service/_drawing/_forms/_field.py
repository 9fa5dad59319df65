"""The fields of a form, as values that a template renders."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Any

from stagepost._dataclasses import dataclass


class FieldKind(StrEnum):
    """How a field is filled in.

    ``line``: an ``<input>`` of the type `Field.input_type`. ``text``: a ``<textarea>``. ``choice``: one of
    `Field.options`, as radio buttons or a ``<select>``. ``lines``: a ``<textarea>`` with one value a line. ``json``: a
    ``<textarea>`` with JSON. ``group``: a ``<fieldset>`` with `Field.fields`. ``fixed``: nothing to fill in.
    """

    LINE = "line"
    TEXT = "text"
    CHOICE = "choice"
    LINES = "lines"
    JSON = "json"
    GROUP = "group"
    FIXED = "fixed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of a form.

    Attributes:
        name: Under which its value is sent; the whole form's value has the name that the form was made with, and those
            in it names below, such as ``answer/address/city``.
        kind: How it is filled in.
        label: What it is called.
        help: What else is said of it.
        is_required: Whether it has to be filled in.
        typed: What is in it: as it was typed, or what it begins with. Of a choice the text of the option.
        options: Texts of a choice's options with what they are called.
        input_type: Of an ``<input>``: ``text``, ``number``, ``email``, ``url``, ``date``, ``password``.
        attributes: Further attributes of the ``<input>`` or ``<textarea>``: ``min``, ``max``, ``step``, ``maxlength``.
        error: Why what was typed was refused.
        fields: The fields of a group.
        schema: What its value has to fit, with references resolved.
        takes_null: Whether null is a value of it, which an empty field stands for.
    """

    name: str
    kind: FieldKind
    label: str
    help: str = ""
    is_required: bool = False
    typed: str = ""
    options: Sequence[tuple[str, str]] = ()
    input_type: str = "text"
    attributes: Mapping[str, str] = field(default_factory=dict)
    error: str | None = None
    fields: "Sequence[Field]" = ()
    schema: Mapping[str, Any] = field(default_factory=dict)
    takes_null: bool = False

    @property
    def key(self) -> str:
        """The last part of its name, as the object that it belongs to calls it."""
        return self.name.rpartition("/")[2].replace("~1", "/").replace("~0", "~")

    def every(self) -> "Iterator[Field]":
        """It, and all fields in it."""
        yield self
        for each in self.fields:
            yield from each.every()


def below(name: str, key: str) -> str:
    """The name of a field in another one."""
    return f"{name}/{key.replace('~', '~0').replace('/', '~1')}"
