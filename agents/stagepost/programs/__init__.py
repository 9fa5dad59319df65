"""Programs that models write: a small, safe language, and signatures for what goes in and comes out."""

from ._keyword import Keyword
from ._language import Language, PtcLisp
from ._limits import Limits
from ._outcome import End, Outcome, Place, ProgramCall, ProgramError
from ._running._hosts import ProgramTool
from ._running._run import run, run_sync
from ._running._world import Surroundings
from ._signature._checking import Validated, Validation
from ._signature._signature import Signature
from ._signature._types import Field, Kind, ListOf, MapOf, Maybe, Type
from ._values._boundary import plain
from ._values._show import show
from .errors import InvalidSignature, InvalidValue, PackageMissing, ProgramsError

__all__ = [
    "End",
    "Field",
    "InvalidSignature",
    "InvalidValue",
    "Keyword",
    "Kind",
    "Language",
    "Limits",
    "ListOf",
    "MapOf",
    "Maybe",
    "Outcome",
    "PackageMissing",
    "Place",
    "ProgramCall",
    "ProgramError",
    "ProgramTool",
    "ProgramsError",
    "PtcLisp",
    "Signature",
    "Surroundings",
    "Type",
    "Validated",
    "Validation",
    "plain",
    "run",
    "run_sync",
    "show",
]
