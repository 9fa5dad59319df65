"""Programs that models write: a small, safe language, and signatures for what goes in and comes out."""

from ._keyword import Keyword
from ._signature._checking import Validated, Validation
from ._signature._signature import Signature
from ._signature._types import Field, Kind, ListOf, MapOf, Maybe, Type
from .errors import ExtraMissing, InvalidSignature, InvalidValue, ProgramsError

__all__ = [
    "ExtraMissing",
    "Field",
    "InvalidSignature",
    "InvalidValue",
    "Keyword",
    "Kind",
    "ListOf",
    "MapOf",
    "Maybe",
    "ProgramsError",
    "Signature",
    "Type",
    "Validated",
    "Validation",
]
