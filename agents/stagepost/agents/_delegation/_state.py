"""The state of an agent's run: its keys and their forms.

=============  ==========================================================================================
messages       the transcript, an append-only list
fields         the request's fields, unless it is plain text
begun          number of the call that has begun with the last answer, if it is the answer's only call
calls          how many of the calls of the last answer may run at once
at             when its model answered last, in seconds since 1970, if it may talk to other agents
spent          what the run has used by itself
output         the final answer; the loop has ended once it is set
failure        why the model gave up, if it did
turn           turns before this run, if it continues another one
root           the root run, if this is a child run
call           number of the call that has started it, in the run above, if this is a child run
conversations  conversations with other agents, by id, if any
nested         what child runs that have ended have used, if any: one sum, or more if a former version has stored it
heard          number of the last message sent to the running task that was read, if any
said           the message of a conversation with an outside caller that this run answers, if any; see `_tasks`
handoff        the last handoff, if there was one; see `Handed`
settings       settings for its model, if the caller gave some
parts          set if a message has pictures, sounds or files
view           what the model sees of the transcript, if that is not all of it; see `View`
read           tokens of the last prompt, as its provider has counted them, if that was near the limit
ended          set if the run only records that such a conversation has ended
found          names of the tools that its model has searched for and found, if any
program        what is known of the program under way, or None; see `Program`
memory         what programs have kept, by the agent that writes them, if any
programs       what else is known of programs, by the agent that writes them, if any; see `Programs`
kind           why the model gave up, in a word, if a program did
=============  ==========================================================================================

Keys without information are left out, so that they cost nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel

from stagepost.checkpoint import TypedCodec
from stagepost.workflows import ListCodec, State

from .._context._view import VIEW, WHOLE, View
from .._definition._budget import Spent, SpentCodec
from .._models._messages import AssistantMessage, ChatMessage, ToolCall, UserMessage
from .._models._settings import ModelSettings
from ._calls import Aside, Talk
from ._records import Changes, Handed, Program, Programs, Said

OUTPUT: Final = "output"
FAILURE: Final = "failure"
PROGRAM: Final = "program"
ENDED: Final = "ended"

GO_ON: Final = UserMessage(text="[You have the conversation now: go on.]")

_BELOW: Final = "below"  # the key of what all child runs have used together
_MESSAGES: Final = ListCodec(list[ChatMessage], immutable=True, verify=False)  # frozen, and made of texts
_SETTINGS: Final = TypedCodec(ModelSettings, immutable=True)
_SPENT: Final = SpentCodec()


class RunState:
    """A view of a state.

    Args:
        given: The state.
    """

    __slots__ = ("_given", "_messages", "_spent", "_turn")

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given
        self._messages: Sequence[ChatMessage] | None = None  # these are read often, so their values are cached
        self._spent: Spent | None = None
        self._turn: int | None = None

    @property
    def messages(self) -> Sequence[ChatMessage]:
        """What was said."""
        said = self._messages
        if said is None:
            given = self._given
            said = self._messages = given.uncopied("messages") if isinstance(given, State) else given["messages"]
        return said

    @property
    def spent(self) -> Spent:
        """What the run has used by itself."""
        spent = self._spent
        if spent is None:
            spent = self._spent = self._given["spent"]
        return spent

    @property
    def last_calls(self) -> Sequence[ToolCall]:
        """The calls of the last answer, until their results are in the transcript."""
        answer = self.messages[-1]
        return answer.calls if isinstance(answer, AssistantMessage) else ()

    @property
    def calls_before(self) -> int:
        """How many calls a program has made before the calls of the last answer."""
        answer = self.messages[-1]
        return (answer.calls_before or 0) if isinstance(answer, AssistantMessage) else 0

    @property
    def is_in_program(self) -> bool:
        """Whether a program is under way."""
        return self._given.get(PROGRAM) is not None

    @property
    def program(self) -> Program:
        """The program under way."""
        return Program(**self._given[PROGRAM])

    def memory(self, agent: str) -> Mapping[str, Any]:
        """What the programs of an agent have kept, in its stored form."""
        memory: Mapping[str, Any] = self._given.get("memory", {}).get(agent, {})
        return memory

    def programs(self, agent: str) -> Programs:
        """What else is known of the programs of an agent."""
        return Programs(**self._given.get("programs", {}).get(agent, {}))

    def with_programs(self, agent: str, programs: Programs, memory: Mapping[str, Any]) -> Changes:
        """The changes from a program.

        Args:
            agent: The agent that has written it.
            programs: What is known of its programs now.
            memory: What they have kept.
        """
        changes: Changes = {}
        if programs != self.programs(agent):
            changes["programs"] = {**self._given.get("programs", {}), agent: programs._asdict()}
        if memory != self.memory(agent):
            changes["memory"] = {**self._given.get("memory", {}), agent: memory}
        return changes

    @property
    def turn(self) -> int:
        """Number of the next turn, counting those of the runs that this one continues."""
        turn = self._turn
        if turn is None:
            turn = self._turn = self._given.get("turn", 0) + self.spent.turns
        return turn

    @property
    def fields(self) -> BaseModel | None:
        """The request's fields."""
        return self._given.get("fields")

    @property
    def begun(self) -> str | None:
        """Number of the call that has begun with the last answer."""
        return self._given.get("begun")

    @property
    def answered_at(self) -> float:
        """When the model answered last; 0.0 if it may talk to nobody."""
        at: float = self._given.get("at", 0.0)
        return at

    @property
    def root(self) -> str | None:
        """The root run; None if this is it."""
        return self._given.get("root")

    @property
    def call(self) -> str | None:
        """Number of the call that has started the run; None if none has, or if that was before this was stored."""
        return self._given.get("call")

    @property
    def talks(self) -> Mapping[str, Talk]:
        """The conversations with other agents."""
        return {key: Talk.model_validate(talk) for key, talk in self._given.get("conversations", {}).items()}

    @property
    def below(self) -> Spent:
        """What child runs that have ended have used."""
        return _sum(self._given.get("nested", {}).values())

    @property
    def total(self) -> Spent:
        """What the run and its child runs have used."""
        return self.spent + self.below if "nested" in self._given else self.spent

    @property
    def heard(self) -> int:
        """Number of the last message to the running task that was read; 0 if there was none."""
        heard: int = self._given.get("heard", 0)
        return heard

    @property
    def handed(self) -> Handed | None:
        """The last handoff; None if the agent that was asked has the conversation."""
        handed = self._given.get("handoff")
        return None if handed is None else Handed(**handed)

    @property
    def holder(self) -> str | None:
        """The agent that has the conversation; None if it is the one that was asked."""
        handed = self._given.get("handoff")
        return None if handed is None else handed["agent"]

    @property
    def settings(self) -> ModelSettings | None:
        """Settings for the model, if the caller gave some."""
        return self._given.get("settings")

    @property
    def found(self) -> Sequence[str]:
        """Names of the tools that the model has searched for and found."""
        found: Sequence[str] = self._given.get("found", ())
        return found

    @property
    def view(self) -> View:
        """What the model sees of the transcript."""
        return self._given.get("view") or WHOLE

    @property
    def read(self) -> int:
        """Tokens of the last prompt, as its provider has counted them; 0 if that was far from the limit."""
        read: int = self._given.get("read", 0)
        return read

    @property
    def output(self) -> Any:
        """The final answer; None while there is none."""
        return self._given.get(OUTPUT)

    @property
    def kind(self) -> str | None:
        """Why the model gave up, in a word; None if nobody has said it so."""
        return self._given.get("kind")

    @property
    def failure(self) -> str:
        """Why the model gave up."""
        why: str = self._given[FAILURE]
        return why

    @property
    def has_parts(self) -> bool:
        """Whether a message has pictures, sounds or files."""
        return "parts" in self._given

    @property
    def is_over(self) -> bool:
        """Whether there is nothing to do."""
        return ENDED in self._given

    @property
    def said(self) -> Said | None:
        """The message of a conversation with an outside caller that the run answers; None if there is none."""
        said = self._given.get("said")
        return None if said is None else Said(said["key"], said["at"])

    def kept(self) -> Changes:
        """What a run that continues this one knows of it: conversations, tools that were found, and who has the run."""
        kept: Changes = {}
        if "conversations" in self._given:
            kept["conversations"] = self._given["conversations"]
        if "found" in self._given:
            kept["found"] = self._given["found"]
        if "memory" in self._given:
            kept["memory"] = self._given["memory"]
        if "programs" in self._given:
            kept["programs"] = self._given["programs"]
        if "handoff" in self._given:
            kept["handoff"] = {**self._given["handoff"], "times": 0}
        return kept

    def with_results(self, messages: Sequence[ChatMessage], asides: Iterable[Aside]) -> Changes:
        """The changes from tool calls.

        Args:
            messages: Their results.
            asides: Further information about them.
        """
        changes: Changes = {"messages": messages}
        talks: dict[str, object] = {}
        nested: list[Mapping[str, Any]] = []
        found: list[str] = []
        for aside in asides:
            found += aside.found
            if aside.talk is not None:
                talks[aside.talk[0]] = aside.talk[1].model_dump()
            if aside.nested is not None:
                nested += aside.nested.values()
            if aside.handoff is not None:
                changes.update(self._handed_over(aside.handoff, len(messages)))
                if self.is_in_program:  # it ends here, and is not shown: somebody has to speak last
                    changes.update({"messages": [*messages, GO_ON], "program": None})
        if talks:
            changes["conversations"] = {**self._given.get("conversations", {}), **talks}
        if not self.has_parts and any(message.parts for message in messages if message.role == "tool"):
            changes["parts"] = True
        if found:
            changes["found"] = list(dict.fromkeys((*self.found, *found)))
        if nested:
            changes["nested"] = {_BELOW: (self.below + _sum(nested)).stored()}
        return changes

    def _handed_over(self, handoff: Mapping[str, str], results: int) -> Changes:
        """The changes from a handoff: the agent that takes over looks at the transcript anew."""
        times = 0 if self.handed is None else self.handed.times
        changes: Changes = {"handoff": {**handoff, "at": len(self.messages) + results, "times": times + 1}}
        if self.view is not WHOLE:
            changes["view"] = WHOLE.for_request(self.view.request)
        if self.read:
            changes["read"] = 0
        return changes


def _sum(stored: Iterable[Mapping[str, Any]]) -> Spent:
    return sum(map(Spent.read, stored), Spent())


def types_of(fields: type[BaseModel] | None, output: object) -> Mapping[str, Any]:
    """The types of keys that are not plain JSON.

    Args:
        fields: Model of the agent's requests.
        output: Type of its answers.
    """
    return {
        "messages": _MESSAGES,
        "spent": _SPENT,
        "fields": fields,
        OUTPUT: output,
        "settings": _SETTINGS,
        "view": VIEW,
    }
