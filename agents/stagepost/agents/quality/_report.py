"""What an evaluation has come to: its cells, numbers for each agent, a table, and a file."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from statistics import fmean, median
from typing import Final, Self

from pydantic import BaseModel, ConfigDict

from ._cells import EvaluationCell

_GAP: Final = "  "


class JudgeSummary(BaseModel):
    """What a judge says about all answers of an agent.

    Attributes:
        passed: How many are good.
        judged: How many it has called good or bad.
        score: The mean of its scores; None if it does not measure.
        errors: How often it has failed.
    """

    model_config = ConfigDict(frozen=True)

    passed: int
    judged: int
    score: float | None
    errors: int

    def __str__(self) -> str:
        said = [f"{self.passed}/{self.judged}"] if self.judged else []
        said += [] if self.score is None else [f"{self.score:.3g}"]
        said += [f"{self.errors} failed"] if self.errors else []
        return ", ".join(said) or "–"  # noqa: RUF001  # a dash, as in tables


class AgentSummary(BaseModel):
    """Numbers for an agent.

    Attributes:
        agent: Its name in the evaluation.
        cases: How many cases it was asked.
        good: How many cells are good, see `EvaluationCell.is_good`.
        errors: How often it has failed.
        judges: What each judge says, by name.
        seconds: The median of how long it took.
        tokens: What its models have read and written.
        cost: US dollars; None if that is not known of all cells.
    """

    model_config = ConfigDict(frozen=True)

    agent: str
    cases: int
    good: int
    errors: int
    judges: Mapping[str, JudgeSummary]
    seconds: float
    tokens: int
    cost: float | None


class EvaluationReport(BaseModel):
    """What an evaluation has come to.

    Attributes:
        name: That of the evaluation.
        cells: One for each agent and case: the cases of the first agent, then those of the second, and so on.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    cells: tuple[EvaluationCell, ...]

    @property
    def is_good(self) -> bool:
        """Whether all cells are."""
        return all(cell.is_good for cell in self.cells)

    def summaries(self) -> Sequence[AgentSummary]:
        """Numbers for each agent, in order."""
        agents = dict.fromkeys(cell.agent for cell in self.cells)
        return [_summary(agent, [cell for cell in self.cells if cell.agent == agent]) for agent in agents]

    def bad(self) -> Sequence[EvaluationCell]:
        """The cells that are not good, in order."""
        return [cell for cell in self.cells if not cell.is_good]

    def rows(self) -> list[list[str]]:
        """A table with a row for each agent; the first row has the titles."""
        summaries = self.summaries()
        judges = list(dict.fromkeys(judge for each in summaries for judge in each.judges))
        rows = [["agent", "good", *judges, "failed", "seconds", "tokens", "cost"]]
        for each in summaries:
            said = [str(each.judges.get(judge, "")) for judge in judges]
            cost = "" if each.cost is None else f"${each.cost:.4f}"
            good = f"{each.good}/{each.cases}"
            rows.append([each.agent, good, *said, str(each.errors), f"{each.seconds:.3g}", f"{each.tokens:,}", cost])
        return rows

    def table(self) -> str:
        """The table as text, in columns."""
        rows = self.rows()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = (_GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
        return "\n".join(line.rstrip() for line in lines)

    def write(self, path: str | PathLike[str]) -> None:
        """Write the cells to a file, one line of JSON each."""
        text = "".join(f"{cell.model_dump_json()}\n" for cell in self.cells)
        Path(path).write_text(text, encoding="utf-8")

    @classmethod
    def read(cls, path: str | PathLike[str], *, name: str = "evaluation") -> Self:
        """Read what `write` has written, such as that of an earlier evaluation to compare with."""
        lines = Path(path).read_text(encoding="utf-8").splitlines()
        return cls(name=name, cells=tuple(map(EvaluationCell.model_validate_json, lines)))


def _summary(agent: str, cells: Sequence[EvaluationCell]) -> AgentSummary:
    judges = dict.fromkeys(judge for cell in cells for judge in cell.judgements)
    costs = [cell.cost for cell in cells if cell.cost is not None]
    return AgentSummary(
        agent=agent,
        cases=len(cells),
        good=sum(cell.is_good for cell in cells),
        errors=sum(cell.error is not None for cell in cells),
        judges={judge: _of_judge(judge, cells) for judge in judges},
        seconds=median(cell.seconds for cell in cells),
        tokens=sum(cell.input_tokens + cell.output_tokens for cell in cells),
        cost=sum(costs) if len(costs) == len(cells) else None,
    )


def _of_judge(judge: str, cells: Sequence[EvaluationCell]) -> JudgeSummary:
    said = [cell.judgements[judge] for cell in cells if judge in cell.judgements]
    scores = [each.score for each in said if each.score is not None]
    return JudgeSummary(
        passed=sum(each.passed is True for each in said),
        judged=sum(each.passed is not None for each in said),
        score=fmean(scores) if scores else None,
        errors=sum(each.error is not None for each in said),
    )
