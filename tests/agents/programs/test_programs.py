"""Agents whose answers are programs: turns, budgets, memory, and what the model is told."""

from tests.agents.programs._orders import ROWS, Report, asked, reporter, told


async def test_a_program_calls_tools_and_returns_the_result() -> None:
    agent = reporter('(return {:total (sum-by :total data/rows) :names (pmap #(:name (tool/look {:id %})) [1 2])})')
    result = await asked(agent)
    assert result.output == Report(total=60, names=["n1", "n2"])
    assert result.turns == 1


async def test_the_model_sees_what_is_printed_and_what_is_stored_and_no_calls() -> None:
    agent = reporter('(def first-name (:name (tool/look {:id 1}))) (println "name:" first-name)', "(return {:total 1})")
    await asked(agent)
    assert told(agent) == ["name: n1\nStored, to be read by name: first-name\nTurn 2 of 5 (3 remaining)"]
    _, second = agent.model.requests
    assert [message.role for message in second.messages] == ["system", "user", "assistant", "user"]
    assert second.messages[1].text == "Inputs: data/rows"
    assert "first-name" in second.messages[0].text
    assert not second.tools
    assert len(ROWS) == 3
