"""A small knowledge base: articles of our own about stagepost, found by their words with SQLite's FTS5."""

import re
import sqlite3
from pathlib import Path
from typing import Final

import anyio
from pydantic import BaseModel

from stagepost.agents import Tool, tool

ARTICLES: Final = Path(__file__).with_name("articles")
_WORD: Final = re.compile(r"\w+")
_STOP_WORDS: Final = frozenset(
    _WORD.findall(
        "a about am an and any are as at be been between but by can could did difference do does explain for from get "
        "give had happen happens has have how i if in is it its know like make me mean means my of on or our please "
        "say should show so stagepost tell than that the their them then there these they thing things this to "
        "understand us use used was we were what when where which while who whom whose why will with work works would "
        "you your"
    )
)
_TABLE: Final = "CREATE VIRTUAL TABLE article USING fts5(title, body, tokenize='porter unicode61')"
_FIND: Final = (
    "SELECT title, body, -bm25(article, 6, 1) AS score FROM article WHERE article MATCH ? ORDER BY score DESC LIMIT ?"
)


class Hit(BaseModel):
    """An article that was found.

    Attributes:
        title: Its title, for citing it.
        text: The article.
        score: How well it fits; more is better.
    """

    title: str
    text: str
    score: float


class Knowledge:
    """The articles of a folder, which can be searched until it is closed.

    Args:
        folder: Markdown files, each with its title first.
    """

    def __init__(self, folder: Path = ARTICLES) -> None:
        self._connection = sqlite3.connect(":memory:", check_same_thread=False)
        self._connection.execute(_TABLE)
        self._connection.executemany("INSERT INTO article VALUES (?, ?)", map(_parsed, sorted(folder.glob("*.md"))))

    def close(self) -> None:
        """Forget the articles."""
        self._connection.close()

    def __len__(self) -> int:
        """How many articles there are."""
        count: int = self._connection.execute("SELECT count(*) FROM article").fetchone()[0]
        return count

    def search(self, query: str, *, limit: int = 3) -> list[Hit]:
        """The articles that have words of a query, the best first.

        Args:
            query: Any text: its words are searched for, all else is left out.
            limit: How many at most.
        """
        words = {f'"{word}"' for word in terms(query)}
        if not words:
            return []
        rows = self._connection.execute(_FIND, (" OR ".join(sorted(words)), limit))
        return [Hit(title=title, text=body, score=round(score, 2)) for title, body, score in rows]


def terms(text: str) -> list[str]:
    """The words of a text by which one can search, in small letters."""
    words = _WORD.findall(text[:1000].casefold())
    return [word for word in words if word not in _STOP_WORDS and len(word) > 1] or [
        w for w in words if w == "stagepost"
    ]


def knowledge_tool(knowledge: Knowledge, *, seconds: float) -> Tool[..., object]:
    """The tool ``search_knowledge``.

    Args:
        knowledge: The articles.
        seconds: How long a search takes: too short to be seen, without this.
    """

    @tool(idempotent=True)
    async def search_knowledge(query: str) -> list[Hit]:
        """Search the knowledge base for {query}.

        Args:
            query: Words that the article has.
        """
        await anyio.sleep(seconds)
        return knowledge.search(query)

    return search_knowledge


def _parsed(file: Path) -> tuple[str, str]:
    title, _, body = file.read_text().partition("\n")
    return title.removeprefix("# ").strip(), " ".join(body.split())
