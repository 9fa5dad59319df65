"""The loop of an agent as a workflow: ask the model, call the tools that it wants, ask again, until it has answered.

Each answer of the model and each tool's result is a commit of its own, and writes what is new and nothing else. The
state holds everything that the loop knows:

========  ==============================================================
messages  what was said: a list that only grows
fields    the request's fields, if it is no plain text
calls     what the last answer wants to be called
spent     what the run has used
output    the final answer; the loop has ended once it is there
failure   why the model has given up, if it has
========  ==============================================================
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn

from pydantic import BaseModel

from stagepost.workflows import END, Graph, ListCodec, State, key_exists, step

from ._answer import output_schema
from ._budget import Budget, Spent
from ._calling import ToolCalling, pending_calls
from ._closing import Closing
from ._messages import AssistantMessage, ChatMessage, SystemMessage, UserMessage
from ._model import Model, ModelRequest
from ._request import Brief
from ._result import AgentResult
from ._tool import Tool
from .errors import AgentGaveUp

_LAST_TURN: Final = "This is your last turn and there are no more tools: give your final answer now."
_MESSAGES: Final = ListCodec(list[ChatMessage], immutable=True, verify=False)  # texts only, and frozen


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
        types = {"messages": _MESSAGES, "fields": brief.input, "output": output}
        super().__init__(brief.agent, max_steps=None, types=types)  # the budget sets the limits
        self._brief = brief
        self._model = model
        self._closing = Closing(output)
        self._tools = (*(tool.schema for tool in tools), *self._closing.tools)
        self._output_schema = output_schema(output)
        self._budget = budget
        self._draw(ToolCalling(brief.agent, tools, self._closing))

    def accept(self, payload: object) -> Mapping[str, object]:
        """What a run starts with when the agent is asked with this payload.

        Raises:
            InvalidRequest: It is not what the agent takes.
        """
        message, fields = self._brief.read(payload)
        state = {"messages": [message], "calls": [], "spent": Spent().stored()}
        return state if fields is None else {**state, "fields": fields}

    def reply(self, state: State) -> object:
        """The final answer."""
        return state["output"]

    def result(self, state: State) -> AgentResult[Any]:
        """What a run has come to, from its final state."""
        spent = Spent.read(state["spent"])
        return AgentResult(state["output"], tuple(state["messages"]), spent.usage, spent.turns)

    def _draw(self, calling: ToolCalling) -> None:
        self.add("infer", step("infer", self._infer))
        self.add("tools", calling.pattern(self._due))
        self.add("give-up", step("give-up", self._give_up, inline=True))
        self.edge("infer", END, when=key_exists("output"))
        self.edge("infer", "give-up", when=key_exists("failure"))
        self.edge("infer", "tools", when=_wants_calls)
        self.edge("infer", "infer")
        self.edge("tools", "infer")
        self.start("infer")
        self.finish("give-up")

    async def _infer(self, state: State) -> dict[str, object]:
        """One turn."""
        spent = Spent.read(state["spent"])
        self._budget.check_turn(self.name, spent)
        response = await self._model.answer(self._request(state["messages"], state.get("fields"), spent))
        answer = AssistantMessage(text=response.text, calls=tuple(response.calls))
        verdict = self._closing.judge(answer)
        return {
            "messages": [answer, *verdict.messages],
            "calls": [] if verdict.updates else pending_calls(spent.turns, answer.calls),
            "spent": spent.after(response.usage, tool_calls=len(answer.calls)).stored(),
            **verdict.updates,
        }

    def _give_up(self, state: State) -> NoReturn:
        raise AgentGaveUp(self.name, state["failure"])

    def _request(self, said: Sequence[ChatMessage], fields: BaseModel | None, spent: Spent) -> ModelRequest:
        messages = (SystemMessage(text=self._brief.system(fields)), *said)
        if self._budget.is_last_turn(spent):
            last = UserMessage(text=_LAST_TURN)
            return ModelRequest((*messages, last), self._closing.tools, self._output_schema)
        return ModelRequest(messages, self._tools, self._output_schema)

    def _due(self, state: State) -> Sequence[Any]:
        """The calls to make. Checked here, behind the commit of the answer, so that it is not lost with the run."""
        self._budget.check_calls(self.name, Spent.read(state["spent"]))
        calls: Sequence[Any] = state["calls"]
        return calls


def _wants_calls(state: Any) -> bool:
    return bool(state["calls"])
