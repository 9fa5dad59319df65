"""An agent's settings for what its model sees."""

from collections.abc import Sequence
from typing import Final

from stagepost._dataclasses import dataclass

from ..errors import InvalidCompaction
from ._compactions import ClearResults, KeepLast, check_number
from ._window import Compaction

_USUAL: Final[tuple[Compaction, ...]] = (ClearResults(), KeepLast())
SHORTEST: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPolicy:
    """What the model of an agent sees of a run. What is stored, and what people read, is always whole.

    Results of tools that are longer than `result_limit` are shown with their beginning and their end, and the model
    gets a tool, ``read_result``, that reads on. When the prompt would take more than `limit` tokens, or have more than
    `messages` messages, the compactions leave out what is old, one after another, until 0.6 of that is left. They also
    do when a provider says that a prompt is too long.

    Tokens are counted by what the provider has counted of the turn before and an estimate for what is new.

    Args:
        limit: The most tokens of a prompt. None for 0.8 of what the model can read, as far as that is known; otherwise
            the provider's refusal is waited for.
        messages: The most messages; None for no limit.
        result_limit: The most characters that a tool's result takes of the prompt; at least 500. None for no limit.
        compact: What is left out, and how, one after another until it is enough. Without any, nothing is ever left out,
            and a prompt that is too long fails the run.

    Raises:
        InvalidCompaction: A number is too small, or a compaction has no method ``cut``.
    """

    limit: int | None = None
    messages: int | None = None
    result_limit: int | None = 20_000
    compact: Sequence[Compaction] = _USUAL

    def __post_init__(self) -> None:
        check_number("ContextPolicy", "limit", self.limit, least=1)
        check_number("ContextPolicy", "messages", self.messages, least=2)
        check_number("ContextPolicy", "result_limit", self.result_limit, least=SHORTEST)
        object.__setattr__(self, "compact", _listed(self.compact))


def _listed(given: object) -> tuple[Compaction, ...]:
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise InvalidCompaction("ContextPolicy", f"compact={given!r:.80} is not a list: write [ ] around it")
    for each in given:
        if isinstance(each, type) or not callable(getattr(each, "cut", None)):
            way_out = "give KeepLast(), ClearResults(), Summarize(), or an object with `def cut(window)`"
            raise InvalidCompaction(
                "ContextPolicy", f"compact contains {each!r:.80}, which is no compaction: {way_out}"
            )
    return tuple(given)
