"""Quality of answers: scorecards, a judge, one refinement, and evaluation of agents over many cases.

`JudgeAndRefine` is a pattern for any workflow: code decides about the criteria that it can decide, a model is asked
once about the rest, and an answer that has failed is refined at most once, with the data and the failed criteria.
`Judge` does the first half alone, also in memory.
"""

from ._attempts import Attempt, Checked, CheckOutcome
from ._built_in import BUILT_IN_CRITERIA, criteria_for
from ._candidate import Candidate, CodeCheck
from ._cells import Case, CaseAnswer, EvaluationCell, Judgement
from ._checks import CODE_CHECKS, at_most, every, has_fields, no_markdown, numbers_in_data, without_words
from ._consulting import Consulted, TookTooLong, consult
from ._criterion import Scorecard, ScorecardCriterion, ValidationResult
from ._evaluating import evaluate, evaluated
from ._evaluation import CaseJudge, Evaluation, ScorecardJudge
from ._failures import ValidationFailureLog
from ._judge import Judge, JudgedAnswer, Verdict, Verdicts, judge_agent
from ._metrics import QualityMetrics, QualityStatistics, StageTimes
from ._refiner import Refined, refiner_agent
from ._refining import JudgeAndRefine, QualityLimits
from ._report import AgentSummary, EvaluationReport, JudgeSummary
from ._screening import Dropped, Screened, screened

__all__ = [
    "BUILT_IN_CRITERIA",
    "CODE_CHECKS",
    "AgentSummary",
    "Attempt",
    "Candidate",
    "Case",
    "CaseAnswer",
    "CaseJudge",
    "CheckOutcome",
    "Checked",
    "CodeCheck",
    "Consulted",
    "Dropped",
    "Evaluation",
    "EvaluationCell",
    "EvaluationReport",
    "Judge",
    "JudgeAndRefine",
    "JudgeSummary",
    "JudgedAnswer",
    "Judgement",
    "QualityLimits",
    "QualityMetrics",
    "QualityStatistics",
    "Refined",
    "Scorecard",
    "ScorecardCriterion",
    "ScorecardJudge",
    "Screened",
    "StageTimes",
    "TookTooLong",
    "ValidationFailureLog",
    "ValidationResult",
    "Verdict",
    "Verdicts",
    "at_most",
    "consult",
    "criteria_for",
    "evaluate",
    "evaluated",
    "every",
    "has_fields",
    "judge_agent",
    "no_markdown",
    "numbers_in_data",
    "refiner_agent",
    "screened",
    "without_words",
]
