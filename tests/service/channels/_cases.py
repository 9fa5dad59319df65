"""Answers in Markdown that hypothesis makes, of words that can be found again."""

from hypothesis import strategies as st

PLAIN_WORDS = (
    "hours",
    "my_file_name",
    "2*3",
    "Ünïcödé",
    "👩‍👩‍👧‍👦",
    "🇩🇪",
    "e\u0301te\u0301",
    "日本",
    "week.",
    "done!",
    "C#",
    "a-b",
    "7.5",
)
words = st.sampled_from(PLAIN_WORDS)
lines = st.lists(words, min_size=1, max_size=25).map(" ".join)
styled = st.tuples(st.sampled_from(("**", "*", "`")), words.filter(lambda word: "*" not in word)).map(
    lambda both: f"{both[0]}{both[1]}{both[0]}"
)
links = st.integers(0, 999).map(lambda number: f"[the sheet](https://example.org/a_b/{number}?q=*x*)")
addresses = st.integers(0, 999).map(lambda number: f"https://example.org/{number}/x_y")
sentences = st.lists(st.one_of(lines, styled, links, addresses), min_size=1, max_size=6).map(" ".join)
codes = st.lists(st.sampled_from(("x = 1", "    y = 2", "", "print(x)")), min_size=1, max_size=5).map(
    lambda rows: "```python\n" + "\n".join(["first = 0", *rows, "last = 9"]) + "\n```"
)
items = st.lists(sentences, min_size=1, max_size=5).map(lambda all_: "\n".join(f"- {each}" for each in all_))
tables = st.lists(st.tuples(words, words), min_size=1, max_size=4).map(
    lambda rows: "\n".join(["| Day | Hours |", "|---|---|", *(f"| {one} | {two} |" for one, two in rows)])
)
headings = lines.map(lambda line: f"## {line}")
answers = st.lists(st.one_of(sentences, items, codes, tables, headings), min_size=1, max_size=8).map("\n\n".join)
