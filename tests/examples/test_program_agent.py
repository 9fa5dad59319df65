"""The example of agents that program, as its user runs it, and what it claims."""

import re
from pathlib import Path

from program_agent.agents import PAGE, to_compile, with_programs, with_tools
from program_agent.orders import orders_of, report_on
from tests._forks import Forks
from tests.examples.example_process import run_example

from stagepost.agents import CompiledAgent


def test_the_example_compares_both_ways_and_runs_a_program_without_a_model(forks: Forks, tmp_path: Path) -> None:
    done = run_example(forks, "-m", "program_agent", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    out = done.stdout
    turns, others, ratio = re.findall(r"turns of the model +(\d+) +(\d+) +([\d.]+)x", out)[0]
    assert (int(turns), int(others)) == (43, 2)
    assert float(ratio) > 20
    tokens = re.findall(r"tokens in all +([\d,]+) +([\d,]+)", out)[0]
    tools, programs = (int(number.replace(",", "")) for number in tokens)
    assert tools > 500 * programs
    assert "both agents have said so: True" in out
    assert out.count("0 tokens; right: True") == 4
    assert "program: return" in out
    assert not list(tmp_path.iterdir())


async def test_all_three_are_right() -> None:
    orders = orders_of(3, 2 * PAGE + 1)
    right = report_on(orders)
    result = await with_programs().run({"orders": orders})
    assert (result.output, result.turns) == (right, 2)
    read = await with_tools(orders).run("Report.")
    assert (read.output, read.turns) == (right, 6)
    assert read.usage.tokens > result.usage.tokens
    compiled = await CompiledAgent.compile(to_compile())
    report = await compiled.execute({"orders": orders})
    assert (report.open_orders, report.owed) == (right.open_orders, right.owed)
    assert (await compiled.execute({"orders": []})).debtors == []
