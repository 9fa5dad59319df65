"""What can go wrong with an agent.

::

    AgentError
    ├── InvalidAgent(ValueError)    an agent is defined wrong; raised where it is built
    ├── InvalidAgentData(ValueError)    agents cannot be made of data
    ├── UnknownAgent(KeyError)      `Agents` has no agent of this name
    ├── InvalidTool(ValueError)     a function cannot be a tool as it is written
    ├── ToolClash(ValueError)       two tools have one name, and one comes from a server
    ├── ToolUnavailable(ConnectionError)    raised by a tool: what it needs cannot be reached just now
    ├── InvalidHook(TypeError)      a hook has given something that it may not give
    ├── NobodyToAsk                 a run in memory makes a call that a person has to allow
    ├── ModelMissing                an agent is to run and has no model
    ├── InvalidRequest(ValueError)  an agent was asked with something that is not its input
    ├── PromptFailed                a prompt that is a function has raised an error, or returned no text
    ├── BudgetExceeded              a run needs more turns, tool calls or tokens than it may have
    ├── AgentGaveUp                 the model has called `fail`, and said why
    ├── AgentFailed                 a run in memory ended with an error of something else; the cause says of what
    ├── ScriptEnded                 a scripted model was asked more often than its script has answers
    ├── InvalidModel(ValueError)    a model is described wrong
    ├── AsyncioRequired             a model's library runs on asyncio only
    ├── RecordingMissing(LookupError)   a replayed model was asked something that is not recorded
    ├── ModelError                  a model was asked and has given no answer
    │   ├── InfrastructureError         it may answer later, or another one instead
    │   │   ├── RateLimitReached            it was asked too often
    │   │   ├── ModelUnavailable            it cannot be reached, or its provider has failed
    │   │   ├── ModelTimeout(TimeoutError)  it was silent for too long
    │   │   ├── AnswerCut                   its answer ended in the middle
    │   │   ├── UnreadableAnswer            what came is no answer
    │   │   └── AllModelsFailed             one model for another, and none has answered
    │   ├── ModelRejected               its provider refuses the request as it is, or the key
    │   ├── ContentRefused              its provider does not want to answer this
    │   └── AnswerTooLong               its answer met the limit of tokens
    ├── InvalidServer(ValueError)   an MCP server is described wrong
    └── McpError                    something is wrong with an MCP server
        ├── McpUnavailable(ConnectionError)  it cannot be reached, or not be understood
        ├── McpCallLost(ConnectionError)     it went away while a call was under way
        └── McpCallFailed                    it has answered a call with an error
"""

from collections.abc import Sequence

__all__ = [
    "AgentError",
    "AgentFailed",
    "AgentGaveUp",
    "AllModelsFailed",
    "AnswerCut",
    "AnswerTooLong",
    "AsyncioRequired",
    "BudgetExceeded",
    "ContentRefused",
    "InfrastructureError",
    "InvalidAgent",
    "InvalidAgentData",
    "InvalidHook",
    "InvalidModel",
    "InvalidRequest",
    "InvalidServer",
    "InvalidTool",
    "McpCallFailed",
    "McpCallLost",
    "McpError",
    "McpUnavailable",
    "ModelError",
    "ModelMissing",
    "ModelRejected",
    "ModelTimeout",
    "ModelUnavailable",
    "NobodyToAsk",
    "PromptFailed",
    "RateLimitReached",
    "RecordingMissing",
    "ScriptEnded",
    "ToolClash",
    "ToolUnavailable",
    "UnknownAgent",
    "UnreadableAnswer",
]


class AgentError(Exception):
    """Root of all errors of this layer."""


class InvalidAgent(AgentError, ValueError):
    """An agent is defined wrong.

    Attributes:
        agent: Its name.
        why: What is wrong, and what to do about it.
    """

    def __init__(self, agent: str, why: str) -> None:
        super().__init__(f"agent {agent!r}: {why}")
        self.agent = agent
        self.why = why


class InvalidAgentData(AgentError, ValueError):
    """Agents cannot be made of data.

    Attributes:
        why: What is wrong, and where in the data.
    """

    def __init__(self, why: str) -> None:
        super().__init__(f"agents cannot be made of this data: {why}")
        self.why = why


class UnknownAgent(AgentError, KeyError):
    """`Agents` has no agent of this name.

    Attributes:
        agent: The name.
        known: The names that it has.
    """

    def __init__(self, agent: str, known: Sequence[str]) -> None:
        super().__init__(agent, known)
        self.agent = agent
        self.known = known

    def __str__(self) -> str:  # `KeyError` would show it as a literal
        return f"there is no agent {self.agent!r}; there are: {', '.join(self.known) or 'none'}"


class InvalidTool(AgentError, ValueError):
    """A function cannot be a tool as it is written.

    Attributes:
        tool: The tool's name, or the function's representation where it has none.
        why: What is wrong, and what to do about it.
    """

    def __init__(self, tool: str, why: str) -> None:
        super().__init__(f"tool {tool!r}: {why}")
        self.tool = tool
        self.why = why


class ToolUnavailable(AgentError, ConnectionError):
    """Raised by a tool: what it needs cannot be reached just now. A tool that is idempotent is called again.

    Attributes:
        why: What cannot be reached, and why; told to the model if the last attempt says it.
        retry_after: Seconds that it wants to be left alone; None if it does not say.
    """

    def __init__(self, why: str, *, retry_after: float | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.retry_after = retry_after


class InvalidHook(AgentError, TypeError):
    """A hook round a model or a tool has given something that it may not give.

    Attributes:
        hook: The method, with its class.
        why: What is wrong, and what to do about it.
    """

    def __init__(self, hook: str, why: str) -> None:
        super().__init__(f"hook {hook}: {why}")
        self.hook = hook
        self.why = why


class ModelMissing(AgentError):
    """An agent is to run and has no model.

    Attributes:
        agent: Its name.
    """

    def __init__(self, agent: str) -> None:
        super().__init__(f"agent {agent!r} has no model: give it one with model=, or one to run(request, model=…)")
        self.agent = agent


class NobodyToAsk(AgentError):
    """A run in memory makes a call that a person has to allow.

    Attributes:
        agent: Name of the agent.
        tool: Name of the tool.
        rule: What makes its calls wait.
    """

    def __init__(self, agent: str, tool: str, rule: str) -> None:
        super().__init__(
            f"agent {agent!r} wants to call {tool!r}, which a person has to allow ({rule}), and in memory nobody can "
            "be asked: give run(…, approve=…), or run it on a Runner, where the call waits for runner.answer",
        )
        self.agent = agent
        self.tool = tool
        self.rule = rule


class InvalidRequest(AgentError, ValueError):
    """An agent was asked with something that is not its input.

    Attributes:
        agent: Its name.
        why: What is wrong with the request, and what to ask with.
    """

    def __init__(self, agent: str, why: str) -> None:
        super().__init__(f"agent {agent!r} cannot be asked so: {why}")
        self.agent = agent
        self.why = why


class PromptFailed(AgentError):
    """A prompt that is a function has raised an error, which is the cause, or returned no text.

    Attributes:
        agent: Name of the agent.
        why: What has happened.
    """

    def __init__(self, agent: str, why: str) -> None:
        super().__init__(f"the prompt of agent {agent!r} has failed: {why}")
        self.agent = agent
        self.why = why


class BudgetExceeded(AgentError):
    """A run needs more than its budget. What it has done so far is kept: a larger budget lets it go on.

    Attributes:
        agent: Name of the agent.
        budget: What has run out: ``"turns"``, ``"tool_calls"`` or ``"tokens"``.
        limit: How much there was of it.
        used: How much the run has used or asked for.
    """

    def __init__(self, agent: str, budget: str, *, limit: int, used: int) -> None:
        super().__init__(
            f"agent {agent!r} needs more than its budget of {limit} {budget.replace('_', ' ')} ({used} so far): "
            f"raise it with budget=Budget({budget}=…), or ask for less",
        )
        self.agent = agent
        self.budget = budget
        self.limit = limit
        self.used = used


class AgentFailed(AgentError):
    """A run in memory ended with an error that is none of this layer: its model's, for one.

    Attributes:
        agent: Name of the agent.
    """

    def __init__(self, agent: str, cause: BaseException) -> None:
        super().__init__(f"agent {agent!r} failed: {type(cause).__name__}: {cause}")
        self.agent = agent


class AgentGaveUp(AgentError):
    """The model has said that it cannot do what was asked.

    Attributes:
        agent: Name of the agent.
        reason: Why, in the model's words.
    """

    def __init__(self, agent: str, reason: str) -> None:
        super().__init__(f"agent {agent!r} has given up: {reason}")
        self.agent = agent
        self.reason = reason


class ScriptEnded(AgentError):
    """A scripted model was asked more often than its script has answers.

    Attributes:
        answers: How many answers the script has.
        last: Text of the last message that the model got.
    """

    def __init__(self, answers: int, last: str) -> None:
        super().__init__(
            f"the script has {answers} answers, and the model was asked once more, last with {last[:200]!r}: "
            "add an entry to ScriptedModel([…]), or check why the agent has not finished",
        )
        self.answers = answers
        self.last = last


class InvalidModel(AgentError, ValueError):
    """A model is described wrong.

    Attributes:
        model: What was to be built.
        why: What is wrong, and what to do about it.
    """

    def __init__(self, model: str, why: str) -> None:
        super().__init__(f"{model}: {why}")
        self.model = model
        self.why = why


class AsyncioRequired(AgentError):
    """A model's library runs on asyncio only.

    Attributes:
        model: The model.
    """

    def __init__(self, model: str) -> None:
        super().__init__(f"{model} needs asyncio: under trio use a model of your own, or ScriptedModel in tests")
        self.model = model


class RecordingMissing(AgentError, LookupError):
    """A replayed model was asked something that is not recorded.

    Attributes:
        path: The file of recordings.
        key: Key of the request.
        last: Text of the request's last message.
    """

    def __init__(self, path: str, key: str, last: str) -> None:
        super().__init__(
            f"{path} has no answer recorded for this request (key {key[:12]}, last message {last[:200]!r}): the "
            "prompt, a tool or the conversation has changed; record it with ReplayModel(path, record=model)",
        )
        self.path = path
        self.key = key
        self.last = last


class ModelError(AgentError):
    """A model was asked and has given no answer.

    Attributes:
        model: The model.
        detail: What its provider says; known secrets are masked.
        attempt: Which attempt this was, from 1.
    """

    problem = "has given no answer"
    advice = "the detail says more"

    def __init__(self, model: str, detail: str, *, attempt: int = 1) -> None:
        super().__init__(f"model {model!r} {self.problem} (attempt {attempt}): {detail}; {self.advice}")
        self.model = model
        self.detail = detail
        self.attempt = attempt


class InfrastructureError(ModelError):
    """The model may answer later, or another one instead. Costs a retry; nothing is wrong with the request.

    Attributes:
        model: The model.
        detail: What its provider says; known secrets are masked.
        attempt: Which attempt this was, from 1.
        retry_after: Seconds that the provider wants to be left alone; None if it does not say.
    """

    def __init__(self, model: str, detail: str, *, attempt: int = 1, retry_after: float | None = None) -> None:
        super().__init__(model, detail, attempt=attempt)
        self.retry_after = retry_after


class RateLimitReached(InfrastructureError):
    """The model was asked too often."""

    problem = "was asked too often"
    advice = "wrap it in RateLimited(model, per_minute=…), or have the limit raised"


class ModelUnavailable(InfrastructureError):
    """The model cannot be reached, or its provider has failed."""

    problem = "is not available"
    advice = "check api_base and the provider's state, or give others with Fallback([…])"


class ModelTimeout(InfrastructureError, TimeoutError):
    """The model was silent for too long."""

    problem = "was silent for too long"
    advice = "give it more time with timeout=, or stream its answers"


class AnswerCut(InfrastructureError):
    """The model's answer ended in the middle."""

    problem = "was cut in the middle of its answer"
    advice = "the connection, or a proxy on the way, does not hold"


class UnreadableAnswer(InfrastructureError):
    """What came is no answer of a model."""

    problem = "has sent something that is no answer"
    advice = "check that api_base is the API of a model, and any proxy on the way"


class AllModelsFailed(InfrastructureError):
    """One model was asked for another, and none has answered.

    Attributes:
        model: All of them.
        detail: What each has to say.
        attempt: How often the last one was asked.
        retry_after: The shortest time that one wants to be left alone; None if none says so.
        errors: The errors of the models, in the order of their asking.
    """

    problem = "have not answered"
    advice = "check the network; or add a model to Fallback([…])"

    def __init__(self, errors: Sequence[InfrastructureError]) -> None:
        super().__init__(
            ", ".join(error.model for error in errors),
            "; ".join(f"{error.model}: {type(error).__name__}, {error.detail}" for error in errors),
            attempt=errors[-1].attempt,
            retry_after=min((error.retry_after for error in errors if error.retry_after is not None), default=None),
        )
        self.errors = tuple(errors)


class ModelRejected(ModelError):
    """The model's provider refuses the request as it is, or the key.

    Attributes:
        model: The model.
        detail: What its provider says; known secrets are masked.
        attempt: Which attempt this was, from 1.
        status: HTTP status of the refusal; None if the request was not even sent.
    """

    problem = "cannot be asked so"
    advice = "check its name, its options and the API key"

    def __init__(self, model: str, detail: str, *, attempt: int = 1, status: int | None = None) -> None:
        super().__init__(model, detail, attempt=attempt)
        self.status = status


class ContentRefused(ModelError):
    """The model, or a filter of its provider, does not want to answer this."""

    problem = "refuses to answer this"
    advice = "change what is asked, or ask another model"


class AnswerTooLong(ModelError):
    """The model's answer met the limit of tokens, and is not whole."""

    problem = "needs more tokens for its answer than it may have"
    advice = "raise the limit with options={'max_tokens': …}, or ask for less"


class InvalidServer(AgentError, ValueError):
    """An MCP server is described wrong.

    Attributes:
        server: Its name.
        why: What is wrong, and what to do about it.
    """

    def __init__(self, server: str, why: str) -> None:
        super().__init__(f"MCP server {server!r}: {why}")
        self.server = server
        self.why = why


class McpError(AgentError):
    """Something is wrong with an MCP server.

    Attributes:
        server: Its name.
    """

    def __init__(self, server: str, message: str) -> None:
        super().__init__(message)
        self.server = server


class McpUnavailable(McpError, ConnectionError):
    """A server cannot be reached, or not be understood. Nothing was called.

    Attributes:
        why: What was tried and has come of it, and what to do about it.
    """

    def __init__(self, server: str, why: str) -> None:
        super().__init__(server, f"MCP server {server!r} is not available: {why}")
        self.why = why


class McpCallLost(McpError, ConnectionError):
    """A server went away while a call was under way.

    Attributes:
        tool: The server's name of the tool.
    """

    def __init__(self, server: str, tool: str) -> None:
        super().__init__(
            server,
            f"the connection to MCP server {server!r} was lost while {tool} was called: "
            "it may or may not have taken effect. The next call connects anew",
        )
        self.tool = tool


class McpCallFailed(McpError):
    """A server has answered a call with an error.

    Attributes:
        tool: The server's name of the tool.
        text: What the server says.
    """

    def __init__(self, server: str, tool: str, text: str) -> None:
        super().__init__(server, text or f"{tool} failed, and the server does not say why")
        self.tool = tool
        self.text = text


class ToolClash(AgentError, ValueError):
    """Two tools have one name, and one comes from a server.

    Attributes:
        tool: The name.
        first: Where one comes from.
        second: Where the other comes from.
    """

    def __init__(self, tool: str, first: str, second: str) -> None:
        super().__init__(
            f"two tools are named {tool!r}: {first}, and {second}: "
            "give the server prefix=, or leave one out with exclude=",
        )
        self.tool = tool
        self.first = first
        self.second = second
