"""The language in docs/programs.md, made of its tables: ``python -m tests.docs._programs`` writes it."""

from pathlib import Path
from typing import Final

from stagepost.programs import Limits
from stagepost.programs._builtins import BUILTINS, FAMILIES
from stagepost.programs._compiler._forms import SPECIAL

PAGE: Final = Path(__file__).parents[2] / "docs" / "programs.md"
BEGIN: Final = "<!-- python -m tests.docs._programs writes from here -->"
END: Final = "<!-- the language ends here -->"


def language() -> str:
    """Special forms, functions by family, and limits."""
    return "\n".join((*_forms(), "", *_functions(), "", *_limits()))


def _forms() -> list[str]:
    rows = [f"| `{_cell(form)}` | {_cell(about)} |" for form, about in SPECIAL.values()]
    return ["### Special forms", "", "| form | what it does |", "|---|---|", *rows]


def _functions() -> list[str]:
    lines = ["### Functions", ""]
    for family, names in FAMILIES.items():
        found = [BUILTINS[name] for name in names]
        told = " · ".join(
            f"`{_cell(' '.join((each.name, *each.also)))}`{_count(each.low, each.high)} {_cell(each.about)}"
            for each in found
        )
        lines += [f"**{family}**: {told}", ""]
    return lines[:-1]


def _count(low: int, high: int | None) -> str:
    return f" [{low}+]" if high is None else f" [{low}]" if low == high else f" [{low} to {high}]"


def _limits() -> list[str]:
    told = dict(_told())
    rows = [
        f"| `{name}` | {_value(getattr(Limits(), name))} | {about.replace(chr(96) * 2, chr(96))} |"
        for name, about in told.items()
    ]
    return ["### Limits", "", "| `Limits(…)` | default | what it limits |", "|---|---|---|", *rows]


def _told() -> list[tuple[str, str]]:
    """The attributes of ``Limits`` with what its docstring says of each."""
    text = " ".join((Limits.__doc__ or "").split("Attributes:")[1].split())
    names = list(Limits.__dataclass_fields__)
    found = []
    for name, following in zip(names, [*names[1:], None], strict=True):
        rest = text.split(f"{name}: ", 1)[1]
        found.append((name, (rest.split(f" {following}: ", 1)[0] if following else rest).rstrip(".")))
    return found


def _value(value: float | None) -> str:
    return "none" if value is None else f"{value:,}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    before, rest = PAGE.read_text().split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n\n{language()}\n\n{END}{after}")
