"""The errors of models."""

from collections.abc import Sequence

from ._root import AgentError


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
    """A model is described wrongly.

    Attributes:
        model: The model that was to be built.
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
    """A model has given no answer.

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
    """The model may answer later, or another model may. Costs a retry; the request is fine.

    Attributes:
        model: The model.
        detail: What its provider says; known secrets are masked.
        attempt: Which attempt this was, from 1.
        retry_after: Seconds to wait, as the provider says; None if it does not.
    """

    def __init__(self, model: str, detail: str, *, attempt: int = 1, retry_after: float | None = None) -> None:
        super().__init__(model, detail, attempt=attempt)
        self.retry_after = retry_after


class RateLimitReached(InfrastructureError):
    """The model was asked too often."""

    problem = "was asked too often"
    advice = "wrap it in RateLimited(model, per_minute=…), or have the limit raised"


class ModelUnavailable(InfrastructureError):
    """The model cannot be reached, or its provider failed."""

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
    """The response is not an answer of a model."""

    problem = "has sent something that is not an answer"
    advice = "check that api_base is the API of a model, and any proxy on the way"


class AllModelsFailed(InfrastructureError):
    """No model of a `Fallback` has answered.

    Attributes:
        model: All of them.
        detail: What each of them says.
        attempt: How often the last one was asked.
        retry_after: The shortest wait that one of them asks for; None if none does.
        errors: The errors of the models, in the order in which they were asked.
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
    """The model's provider refuses the request, or the key.

    Attributes:
        model: The model.
        detail: What its provider says; known secrets are masked.
        attempt: Which attempt this was, from 1.
        status: HTTP status of the refusal; None if the request was not even sent.
    """

    problem = "cannot be asked like this"
    advice = "check its name, its options and the API key"

    def __init__(self, model: str, detail: str, *, attempt: int = 1, status: int | None = None) -> None:
        super().__init__(model, detail, attempt=attempt)
        self.status = status


class ContentRefused(ModelError):
    """The model, or a filter of its provider, refuses to answer."""

    problem = "refuses to answer this"
    advice = "change what is asked, or ask another model"


class AnswerTooLong(ModelError):
    """The model's answer reached the token limit, and is incomplete."""

    problem = "needs more tokens for its answer than it may have"
    advice = "raise the limit with ModelSettings(max_tokens=…), or ask for less"


class UnsupportedTool(ModelError):
    """The model's provider does not take one of its own tools. It was not asked.

    Attributes:
        model: The model.
        detail: Which tool it is, and why it cannot be taken.
        attempt: Always 1.
        tool: Name of the tool.
        why: Why it cannot be taken, and what to do about it.
    """

    problem = "was not asked, for it does not take a tool of the request"
    advice = "leave the tool out, or ask another model"

    def __init__(self, model: str, tool: str, why: str) -> None:
        super().__init__(model, f"provider tool {tool!r}: {why}")
        self.tool = tool
        self.why = why


class UnsupportedPart(ModelError):
    """The model cannot take a picture, a sound or a file of the request. It was not asked.

    Attributes:
        model: The model.
        detail: Which part it is, and why it cannot be taken.
        attempt: Always 1.
        kind: ``"image"``, ``"audio"`` or ``"file"``.
        name: The part's name, address or digest.
        why: Why it cannot be taken, and what to do about it.
    """

    problem = "was not asked, for it cannot take all of the request"
    advice = "leave it out, or ask another model"

    def __init__(self, model: str, kind: str, name: str, why: str) -> None:
        super().__init__(model, f"the {kind} {name[:200]!r}: {why}")
        self.kind = kind
        self.name = name
        self.why = why
