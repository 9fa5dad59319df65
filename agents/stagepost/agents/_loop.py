"""The loop of an agent as a workflow: ask the model, call the tools that it wants, ask again, until it has answered.

Each answer of the model and each tool's result is a commit of its own. The state holds everything that the loop knows:

========  ==============================================================
messages  what was said, but for the results of the last calls
fields    the request's fields, if it is no plain text
calls     what the last answer wants to be called
outcomes  what has become of these calls, once all have ended
spent     what the run has used
output    the final answer; the loop has ended once it is there
========  ==============================================================
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel

from stagepost.workflows import Graph, State, key_exists, step

from ._answer import Complaint, output_schema, read_answer
from ._budget import Budget, Spent
from ._calling import CallOutcome, PendingCall, ToolCalling, pending_calls
from ._messages import AssistantMessage, ChatMessage, SystemMessage, UserMessage
from ._model import Model, ModelRequest
from ._request import Brief
from ._result import AgentResult
from ._tool import Tool

_LAST_TURN: Final = "This is your last turn and there are no more tools: give your final answer now."


class AgentLoop(Graph):
    """The workflow that does an agent's work.

    Args:
        brief: What it is for.
        model: Its model.
        tools: Its tools.
        output: What its answers have to be; None for plain text.
        budget: What a run may use.
    """

    def __init__(
        self,
        brief: Brief,
        *,
        model: Model,
        tools: Sequence[Tool[..., object]],
        output: type[BaseModel] | None,
        budget: Budget,
    ) -> None:
        types = {
            "messages": list[ChatMessage],
            "fields": brief.input,
            "calls": list[PendingCall],
            "outcomes": list[CallOutcome],
            "spent": Spent,
            "output": output,
        }
        super().__init__(brief.agent, max_steps=None, types=types)  # the budget sets the limits
        self._brief = brief
        self._model = model
        self._tools = [tool.schema for tool in tools]
        self._output = output
        self._output_schema = output_schema(output)
        self._budget = budget
        self._draw(ToolCalling(brief.agent, tools))

    def accept(self, payload: object) -> Mapping[str, object]:
        """What a run starts with when the agent is asked with this payload.

        Raises:
            InvalidRequest: It is not what the agent takes.
        """
        message, fields = self._brief.read(payload)
        state = {"messages": [message], "calls": [], "outcomes": [], "spent": Spent()}
        return state if fields is None else {**state, "fields": fields}

    def reply(self, state: State) -> object:
        """The final answer."""
        return state["output"]

    def result(self, state: State) -> AgentResult[Any]:
        """What a run has come to, from its final state."""
        spent: Spent = state["spent"]
        return AgentResult(state["output"], tuple(state["messages"]), spent.usage, spent.turns)

    def _draw(self, calling: ToolCalling) -> None:
        self.add("infer", step("infer", self._infer))
        self.add("tools", calling.pattern(self._due, "outcomes"))
        self.add("finish", step("finish", _finish, inline=True))
        self.edge("infer", "finish", when=key_exists("output"))
        self.edge("infer", "tools", when=_wants_calls)
        self.edge("infer", "infer")
        self.edge("tools", "infer")
        self.start("infer")
        self.finish("finish")

    async def _infer(self, state: State) -> dict[str, object]:
        """One turn."""
        spent: Spent = state["spent"]
        self._budget.check_turn(self.name, spent)
        said = [*state["messages"], *(outcome.message for outcome in state["outcomes"])]
        response = await self._model.answer(self._request(said, state.get("fields"), spent))
        answer = AssistantMessage(text=response.text, calls=tuple(response.calls))
        return {
            "messages": [*said, answer],
            "calls": pending_calls(spent.turns, answer.calls),
            "outcomes": [],
            "spent": spent.after(response.usage, tool_calls=len(answer.calls)),
            **self._conclude(said, answer),
        }

    def _conclude(self, said: Sequence[ChatMessage], answer: AssistantMessage) -> dict[str, object]:
        """The output, or why there is none yet."""
        if answer.calls:
            return {}
        verdict = read_answer(answer.text, self._output)
        if isinstance(verdict, Complaint):
            return {"messages": [*said, answer, UserMessage(text=verdict.text)]}
        return {"output": verdict}

    def _request(self, said: Sequence[ChatMessage], fields: BaseModel | None, spent: Spent) -> ModelRequest:
        messages = (SystemMessage(text=self._brief.system(fields)), *said)
        if self._budget.is_last_turn(spent):
            return ModelRequest((*messages, UserMessage(text=_LAST_TURN)), (), self._output_schema)
        return ModelRequest(messages, tuple(self._tools), self._output_schema)

    def _due(self, state: State) -> Sequence[PendingCall]:
        """The calls to make. Checked here, behind the commit of the answer, so that it is not lost with the run."""
        self._budget.check_calls(self.name, state["spent"])
        calls: Sequence[PendingCall] = state["calls"]
        return calls


def _wants_calls(state: Any) -> bool:
    return bool(state["calls"])


def _finish(_state: State) -> None:
    """Nothing is left to do: a graph ends behind a node."""
