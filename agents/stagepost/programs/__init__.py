"""Programs that models write: a small, safe language, and signatures for what goes in and comes out."""

from ._keyword import Keyword
from ._language import Language, MemoryStrategy, PtcLisp, Started
from ._limits import Limits
from ._outcome import End, Outcome, Place, ProgramCall, ProgramError
from ._running._hosts import ProgramTool
from ._running._run import run, run_sync
from ._running._started import CallAnswer, CallRequest
from ._running._world import Surroundings
from ._signature._checking import Validated, Validation
from ._signature._signature import Signature
from ._signature._types import Field, Kind, ListOf, MapOf, Maybe, Type
from ._telling._facts import FeedbackFacts, PromptFacts, ToolFacts, TurnNumber
from ._telling._prompt import LanguageSpec, ProgramPrompt, Prompting
from ._values._boundary import plain
from ._values._show import show
from .errors import AmbiguousKeys, InvalidSignature, InvalidValue, PackageMissing, ProgramsError, UnknownProfile

__all__ = [
    "AmbiguousKeys",
    "CallAnswer",
    "CallRequest",
    "End",
    "FeedbackFacts",
    "Field",
    "InvalidSignature",
    "InvalidValue",
    "Keyword",
    "Kind",
    "Language",
    "LanguageSpec",
    "Limits",
    "ListOf",
    "MapOf",
    "Maybe",
    "MemoryStrategy",
    "Outcome",
    "PackageMissing",
    "Place",
    "ProgramCall",
    "ProgramError",
    "ProgramPrompt",
    "ProgramTool",
    "ProgramsError",
    "PromptFacts",
    "Prompting",
    "PtcLisp",
    "Signature",
    "Started",
    "Surroundings",
    "ToolFacts",
    "TurnNumber",
    "Type",
    "UnknownProfile",
    "Validated",
    "Validation",
    "plain",
    "run",
    "run_sync",
    "show",
]
