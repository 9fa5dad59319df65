"""Finding texts and counting their words. Nothing here knows of workflows."""

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_KINDS: Final = (".md", ".py", ".rst", ".toml", ".txt")
_WORD: Final = re.compile(r"[^\W\d_]+")


def find_texts(folder: Path) -> list[str]:
    """The texts in a folder and its folders, but not in hidden ones, in order."""
    found = [path.relative_to(folder) for path in folder.rglob("*") if path.suffix in _KINDS and path.is_file()]
    return sorted(str(path) for path in found if not any(part.startswith(".") for part in path.parts))


def count_words(file: Path) -> Counter[str]:
    """How often each word is in a file, whatever its case."""
    return Counter(word.lower() for word in _WORD.findall(file.read_text(encoding="utf-8", errors="replace")))


def as_report(words: Mapping[str, int]) -> str:
    """A line for each word, in alphabetical order."""
    return "".join(f"{word} {count}\n" for word, count in sorted(words.items()))
