"""The value that a program returns, as the result of its run."""

from pydantic_core import to_json

from stagepost.programs import AmbiguousKeys, Language, plain

from .._definition._definition import AgentDefinition
from .._output._output import Complaint, output_of
from .._tools._answer_reader import Accepted
from ._program_facts import signature_of


class ResultReader:
    """Judges values that programs return.

    Args:
        agent: The agent.
        language: In which its programs are written.
    """

    def __init__(self, agent: AgentDefinition, language: Language) -> None:
        self._output = output_of(agent.output)
        self._signature = None if self._output is None else signature_of(agent)
        self._language = language

    def read(self, value: object, most: int | None) -> Accepted | str:
        """The result, or what the model is told is wrong with it.

        Values are never coerced, where the type has a form in signatures; where it has none, pydantic reads them.

        Args:
            value: What the program has returned.
            most: How many bytes of JSON can be stored; None for no limit.
        """
        value = self._language.result(value)
        try:
            made = plain(value)
        except AmbiguousKeys as error:
            return f"The returned value has no form in JSON: {error}"
        size = len(to_json(made))
        if most is not None and size > most:
            return f"The returned value has {size:,} bytes as JSON, and {most:,} can be kept: return less"
        if self._output is None:
            return Accepted(made if isinstance(made, str) else to_json(made).decode())
        if self._signature is not None:
            checked = self._signature.check_output(value, self._language.validation)
            if checked.errors:
                return self._signature.correction(checked)
        found = self._output.read_value(made)
        return found.text if isinstance(found, Complaint) else Accepted(found)
