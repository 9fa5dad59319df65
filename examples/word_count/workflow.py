"""The workflow: find the files, count each of them, and add up the counts."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from stagepost.workflows import Chain, Parallel, State, StepContext

from .counting import count_words, find_texts


def find(state: State) -> dict[str, object]:
    """Which files there are. Sync, so it runs in a thread."""
    folder = state["folder"]
    return {"files": [str(Path(folder, name)) for name in find_texts(Path(folder))]}


def count(item: str, context: StepContext) -> dict[str, int]:
    """Map: the words of one file. The log shows which counts were begun, and by which process."""
    context.deps(item)
    return count_words(Path(item))


def add_up(_state: State, counts: Sequence[Mapping[str, int]]) -> dict[str, object]:
    """Reduce: the words of all files."""
    total: Counter[str] = Counter()
    for words in counts:
        total.update(words)
    return {"words": dict(total)}


word_count = Chain("word_count", [find, Parallel("counts", count, over="files", merge=add_up, workers=4)])
