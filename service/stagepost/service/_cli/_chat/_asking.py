"""What calls of an agent ask people, asked in the terminal."""

import json
from typing import Any

from stagepost.agents import (
    Allow,
    ApprovalAsked,
    Deny,
    DoubtRaised,
    QuestionAsked,
    Refuse,
    StreamPart,
)

from .._errors import name_of
from .._styles import BAD, DIM, WAITS
from .._values import compact
from ._keyboard import Keyboard
from ._showing import Transcript
from ._talk import Talk

_LONG = 1_000
_YES = ("y", "yes")
_LATE = frozenset({"AlreadyAnswered", "CallNotInDoubt", "RunNotOpen", "WaitNotFound"})  # by somebody else, or at last
_MISFITS = frozenset({"CannotStore", "InvalidDecision"})


class Nobody(Exception):
    """Nobody answers: the input has ended."""


class Asking:
    """Asks whoever sits at the terminal.

    Args:
        talk: Takes the answers.
        keys: Where they come from.
        transcript: Where the questions are shown.
    """

    def __init__(self, talk: Talk, keys: Keyboard, transcript: Transcript) -> None:
        self._talk = talk
        self._keys = keys
        self._transcript = transcript

    async def about(self, part: StreamPart) -> None:
        """Ask, if a part is a question that is still open.

        Raises:
            Nobody: The input has ended.
        """
        try:
            match part:
                case ApprovalAsked() if await self._talk.asks(part.approval_id):
                    await self._approve(part)
                case QuestionAsked() if await self._talk.asks(part.question_id):
                    await self._question(part)
                case DoubtRaised() if await self._talk.asks(part.doubt_id):
                    await self._doubt(part)
        except Exception as error:  # with a service its class is that of the client
            if name_of(error) not in _LATE:
                raise
            self._transcript.say("it was answered meanwhile", DIM)

    async def _approve(self, part: ApprovalAsked) -> None:
        self._transcript.say(f"? {part.tool} needs approval ({part.reason}): {compact(part.arguments, _LONG)}", WAITS)
        said = await self._line("allow it? [y/N, or why not] ")
        is_yes = said.lower() in _YES
        reason = "" if said.lower() in ("", "n", "no") else said
        await self._talk.decide(part.approval_id, Allow() if is_yes else Deny(reason))

    async def _question(self, part: QuestionAsked) -> None:
        asked = part.message or compact(part.arguments, _LONG)
        self._transcript.say(f"? {part.server or part.tool} asks: {asked}", WAITS)
        if part.url is not None:
            self._transcript.say(f"  go to {part.url}", WAITS)
            await self._line("done? [Enter] ")
            await self._talk.answer(part.question_id, None)
            return
        self._transcript.say(f"  an answer is {compact(part.schema, _LONG)}", DIM)
        while True:
            said = await self._line("answer [or nothing to refuse] ")
            try:
                given = _value(said, part.schema) if said else Refuse()
                await self._talk.answer(part.question_id, given)
            except Exception as error:  # as above
                if name_of(error) not in _MISFITS:
                    raise
                self._transcript.say(str(error), BAD)
            else:
                return

    async def _doubt(self, part: DoubtRaised) -> None:
        self._transcript.say(
            f"? a process has ended while {part.tool} was called: {compact(part.arguments, _LONG)}", WAITS
        )
        said = await self._line("what came of it? [or nothing to call it again] ")
        await self._talk.settle(part.doubt_id, said or None)

    async def _line(self, prompt: str) -> str:
        said = await self._keys.line(prompt)
        if said is None:
            raise Nobody
        return said.strip()


def _value(said: str, schema: Any) -> Any:
    """What somebody typed, as the schema has it: texts need no quotes."""
    if isinstance(schema, dict) and schema.get("type") == "string" and not said.startswith('"'):
        return said
    try:
        return json.loads(said)
    except ValueError:
        return said
