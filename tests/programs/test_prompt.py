"""The system prompt: its parts and their order, what changes it, what stands in the inventories."""

from typing import Any

import pytest
from pydantic import BaseModel, Field

from stagepost.programs import (
    Keyword,
    ProgramError,
    ProgramPrompt,
    PromptFacts,
    PtcLisp,
    Signature,
    ToolFacts,
    TurnNumber,
    UnknownProfile,
    run_sync,
)


class Given(BaseModel):
    """Inputs."""

    products: list[dict[str, Any]] = Field(description="What is sold")
    limit: int | None = None


class Report(BaseModel):
    """A result."""

    count: int = Field(description="How many there are")
    best: list[str]


SCHEMA = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "What to look for"},
        "limit": {"type": "integer"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "deep": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
        "any": {"anyOf": [{"type": "boolean"}, {"type": "string"}]},
        "other": {"$ref": "#/x"},
    },
    "required": ["query", "tags", "other"],
}


def facts(**given: Any) -> PromptFacts:
    """What is known of a turn."""
    known: dict[str, Any] = {
        "turn": TurnNumber(number=1, work=5),
        "mission": "MISSION",
        "signature": Signature.of(Report, params=Given),
        "data": {"products": [{"name": "Laptop", "_cost": 7, "n": n} for n in range(9)], "limit": None},
        "tools": [ToolFacts("search", SCHEMA, "[:map]", "Look things up."), ToolFacts("now", {})],
        **given,
    }
    return PromptFacts(**known)


def prompt(language: PtcLisp | None = None, **given: Any) -> str:
    return (language or PtcLisp()).system(facts(**given))


def test_the_parts_stand_in_a_fixed_order() -> None:
    language = PtcLisp(
        prompt=ProgramPrompt(prefix="PREFIX", suffix="SUFFIX", language_spec="SPEC of mine", output_format="FORMAT"),
        journal=True,
        plan=["first"],
    )
    text = prompt(
        language,
        error=ProgramError("type_error", "WRONG", None, "HINT"),
        memory={"kept": 1},
        journal={"dial": "ok"},
    )
    parts = [
        "PREFIX", "MISSION", "## How you work", "SPEC of mine", "## Tasks", "type_error: WRONG. Hint: HINT",
        "## Inputs", "## Stored by earlier programs", "## Mission Log (Completed Tasks)", "## Plan", "## Tools",
        "## Result", "FORMAT", "SUFFIX",
    ]  # fmt: skip
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert text.startswith("PREFIX\n\nMISSION\n\n")
    assert text.endswith("FORMAT\n\nSUFFIX")


def test_empty_parts_are_left_out() -> None:
    text = PtcLisp().system(PromptFacts(turn=TurnNumber(number=1, work=2)))
    assert "\n\n\n" not in text
    for part in ("## Inputs", "## Stored", "## Mission Log", "## Plan", "## Result", "## Tasks", "failed"):
        assert part not in text
    assert ";; No tools available" in text


def test_inputs_have_types_samples_and_descriptions() -> None:
    text = prompt()
    (products,) = [line for line in text.splitlines() if line.startswith("data/products")]
    assert products.startswith("data/products                 ; [:map], sample: [{")
    assert ':name "Laptop"' in products
    assert '"[Hidden]"' in products
    assert "7" not in products
    assert products.endswith(" ... -- What is sold")
    assert "data/limit                    ; :int?, sample: nil" in text
    assert text.index("data/limit  ") < text.index("data/products  ")


def test_types_of_inputs_without_signature_are_those_of_the_values() -> None:
    data = {
        "a": [1, 2], "b": {"x": 1}, "c": "t", "d": 1.5, "e": True, "f": None, "g": [1, "x"], "h": {1}, "_i": 1,
        "j": Keyword("k"), "k": "long " * 90, "l": {"a": {"b": {"c": {"d": 1}}}}, "m": list(range(9)),
    }  # fmt: skip
    lines = prompt(signature=None, data=data).splitlines()
    told = {
        line.split(maxsplit=1)[0]: line.split("; ")[1] for line in lines if line.startswith("data/") and "; " in line
    }
    assert told == {
        "data/a": "[:int], sample: [1 2]",
        "data/b": ":map, sample: {:x 1}",
        "data/c": ':string, sample: "t"',
        "data/d": ":float, sample: 1.5",
        "data/e": ":bool, sample: true",
        "data/f": "nil, sample: nil",
        "data/g": '[:any], sample: [1 "x"]',
        "data/h": "set, sample: #{1}",
        "data/_i": ":int, [Hidden] [Firewalled]",
        "data/j": ":keyword, sample: :k",
        "data/k": f':string, sample: "{"long " * 12}…"',
        "data/l": ":map, sample: {:a {:b {:c {}}}}",
        "data/m": "[:int], sample: [0 1 2 ...]",
    }


def test_tools_have_signatures_descriptions_and_an_example() -> None:
    text = prompt()
    assert (
        "tool/search(query :string, limit :int?, tags [:string], deep :bool?, any :any?, other :any) -> [:map]"
        "  ; Look things up.\n"
        "    ; query: What to look for\n"
        '    ; (tool/search {:query "text" :tags ["text"] :other "value"})' in text
    )
    assert "tool/now()\n    ; (tool/now)" in text
    assert text.index("tool/now()") < text.index("tool/search(")
    assert "tool/return  ; (return value) ends" in text
    assert 'tool/fail  ; (fail {:reason :why :message "…"}) ends' in text


@pytest.mark.parametrize(
    "turn", [TurnNumber(number=5, work=5), TurnNumber(number=1, work=1), TurnNumber(number=6, work=5)]
)
def test_turns_without_tools_say_so(turn: TurnNumber) -> None:
    text = prompt(turn=turn)
    assert ";; No tools available" in text
    assert "tool/search(" not in text
    assert "tool/return  ;" in text


def test_memory_shows_functions_first_and_no_samples_once_something_was_printed() -> None:
    memory = run_sync("(def total 42) (defn f [x] x) (def day (java.util.Date. 0)) (def rows [{:a 1}])").memory
    text = prompt(memory=memory)
    lines = text[text.index("## Stored") :].splitlines()[2:6]
    assert [" ".join(line.split()) for line in lines] == [
        "f ; #fn[x]",
        'day ; = date-time, sample: "1970-01-01T00:00:00+00:00"',
        "rows ; = [:map], sample: [{:a 1}]",
        "total ; = int, sample: 42",
    ]
    assert "sample: 42" not in prompt(memory=memory, prints=True)


def test_the_result_has_its_type_its_fields_and_how_to_return_it() -> None:
    text = prompt()
    assert (
        "Expected: {count :int, best [:string]}\n- count: How many there are\n"
        'Call `(return {:count 42 :best ["text"]})` when it is complete.' in text
    )


@pytest.mark.parametrize(
    ("returns", "example"),
    [
        (":keyword", ":name"),
        (":any", '"value"'),
        (":map?", "{:key 1}"),
        ("[{a :float, b :bool}]", "[{:a 1.5 :b true}]"),
    ],
)
def test_results_of_any_type_have_an_example(returns: str, example: str) -> None:
    assert f"(return {example})" in prompt(signature=Signature.parse(returns))


def test_one_turn_and_several_have_specs_of_their_own_and_a_profile_chooses_one() -> None:
    single, several = TurnNumber(number=1, work=1), TurnNumber(number=1, work=3)
    assert "## One turn" in prompt(turn=single)
    assert "## Turns" in prompt(turn=several)
    assert "## Turns" in prompt(PtcLisp(prompt=ProgramPrompt(language_spec="multi_turn")), turn=single)
    with pytest.raises(UnknownProfile, match="give one of single_shot, multi_turn") as raised:
        ProgramPrompt(language_spec="multi-turn")
    assert raised.value.profile == "multi-turn"


def test_a_spec_may_be_a_function_of_the_turn() -> None:
    def spec(known: PromptFacts) -> str:
        return f"TURN {known.turn.number} of {known.model} with {sorted(known.memory)} after {len(known.messages)}"

    language = PtcLisp(prompt=ProgramPrompt(language_spec=spec))
    assert "TURN 1 of m with ['a'] after 2" in prompt(language, model="m", memory={"a": 1}, messages=[1, 2])


def test_a_function_gets_the_prompt_and_a_text_replaces_it() -> None:
    assert prompt(PtcLisp(prompt=lambda text: f"<{text}>")) == f"<{prompt()}>"
    assert prompt(PtcLisp(prompt="mine")) == "mine"


def test_thinking_is_allowed_before_the_program_and_the_prompt_is_cut() -> None:
    assert "A few lines of thinking" in prompt(PtcLisp(prompt=ProgramPrompt(thinks=True)))
    cut = prompt(PtcLisp(prompt_limit=100))
    assert cut == f"{prompt()[:100]}\n\n[The prompt was cut here.]"


def test_the_plan_shows_what_was_said_and_the_journal_is_cut() -> None:
    text = prompt(PtcLisp(plan=["a", ("b", "Do b")], journal=True), summaries={"b": "done"}, journal={"t": "x" * 300})
    assert "- [ ] a\n- [✓] b: Do b -- done" in text
    (line,) = [line for line in text.splitlines() if line.startswith("- [✓] t: ")]
    assert line.endswith("…")
    assert len(line) == len("- [✓] t: ") + 201
