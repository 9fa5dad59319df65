"""What is asked for each answer, signal and due time is found by an index, however much else is stored."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import ModuleType

import pytest

from stagepost.checkpoint._sqlite import _fence, _statements, _waits
from stagepost.checkpoint._sqlite._connect import connector, create_file


def texts(module: ModuleType) -> Iterator[tuple[str, str]]:
    for name, text in vars(module).items():
        if isinstance(text, str) and text.strip().startswith(("SELECT", "UPDATE", "DELETE", "INSERT")):
            yield f"{module.__name__.rpartition('.')[2]}.{name}", text


STATEMENTS = dict(found for module in (_waits, _statements, _fence) for found in texts(module))


@pytest.mark.parametrize("text", STATEMENTS.values(), ids=STATEMENTS)
def test_a_statement_reads_no_table_from_end_to_end_and_sorts_nothing(file: Path, text: str) -> None:
    create_file(file)
    with closing(connector(file, "process")()) as connection:
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {text}", (None,) * text.count("?"))]
    assert [line for line in plan if line.startswith("SCAN") and "CONSTANT ROW" not in line] == []
    assert not any("TEMP B-TREE" in line for line in plan)
