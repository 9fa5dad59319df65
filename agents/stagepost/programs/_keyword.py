"""Keywords, the names that programs use as values: ``:name``."""

from typing import Any, Final, final

from pydantic_core import CoreSchema, core_schema

# Keywords are compared and hashed where programs spend their time, as keys of maps, so they are texts, whose methods
# are written in C. What distinguishes them from all other texts is the first character: a surrogate, which no text in
# UTF-8 has, and which is replaced in texts that come from outside (`_values/_boundary.py`).
MARK: Final = "\udfff"


@final
class Keyword(str):
    """A keyword of a program, such as ``Keyword("name")`` for ``:name``; equal to keywords of that name only.

    Attributes:
        twin: The name as a text. Where maps are looked up, a keyword also finds the key with its name as a text.
    """

    __slots__ = ("twin",)

    twin: str

    def __new__(cls, name: str) -> "Keyword":
        self = super().__new__(cls, MARK + name)
        self.twin = name
        return self

    def __repr__(self) -> str:
        return f"Keyword({self.twin!r})"

    def __str__(self) -> str:
        return f":{self.twin}"

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> CoreSchema:
        """Keywords, and texts, as which keywords come from JSON; written as texts."""
        return core_schema.no_info_before_validator_function(
            lambda value: value.twin if isinstance(value, Keyword) else value,
            core_schema.no_info_after_validator_function(cls, core_schema.str_schema(strict=True)),
            serialization=core_schema.plain_serializer_function_ser_schema(lambda value: value.twin),
        )

    def __reduce__(self) -> tuple[type["Keyword"], tuple[str]]:
        return Keyword, (self.twin,)
