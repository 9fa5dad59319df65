"""What is asked for each answer, signal and due time is found by an index, however much else is stored."""

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import ModuleType

import pytest

from stagepost.checkpoint._sqlite import _fence, _owners, _statements, _waits, _words
from stagepost.checkpoint._sqlite._connect import connector, create_file

SORTING = {"_owners._ACQUIRE"}  # only stores in memory have several owners


def texts(module: ModuleType) -> Iterator[tuple[str, str]]:
    for name, text in vars(module).items():
        is_statement = isinstance(text, str) and text.strip().startswith(("SELECT", "UPDATE", "DELETE", "INSERT"))
        if is_statement and "{" not in text:  # what is to be filled in first is there filled in, too
            yield f"{module.__name__.rpartition('.')[2]}.{name}", text


STATEMENTS = dict(found for module in (_words, _waits, _owners, _statements, _fence) for found in texts(module))


@pytest.mark.parametrize("name", sorted(STATEMENTS.keys() - SORTING))
def test_a_statement_reads_no_table_from_end_to_end_and_sorts_nothing(file: Path, name: str) -> None:
    create_file(file)
    text = STATEMENTS[name]
    values = max((int(number) for number in re.findall(r"\?(\d+)", text)), default=text.count("?"))
    with closing(connector(file, "process")()) as connection:
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {text}", (None,) * values)]
    whole = [
        line for line in plan if line.startswith("SCAN") and "CONSTANT ROW" not in line and "runs_news" not in line
    ]
    assert set(whole) <= {"SCAN owners"}  # a row for each time that somebody has joined, read when the next one does
    assert not any("TEMP B-TREE" in line for line in plan)
