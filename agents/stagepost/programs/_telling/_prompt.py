"""The system prompt: its parts, in a fixed order, and the ways to change it."""

from collections.abc import Callable
from typing import Final, TypeAlias

from stagepost._dataclasses import dataclass

from .._errors import UnknownProfile
from . import _inventory as inventory
from ._facts import PromptFacts
from ._words import (
    COMPILED,
    CORE,
    JOURNAL,
    MULTI_TURN,
    OUTPUT,
    OUTPUT_WITH_THINKING,
    PROFILES,
    RECOVERY,
    SINGLE_SHOT,
)

_CUT: Final = "\n\n[The prompt was cut here.]"

LanguageSpec: TypeAlias = str | Callable[[PromptFacts], str]
"""The name of a profile (``"single_shot"``, ``"multi_turn"``), a text, or a function of what is known of the turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramPrompt:
    """What is changed in the system prompt of an agent with programs; everything else stays as it is.

    The parts stand in this order: `prefix`, what all programs have to know, `language_spec`, the last error, the
    inputs with what is stored, the tools, `output_format`, `suffix`. Empty ones are left out.

    Attributes:
        prefix: Stands before everything else.
        suffix: Stands after everything else.
        language_spec: How turns work; None for what fits the number of turns.
        output_format: How the answer has to look; None for one block of code.
        thinks: Whether the model may think in words before the block.
    """

    prefix: str = ""
    suffix: str = ""
    language_spec: LanguageSpec | None = None
    output_format: str | None = None
    thinks: bool = False

    def __post_init__(self) -> None:
        """Check the profile.

        Raises:
            UnknownProfile: There is none of this name.
        """
        spec = self.language_spec
        if isinstance(spec, str) and spec not in PROFILES and len(spec.split()) == 1:
            raise UnknownProfile(spec, tuple(PROFILES))


Prompting: TypeAlias = ProgramPrompt | Callable[[str], str] | str
"""Changes of single parts, a function that gets the whole prompt and returns it, or the prompt itself."""


def system_prompt(
    facts: PromptFacts, prompting: Prompting, plan: tuple[tuple[str, str], ...], *, journals: bool, most: int | None
) -> str:
    """The system prompt of a turn.

    Args:
        facts: What is known of it.
        prompting: How it is changed.
        plan: The steps of the plan.
        journals: Whether tasks are kept.
        most: The most characters; None for no limit.
    """
    if isinstance(prompting, str):
        return prompting
    parts = prompting if isinstance(prompting, ProgramPrompt) else ProgramPrompt()
    text = "\n\n".join(filter(None, _parts(facts, parts, plan, journals=journals)))
    if not isinstance(prompting, ProgramPrompt):
        text = prompting(text)
    return text if most is None or len(text) <= most else f"{text[:most]}{_CUT}"


def _parts(facts: PromptFacts, parts: ProgramPrompt, plan: tuple[tuple[str, str], ...], *, journals: bool) -> list[str]:
    output = OUTPUT_WITH_THINKING if parts.thinks else OUTPUT
    return [
        parts.prefix,
        facts.mission,
        CORE,
        _spec(facts, parts.language_spec),
        JOURNAL if journals else "",
        "" if facts.error is None else RECOVERY.format(error=facts.error),
        inventory.inputs(facts),
        inventory.memory(facts),
        inventory.journal(facts.journal) if journals else "",
        inventory.plan(plan, facts.summaries),
        inventory.tools(facts),
        inventory.result(facts),
        output if parts.output_format is None else parts.output_format,
        parts.suffix,
    ]


def _spec(facts: PromptFacts, spec: LanguageSpec | None) -> str:
    if spec is None and facts.turn.compiles:
        return COMPILED
    if spec is None:
        return SINGLE_SHOT if facts.turn.is_single else MULTI_TURN
    return PROFILES.get(spec, spec) if isinstance(spec, str) else spec(facts)
