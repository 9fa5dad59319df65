import pytest
from pydantic import BaseModel

from stagepost.agents._tools._answer import Complaint, output_schema, read_answer


class Report(BaseModel):
    city: str
    degrees: int


OSLO = Report(city="Oslo", degrees=3)


@pytest.mark.parametrize(
    "text",
    [
        '{"city": "Oslo", "degrees": 3}',
        '```json\n{"city": "Oslo", "degrees": 3}\n```',
        '\n```\n{"city": "Oslo",\n "degrees": 3}```\n',
    ],
    ids=["bare", "fenced", "fenced without a language"],
)
def test_json_is_read_in_a_fence_or_without(text: str) -> None:
    assert read_answer(text, Report) == OSLO


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("it is 3 degrees", "Invalid JSON"),
        ("", "Invalid JSON"),
        ('{"city": "Oslo", "degrees": "cold"}', "degrees: Input should be a valid integer"),
        ('{"degrees": 3}', "city: Field required"),
    ],
    ids=["prose", "empty", "wrong", "missing"],
)
def test_what_does_not_fit_is_answered_with_what_is_wrong(text: str, why: str) -> None:
    complaint = read_answer(text, Report)
    assert isinstance(complaint, Complaint)
    assert "no valid Report" in complaint.text
    assert why in complaint.text


def test_without_an_output_model_every_text_will_do() -> None:
    assert read_answer("```\nx\n```", None) == "```\nx\n```"


def test_the_schema_of_the_output_has_a_name() -> None:
    schema = output_schema(Report)
    assert schema is not None
    assert (schema.name, schema.schema["required"]) == ("Report", ["city", "degrees"])
    assert output_schema(None) is None
