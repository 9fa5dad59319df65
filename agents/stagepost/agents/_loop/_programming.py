"""The program of an answer: run to its end, or to the calls that it wants, which the loop makes and commits.

A program under way is kept in memory, and goes on with the results. A process that has it not, after a crash or a wait,
runs it again from its beginning against the journal: what is answered there is not called again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from pydantic_core import to_json

from stagepost.hub import get_logger
from stagepost.programs import CallRequest, End, FeedbackFacts, Language, Outcome, ProgramError, Started
from stagepost.workflows import State, StepContext

from .._delegation._calls import call_number
from .._delegation._records import Changes, Program
from .._delegation._state import FAILURE, OUTPUT, PROGRAM, RunState
from .._models._messages import AssistantMessage, UserMessage
from .._tools._answer_reader import Accepted
from ..errors import JournalMismatch
from ._accounting import Accounting
from ._beginning import with_answer
from ._calling import ToolCalling
from ._member import Member
from ._news import news_of
from ._offer import Offer, kept
from ._pending_calls import PendingCalls
from ._program_facts import data_of, surroundings, turn_number
from ._program_journal import Journal, journal_of, mismatch
from ._program_result import ResultReader
from ._traced_programs import program_began, program_ended

_LIVE: Final = "program"  # in the memo: the program under way
_RESULTS: Final = 3
_TASK: Final = "(task "
_LONGEST: Final = 2_000  # characters of an error
_PARTS: Final = 2  # of what a value of the state may have, so that others have room beside this one
_TOO_MUCH: Final = "memory_limit_exceeded"


class Live:
    """A program under way in this process; it ends with the last reference to this.

    Attributes:
        turn: Number of its turn, from 0.
        waves: How often it has wanted calls.
        started: The program.
    """

    __slots__ = ("started", "turn", "waves")

    def __init__(self, turn: int, waves: int, started: Started) -> None:
        self.turn = turn
        self.waves = waves
        self.started = started

    def __del__(self) -> None:
        self.started.close()  # its frames are no garbage that Python would find


class _Judged(NamedTuple):
    """What comes of a program.

    Attributes:
        changes: How the run ends; nothing if it goes on.
        error: Why the program failed, if it did.
        correction: What is wrong with the value that it returned, if something is.
    """

    changes: Changes
    error: ProgramError | None = None
    correction: str = ""


class Programming:
    """Runs the programs of an agent.

    Args:
        member: The agent.
        language: In which they are written.
        accounting: Keeps its runs within budgets.
        offer: Knows what they may call.
        pending: Knows which calls may go on at once.
        calling: Knows which call may begin with the commit that wants it.
    """

    def __init__(
        self,
        member: Member,
        language: Language,
        *,
        accounting: Accounting,
        offer: Offer,
        pending: PendingCalls,
        calling: ToolCalling,
    ) -> None:
        self._member = member
        self._agent = member.agent.name
        self._language = language
        self._accounting = accounting
        self._offer = offer
        self._pending = pending
        self._calling = calling
        self._results = ResultReader(member.agent, language)
        self._has_warned = False

    def begun(self, context: StepContext, *, is_last: bool) -> Changes:
        """The changes of an answer that may hold a program.

        Args:
            context: The step that asked.
            is_last: Whether no turn can follow.
        """
        return {PROGRAM: Program(context.clock(), is_last, self._agent)._asdict()}

    async def take(self, given: State, context: StepContext) -> Mapping[str, object]:
        """Run the program of the last answer as far as it comes.

        Raises:
            JournalMismatch: It runs again, and makes other calls than before.
        """
        state = RunState(given)
        journal = journal_of(state.messages, state.turn - 1)
        source = self._language.find(journal.text)
        shown = journal.text if isinstance(source, ProgramError) else source
        program_began(shown, state, context, agent=self._agent, turn=journal.turn)
        if isinstance(source, ProgramError):
            return await self._ended(state, Outcome(None, error=source, end=End.ERROR), context)
        self._warn(source)
        live, came = await self._advanced(source, state, journal, context)
        if isinstance(came, Outcome):
            return await self._ended(state, came, context)
        context.memo[_LIVE] = live
        return self._wanted(state, journal, came, context)

    def _warn(self, source: str) -> None:
        """Say once that tasks are evaluated and not kept."""
        if _TASK in source and not self._language.keeps_tasks and not self._has_warned:
            self._has_warned = True
            get_logger("agents").warning("task_without_journal", agent=self._agent, language=self._language.name)

    async def _advanced(
        self, source: str, state: RunState, journal: Journal, context: StepContext
    ) -> tuple[Live, Outcome | Sequence[CallRequest]]:
        """The program, and what it has come to."""
        live = context.memo.pop(_LIVE, None)
        count = len(journal.waves)
        if isinstance(live, Live) and count and (live.turn, live.waves) == (journal.turn, count):
            live.waves += 1
            return live, await live.started.advance(journal.waves[-1].answers)
        live = Live(journal.turn, count + 1, await self._started(source, state, context))
        came = await live.started.advance(again=count > 0)
        for number, wave in enumerate(journal.waves, 1):
            self._check(came, journal, number - 1)
            came = await live.started.advance(wave.answers, again=number < count)
        return live, came

    async def _started(self, source: str, state: RunState, context: StepContext) -> Started:
        agent = self._member.agent
        program = state.program
        turn = turn_number(agent.budget, state.spent.turns, is_last=program.is_last)
        names: Sequence[str] = ()
        if turn.has_tools:
            toolbox = kept(context) or await self._offer.again(state, context)
            names = tuple(toolbox.tools)
        return self._language.start(
            source,
            data=data_of(state),
            memory=self._language.load(state.memory(self._agent)),
            tools=names,
            around=surroundings(self._language, state, self._member.depth, agent.budget),
        )

    def _check(self, came: Outcome | Sequence[CallRequest], journal: Journal, number: int) -> None:
        if isinstance(came, Outcome):
            first = journal.waves[number].calls[0]
            raise JournalMismatch(self._agent, f"it ends where it called {first.name}({first.arguments:.200})")
        why = mismatch(came, journal, number)
        if why is not None:
            raise JournalMismatch(self._agent, why)

    def _wanted(
        self, state: RunState, journal: Journal, wanted: Sequence[CallRequest], context: StepContext
    ) -> Changes:
        """The changes that have calls made."""
        calls = tuple([journal.call(request, index) for index, request in enumerate(wanted)])
        message, now = AssistantMessage(calls=calls, calls_before=journal.calls), context.clock()
        count = self._pending.at_once(state, message, now)
        spent = self._accounting.with_calls(state, len(calls), context)
        changes: Changes = {"messages": [message], "spent": spent, "calls": count}
        if self._pending.is_timed:
            changes["at"] = now
        may_call = len(calls) == 1 and context.is_durable and self._accounting.may_call(spent, context)
        if may_call and self._calling.may_begin(calls[0], context):
            changes.update(with_answer(call_number(journal.turn, journal.calls), context))
        return changes

    async def _ended(self, state: RunState, outcome: Outcome, context: StepContext) -> Changes:
        """The changes of a program that has ended."""
        limit = context.limits.refuse
        most = None if limit is None else limit // _PARTS
        outcome = self._kept_within(state, outcome, most)
        judged = self._judged(state, outcome, most)
        program_ended(outcome, judged.error, context)
        changes, stored = self._remembered(state, outcome, judged)
        changes.update({PROGRAM: None, "calls": 0})
        news = await news_of(context, state.heard) if judged.changes and context.has_signals else None
        if judged.changes and (news is None or not news.messages):
            return {**changes, **judged.changes}
        budget, turns = self._member.agent.budget, state.spent.turns
        is_over = budget.all_turns is not None and turns >= budget.all_turns
        told = FeedbackFacts(
            turn=None if is_over else turn_number(budget, turns + 1),
            prints=outcome.prints,
            stored=stored,
            error=judged.error,
            correction=judged.correction,
        )
        said = [UserMessage(text=context.mask(self._language.feedback(told)))]
        if news is not None:
            changes["heard"] = news.heard
            said += news.messages
        return {**changes, "messages": said}

    def _kept_within(self, state: RunState, outcome: Outcome, most: int | None) -> Outcome:
        """A program whose values can be stored; one that keeps too much has failed.

        Args:
            state: The run's state.
            outcome: What the program gave.
            most: How many bytes of JSON can be stored; None for no limit.
        """
        if most is None:
            return outcome
        kept = (outcome.journal,) if outcome.error is not None else (outcome.memory, outcome.journal)
        if max(len(to_json(self._language.dump(each))) for each in kept) <= most:
            return outcome
        before = self._language.load(state.programs(self._agent).journal)
        error = outcome.error or ProgramError(
            _TOO_MUCH,
            f"what def and task keep has more than {most} bytes as JSON",
            None,
            "keep less: results, not inputs",
        )
        end = End.ERROR if outcome.error is None else outcome.end
        return replace(outcome, value=None, error=error, end=end, journal=before)

    def _judged(self, state: RunState, outcome: Outcome, most: int | None) -> _Judged:
        """What comes of a program: the end of the run, a complaint, or nothing."""
        turn = turn_number(self._member.agent.budget, state.spent.turns, is_last=state.program.is_last)
        error = outcome.error
        if error is not None:
            error = replace(error, text=f"{error.text[:_LONGEST]}…") if len(error.text) > _LONGEST else error
            is_end = outcome.end is End.FAIL or (error.kind == _TOO_MUCH and self._language.memory == "strict")
            return _Judged(_given_up(error) if is_end else {}, error)
        is_result = outcome.end is End.RETURN or turn.is_single
        if not is_result and turn.left != 0:
            return _Judged({})
        found = self._results.read(outcome.value, most)
        if isinstance(found, Accepted):
            return _Judged({OUTPUT: found.output})
        if not is_result:  # nothing was returned: that is what is told
            return _Judged({})
        error = ProgramError("validation_error", found)
        return _Judged({}, error, found)

    def _remembered(self, state: RunState, outcome: Outcome, judged: _Judged) -> tuple[Changes, Sequence[str]]:
        """What is kept of a program, and the names that it has stored something under."""
        language, agent = self._language, self._agent
        known, memory = state.programs(agent), state.memory(agent)
        error = judged.error
        known = known._replace(
            error=None if error is None else (error.kind, error.text, error.hint),
            prints=known.prints or bool(outcome.prints),
            journal=language.dump(outcome.journal) if language.keeps_tasks else known.journal,
        )
        stored: Sequence[str] = ()
        if outcome.error is None:
            now = language.dump(outcome.memory)
            stored = [name for name in now if name not in memory or now[name] != memory[name]]
            memory = now
            value = language.dump({"value": language.shortened(outcome.value)})["value"]
            known = known._replace(
                results=[value, *known.results][:_RESULTS],
                summaries={**known.summaries, **outcome.summaries},
            )
        return state.with_programs(agent, known, memory), stored


def _given_up(error: ProgramError) -> Changes:
    return {FAILURE: error.text, "kind": error.kind}
