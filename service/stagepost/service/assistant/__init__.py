"""An assistant whose answers are checked: planned, written, formatted for their channel, judged, refined, sent.

`AssistantWorkflow` is the pipeline for one message, `Assistant` the front door for conversations. Needs the extra
``assistant``.
"""

from ._answers import Composed, Extracted, Plan, ProposedCriterion
from ._assistant import Assistant
from ._pipeline import AssistantWorkflow
from ._ranges import RANGES, DateRange, date_range
from ._request import AssistantMetadata, AssistantPath, AssistantRequest, AssistantResult, HistoryLine, User
from ._settings import AssistantTexts, StageBudgets
from ._stages import AssistantAgents
from ._state import AssistantState
from .errors import AssistantError, InvalidAssistant, InvalidRange

__all__ = [
    "RANGES",
    "Assistant",
    "AssistantAgents",
    "AssistantError",
    "AssistantMetadata",
    "AssistantPath",
    "AssistantRequest",
    "AssistantResult",
    "AssistantState",
    "AssistantTexts",
    "AssistantWorkflow",
    "Composed",
    "DateRange",
    "Extracted",
    "HistoryLine",
    "InvalidAssistant",
    "InvalidRange",
    "Plan",
    "ProposedCriterion",
    "StageBudgets",
    "User",
    "date_range",
]
