"""What an agent is asked with, as the beginning of a conversation."""

from collections.abc import Mapping, Sequence
from functools import cached_property

from pydantic import BaseModel, ValidationError

from stagepost._dataclasses import dataclass

from .._models._filled_prompt import FilledPrompt
from .._models._messages import SystemMessage, UserMessage
from .._models._parts import Listing
from .._validation import problems
from ..errors import InvalidRequest
from ._definition import AgentDefinition
from ._prompt import fill, placeholders
from ._prompting import PromptContext, PromptFunction, ask_prompt
from ._spoken import is_spoken, spoken


def brief_of(agent: AgentDefinition) -> "Brief":
    """What an agent is for and what it can be asked with."""
    return Brief(agent.name, agent.prompt, agent.input, agent.programs is not None)


def inputs_line(fields: BaseModel) -> str:
    """The names of the fields of a request, as programs read them."""
    names = ", ".join(f"data/{name}" for name in type(fields).model_fields)
    return f"Inputs: {names or 'none'}"


@dataclass(frozen=True)
class Brief:
    """What an agent is for and what it can be asked with.

    Attributes:
        agent: Name of the agent.
        prompt: Its prompt, or the function that makes it.
        input: Model of its requests; None if they are plain text.
        names_inputs: Whether its programs read the fields, so that the model is told their names and not their values.
    """

    agent: str
    prompt: str | PromptFunction
    input: type[BaseModel] | None
    names_inputs: bool = False

    def read(self, request: object) -> tuple[UserMessage, BaseModel | None]:
        """The first message of a request, and its fields if it has any.

        Raises:
            InvalidRequest: It is not what the agent takes.
        """
        if is_spoken(request):
            self._check_placeholders({})
            return spoken(self.agent, request), None
        if self.input is None:
            raise InvalidRequest(
                self.agent,
                f"it takes a text, or a list of texts, Image, Audio and File, not {type(request).__name__}: give the "
                "agent input=, a model of its requests",
            )
        fields = self._fields(request, self.input)
        listing = Listing()
        text = fields.model_dump_json(context=listing)
        return UserMessage(text=inputs_line(fields) if self.names_inputs else text, parts=tuple(listing.parts)), fields

    @cached_property
    def fixed(self) -> SystemMessage | None:
        """The prompt, if it is the same for each turn of each run."""
        if isinstance(self.prompt, str) and not self._needed:
            return SystemMessage(text=fill(self.prompt, {}))
        return None

    async def system(self, context: PromptContext[BaseModel]) -> str | FilledPrompt:
        """The prompt for one turn: made by its function, or filled with the fields of a request.

        Raises:
            InvalidRequest: It needs a field that the request does not have: the prompt is not that of the run's start.
            PromptFailed: Its function has failed.
        """
        if not isinstance(self.prompt, str):
            return await ask_prompt(self.prompt, context)
        return self.filled(self.prompt, context.fields)

    def filled(self, prompt: str, fields: BaseModel | None) -> str:
        """A prompt with the fields of a request.

        Raises:
            InvalidRequest: It needs a field that the request does not have.
        """
        asked = fields if self._needed else None
        known = {} if asked is None else asked.model_dump(mode="json", context=Listing())
        self._check_placeholders(known)
        return fill(prompt, known)

    @cached_property
    def _needed(self) -> Sequence[str]:
        return placeholders(self.prompt) if isinstance(self.prompt, str) else ()

    def _check_placeholders(self, known: Mapping[str, object]) -> None:
        missing = [name for name in self._needed if name not in known]
        if missing:
            asked = "a model" if self.input is None else self.input.__name__
            raise InvalidRequest(
                self.agent,
                f"its prompt needs {', '.join(missing)}, which the request does not have: "
                f"ask with {asked} or a mapping of its fields",
            )

    def _fields(self, request: object, model: type[BaseModel]) -> BaseModel:
        if isinstance(request, model):
            return request
        if not isinstance(request, Mapping):
            raise InvalidRequest(
                self.agent,
                f"it takes {model.__name__}, a mapping of its fields, a text, or a list of texts, Image, Audio and "
                f"File, not {type(request).__name__}",
            )
        try:
            return model.model_validate(request)
        except ValidationError as error:
            raise InvalidRequest(self.agent, f"that is not a valid {model.__name__}: {problems(error)}") from error
