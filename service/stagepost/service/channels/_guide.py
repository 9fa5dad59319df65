"""The style guide: how answers sound. Every value has a default here; a file overrides."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Brand(_Section):
    """Who speaks."""

    name: Annotated[str, Field(min_length=1)] = "Timesheet Assistant"
    personality: str = "friendly, professional, helpful"


class Tone(_Section):
    """How it speaks: in general, when something failed, and when something succeeded."""

    default: str = "conversational"
    error: str = "empathetic"
    success: str = "encouraging"


class Emojis(_Section):
    """Whether there are emoji, and which ones stand for what."""

    enabled: bool = True
    success: str = "✅"
    warning: str = "⚠️"
    error: str = "❌"
    info: str = "ℹ️"  # noqa: RUF001  # it is the emoji, and no letter


class Humor(_Section):
    """Whether there is humor; never where something has failed."""

    enabled: bool = True
    style: str = "light, work-related"
    frequency: Literal["never", "occasional", "frequent"] = "occasional"


class Formatting(_Section):
    """What surrounds an answer."""

    greeting: bool = True
    sign_off: bool = False
    use_user_name: bool = True


class Texts(_Section):
    """What channels add of their own, for those who speak another language."""

    hello: str = "Hi"
    too_long: str = "This is a summary: the whole answer is too long for here. Reply EMAIL and we mail it to you."
    cut: str = "The answer is cut here, because it does not fit. Ask for it by email to get the whole."
    reply_with: str = "Reply"


class StyleGuide(_Section):
    """How answers sound.

    Attributes:
        version: Of the form of the file.
        brand: Who speaks.
        tone: How.
        emojis: With which emoji.
        humor: With how much humor.
        formatting: With what around an answer.
        texts: Sentences that channels add.
    """

    version: str = "1.0"
    brand: Brand = Field(default_factory=Brand)
    tone: Tone = Field(default_factory=Tone)
    emojis: Emojis = Field(default_factory=Emojis)
    humor: Humor = Field(default_factory=Humor)
    formatting: Formatting = Field(default_factory=Formatting)
    texts: Texts = Field(default_factory=Texts)

    def instructions(self, *, failed: bool = False) -> str:
        """The guide as a paragraph for a model's prompt.

        Args:
            failed: Whether the text tells that something has failed: then it has the tone for errors, and no humor.
        """
        tone = self.tone.error if failed else self.tone.default
        lines = [
            f"You are {self.brand.name}: {self.brand.personality}.",
            f"Tone: {tone}; where something succeeded: {self.tone.success}.",
            "Use emoji sparingly." if self.emojis.enabled else "Use no emoji.",
        ]
        if failed:
            lines.append("Name no technical detail, blame nobody, and make no joke.")
        elif self.humor.enabled and self.humor.frequency != "never":
            lines.append(f"Humor: {self.humor.style}, {self.humor.frequency}.")
        else:
            lines.append("No humor.")
        if not failed:
            lines.append(f"Where something failed: {self.tone.error}, without technical details, blame or jokes.")
        return "\n".join(lines)
