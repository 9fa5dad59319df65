"""What all servers share that keep a provider's rules: requests, refusals, rules, and what a model is told to say.

A provider is a value: functions that read, check and answer requests in its form, and how litellm is pointed at it. A
rule is a function of a request that raises `Refused`; its docstring is the rule, and what stands after ``Source:`` says
where it is documented or was observed. Rules are pure: what a server needs to know of its earlier answers stands in
these answers (`signed`), so that any process may check any request.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from inspect import getdoc
from typing import Any, Final, Literal, TypeAlias

Json: TypeAlias = dict[str, Any]

_SOURCE: Final = re.compile(r"\bSource:\s*")


@dataclass(frozen=True, slots=True)
class Request:
    """What a provider is asked.

    Attributes:
        path: Where to, below the address of the API.
        body: Its JSON.
        headers: Its headers, the names in small letters.
    """

    path: str
    body: Json
    headers: Mapping[str, str] = field(default_factory=dict)


class Refused(Exception):
    """What a provider answers with status 400.

    Args:
        message: What is wrong, as far as possible in the provider's own words.
        code: The provider's name for it.
        param: What in the request is wrong.
        status: HTTP status.
    """

    def __init__(self, message: str, *, code: str | None = None, param: str | None = None, status: int = 400) -> None:
        self.message = message
        self.code = code
        self.param = param
        self.status = status
        self.rule = ""  # name of the rule, once `check` has found it
        super().__init__(message)


Rule: TypeAlias = Callable[[Request], None]
"""One rule of a provider."""


@dataclass(frozen=True, slots=True)
class Proof:
    """That a rule can refuse, and does not refuse what is right.

    Attributes:
        rule: The rule.
        bad: The body of a request that breaks this rule, and none before it.
        good: A body that differs in nothing but that, and is taken.
        path: Where to, below the server's address; empty for the provider's usual path.
        bad_headers: Headers of the bad request, for rules about headers.
        good_headers: Headers of the good one.
    """

    rule: Rule
    bad: Json
    good: Json
    path: str = ""
    bad_headers: Mapping[str, str] = field(default_factory=dict)
    good_headers: Mapping[str, str] = field(default_factory=dict)


def check(rules: Sequence[Rule], request: Request) -> None:
    """Hold a request against rules, in their order.

    Raises:
        Refused: By the first rule that it breaks, whose name the error carries.
    """
    for rule in rules:
        try:
            rule(request)
        except Refused as refused:
            refused.rule = name(rule)
            raise


def name(rule: Rule) -> str:
    """A rule's name."""
    return rule.__name__


def sentence(rule: Rule) -> str:
    """What a rule says, on one line."""
    return _parts(rule)[0]


def source(rule: Rule) -> str:
    """Where a rule is documented, or was observed, on one line."""
    return _parts(rule)[1]


def _parts(rule: Rule) -> tuple[str, str]:
    said, *from_where = _SOURCE.split(getdoc(rule) or "", maxsplit=1)
    return " ".join(said.split()), " ".join(" ".join(from_where).split())


# What a model is told to say.


@dataclass(frozen=True, slots=True)
class Call:
    """A tool that the model wants to be called.

    Attributes:
        name: The tool's name, however odd.
        arguments: What the model writes as arguments: a mapping, or a text that may be no JSON. Providers whose
            arguments are an object get an empty one where the text is no object.
        id: The call's id; None for one in the provider's own form.
    """

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Thought:
    """A block of thinking.

    Attributes:
        text: What the model thinks.
        redacted: Whether the provider shows it only in encrypted form, where it has such a thing.
    """

    text: str
    redacted: bool = False


@dataclass(frozen=True, slots=True)
class Used:
    """What an answer has used.

    Attributes:
        input: Tokens read, the cached ones included.
        output: Tokens written, those of thinking included.
        cached: Tokens read from a cache.
        reasoning: Tokens of thinking.
    """

    input: int = 10
    output: int = 5
    cached: int = 0
    reasoning: int = 0


@dataclass(frozen=True, slots=True)
class Search:
    """A search of the web by the provider itself.

    Attributes:
        query: What is searched for.
        waits: Whether its result comes with a later answer, where the provider has such a thing.
    """

    query: str
    waits: bool = False


Stop: TypeAlias = Literal["end", "calls", "length", "filter", "pause"]


@dataclass(frozen=True, slots=True)
class Says:
    """One answer of the model.

    Attributes:
        text: The text.
        calls: Tools that it wants to be called.
        thinking: What it has thought before, in the order of the blocks; only for models that are told to think.
        refusal: Why it does not want to answer, where the provider tells that apart from a text; else it is the text.
        stop: Why the answer ends; None for what fits: "calls" with calls, "end" without.
        usage: What it has used.
        searches: Searches of the provider's own, after the thinking and before the text, if it is told to search.
        late: Queries of searches of earlier answers whose results come now.
    """

    text: str = ""
    calls: Sequence[Call] = ()
    thinking: Sequence[Thought] = ()
    refusal: str = ""
    stop: Stop | None = None
    usage: Used = field(default_factory=Used)
    searches: Sequence[Search] = ()
    late: Sequence[str] = ()

    @property
    def ends(self) -> Stop:
        """Why the answer ends."""
        return self.stop or ("calls" if self.calls else "end")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request says, in the words of no provider: for scripts, which choose their answer by it.

    Attributes:
        system: The system prompt.
        texts: All texts of users, in order.
        results: All texts of results of tools, in order.
        tools: Names of the tools that may be called.
        schemas: The parameters of each of them.
        failed: Whether each result is flagged as an error, where the provider has such a flag.
        thoughts: All thinking that has come back, in order.
        images: Images that stand in it, wherever: their data in base64, or their addresses.
        searches: Queries of the provider's own searches that have come back, in order.
    """

    system: str = ""
    texts: Sequence[str] = ()
    results: Sequence[str] = ()
    tools: Sequence[str] = ()
    schemas: Mapping[str, Json] = field(default_factory=dict)
    failed: Sequence[bool] = ()
    thoughts: Sequence[str] = ()
    images: Sequence[str] = ()
    searches: Sequence[str] = ()


Answer: TypeAlias = Says | Call | Sequence[Call] | str
Entry: TypeAlias = Answer | Callable[[Asked], Answer]
"""What a script is made of: an answer, what makes one up, or a function of what is asked."""


def says(entry: Entry, asked: Asked) -> Says:
    """An entry of a script as the answer that it means."""
    if callable(entry):
        return says(entry(asked), asked)
    if isinstance(entry, Says):
        return entry
    if isinstance(entry, str):
        return Says(entry)
    return Says(calls=(entry,) if isinstance(entry, Call) else tuple(entry))


def signed(text: str) -> str:
    """The signature of a text that only the provider can have made, as far as a server of tests is concerned."""
    return "sig" + sha256(text.encode()).hexdigest()


# How a provider is described.


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes back over the wire.

    Attributes:
        chunks: The body, whole, or the events of a stream one by one.
        type: Its media type.
        streamed: Whether the chunks are to be sent one by one.
    """

    chunks: Sequence[bytes]
    type: str = "application/json"
    streamed: bool = False


@dataclass(frozen=True, slots=True)
class Setting:
    """How litellm is pointed at a provider.

    Attributes:
        model: The model, in litellm's words.
        base: What comes after the server's address to make ``api_base``: "/v1".
        options: What else the model is told.
        environ: Variables of the environment that have to be set meanwhile.
    """

    model: str
    base: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict)


Taking: TypeAlias = Literal["image", "image in result", "error flag", "pdf", "refusal", "thinking"]
"""What a provider takes in requests, or says in answers: a refusal, in a field of its own.

"thinking" is for those that take thinking back and whose ``read`` tells what has come back.
"""


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider of models.

    Attributes:
        name: Its name, as tests show it: "openai-chat".
        title: Its heading in docs/providers.md.
        path: What paths of requests look like, below the server's address; others get 404.
        usual: A path that fits, for requests that are written by hand.
        setting: A model without thinking.
        thinking: A model that thinks; None if this provider has none.
        rules: Its rules, in the order in which they are checked: the form of parts before how the parts fit.
        proofs: That each rule can refuse, at least one for each.
        read: What a request says.
        reply: An answer to a request that has passed; the number tells it apart from all others of the server.
        problem: The body of an error.
        takes: What it takes that others do not.
    """

    name: str
    title: str
    path: re.Pattern[str]
    usual: str
    setting: Setting
    rules: Sequence[Rule]
    proofs: Sequence[Proof]
    read: Callable[[Request], Asked]
    reply: Callable[[Request, Says, int], Reply]
    problem: Callable[[Refused], Json]
    thinking: Setting | None = None
    takes: frozenset[Taking] = frozenset()


# Helpers for rules and replies in several forms.


def pieces(text: str, size: int = 8) -> Iterator[str]:
    """A text in the pieces in which a stream brings it."""
    for start in range(0, len(text), size):
        yield text[start : start + size]
