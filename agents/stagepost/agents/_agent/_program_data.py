"""The language of an agent's programs as data."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, JsonValue

if TYPE_CHECKING:  # programs take time to import, and most agents write none
    from stagepost.programs import Language

_Write: TypeAlias = Callable[[Any, Callable[[object], str | None]], Any]

_PTC_LISP: Final = "PTC-Lisp"


class PartName(BaseModel):
    """The name of an object of code."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    part: str


class PromptData(BaseModel):
    """Changes of the system prompt; a function or profile is named."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prefix: str = ""
    suffix: str = ""
    language_spec: str | PartName | None = None
    output_format: str | None = None
    thinks: bool = False


class LanguageData(BaseModel):
    """PTC-Lisp, with what is not as usual."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    language: Literal["PTC-Lisp"] = _PTC_LISP
    limits: Mapping[str, float | int | None] = {}
    memory: Literal["strict", "rollback"] = "strict"
    validation: str = "enabled"
    prompt: str | PartName | PromptData = PromptData()
    prompt_limit: int | None = None
    feedback_max_chars: int = 512
    history_max_bytes: int = 512
    float_precision: int | None = 2
    journal: bool = False
    plan: tuple[str | tuple[str, str], ...] = ()

    def made(self, part: Callable[[str], Any]) -> "Language":
        """The language.

        Args:
            part: The object that a name stands for.

        Raises:
            ValueError: A limit or a mode is unknown.
        """
        from stagepost.programs import Limits, ProgramPrompt, PtcLisp, Validation  # noqa: PLC0415  # see above

        given = {name: getattr(self, name) for name in type(self).model_fields if name not in _MADE}
        known = {each.name: getattr(PtcLisp().limits, each.name) for each in fields(Limits)}
        unknown = [name for name in self.limits if name not in known]
        if unknown:
            raise ValueError(f"there is no limit {', '.join(map(repr, unknown))}; there are: {', '.join(known)}")
        prompt: Any = self.prompt
        if isinstance(prompt, PartName):
            prompt = part(prompt.part)
        elif isinstance(prompt, PromptData):
            told = dict(prompt)
            if isinstance(prompt.language_spec, PartName):
                told["language_spec"] = part(prompt.language_spec.part)
            prompt = ProgramPrompt(**told)
        limits: Any = {**known, **self.limits}
        return PtcLisp(**given, prompt=prompt, limits=Limits(**limits), validation=Validation(self.validation))


_MADE: Final = frozenset({"language", "limits", "validation", "prompt"})


def language_data(language: "Language", part: Callable[[object], str | None]) -> JsonValue:
    """PTC-Lisp as data; None for another language, which has to have a name.

    Args:
        language: The language.
        part: The name of an object.
    """
    from stagepost.programs import PtcLisp  # noqa: PLC0415  # see above

    if type(language) is not PtcLisp:
        return None
    usual = PtcLisp()
    made: dict[str, Any] = {"language": _PTC_LISP}
    for each in fields(language):
        value = getattr(language, each.name)
        if value != getattr(usual, each.name):
            write: _Write = _WRITTEN.get(each.name, _plain)
            made[each.name] = write(value, part)
    return made


def _plain(value: Any, _: Callable[[object], str | None]) -> Any:
    return (
        [list(each) if isinstance(each, tuple) else each for each in value]
        if isinstance(value, list | tuple)
        else value
    )


def _limits(value: Any, _: Callable[[object], str | None]) -> Any:
    from stagepost.programs import PtcLisp  # noqa: PLC0415  # see above

    usual = PtcLisp().limits
    return {
        each.name: getattr(value, each.name)
        for each in fields(value)
        if getattr(value, each.name) != getattr(usual, each.name)
    }


def _validation(value: Any, _: Callable[[object], str | None]) -> Any:
    return value.value


def _prompt(value: Any, part: Callable[[object], str | None]) -> Any:
    if isinstance(value, str):
        return value
    if callable(value):
        return {"part": part(value)}
    told = {each.name: getattr(value, each.name) for each in fields(value)}
    spec = told["language_spec"]
    told["language_spec"] = {"part": part(spec)} if callable(spec) else spec
    return {name: of for name, of in told.items() if of not in (None, "", False)}


_WRITTEN: Final[Mapping[str, _Write]] = {"limits": _limits, "validation": _validation, "prompt": _prompt}
