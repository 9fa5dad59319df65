"""What is to be said, before it is formatted for a channel."""

from typing import Annotated, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from ._errors import InvalidReply

Kind: TypeAlias = Literal["answer", "success", "warning", "error", "info"]


class Action(BaseModel):
    """Something that the reader can do: a button in Teams, a link or a hint elsewhere.

    Attributes:
        title: What the button says.
        url: The page that it opens; None if it sends `data` back.
        data: What it sends back to the service.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: Annotated[str, Field(min_length=1, max_length=80)]
    url: Annotated[str, Field(pattern=r"^https?://\S+$")] | None = None
    data: dict[str, JsonValue] | None = None

    @model_validator(mode="after")
    def _does_one_thing(self) -> Self:
        if (self.url is None) == (self.data is None):
            raise ValueError("give either url= or data=")
        return self


class Reply(BaseModel):
    """An answer in Markdown, and what a channel may make use of.

    Attributes:
        text: The answer, in Markdown.
        kind: What it is: decides on tone and emoji.
        subject: Of a mail; None for the first heading, or else the name of the brand.
        user_name: Of the reader, for a greeting.
        is_first: Whether a conversation begins with it: only then is the reader greeted.
        actions: What the reader can do.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    kind: Kind = "answer"
    subject: str | None = None
    user_name: str | None = None
    is_first: bool = False
    actions: tuple[Action, ...] = ()

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.text.strip():
            raise InvalidReply
        return self
