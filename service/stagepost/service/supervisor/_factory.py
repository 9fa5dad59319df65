"""The factories of workers and of the supervisor that asks them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from stagepost.agents import Agent, AgentTool, Budget, Model, ModelSettings, PromptFunction, Prompts, Tool, tool

from ._agent_log import AgentLog
from ._config import WorkerConfig
from ._errors import InvalidWorker
from ._guardrails import Guardrails
from ._phrases import supervisor_prompt, tool_failed, worker_failed, worker_prompt, worker_silent
from ._tool_errors import Excuse, ToolErrors

Prompt: TypeAlias = str | PromptFunction
ToolLike: TypeAlias = Tool[..., object] | Callable[..., object]

SUPERVISOR: Final = "supervisor"
_NONE: Final[Mapping[str, Any]] = MappingProxyType({})


class WorkerFactory:
    """Makes workers of their configuration.

    Args:
        tools: The tools that workers may have: made by `tool`, or functions, which are called by their names.
        prompts: Instructions by prompt name: a registry, or texts and prompt functions. Without any in the latter, a
            worker has general ones.
        models: Models by name; a name that is missing is that of a model that litellm knows.
        hooks: Hooks of all workers, the first one outermost, inside the log.

    Raises:
        InvalidWorker: Two tools have one name.
    """

    def __init__(
        self,
        tools: Iterable[ToolLike] = (),
        *,
        prompts: Prompts | Mapping[str, Prompt] = _NONE,
        models: Mapping[str, Model] = _NONE,
        hooks: Iterable[object] = (),
    ) -> None:
        self._prompts = prompts
        self._models = models
        self._hooks = tuple(hooks)
        self._tools = _by_name(tools)

    def agent(self, config: WorkerConfig) -> Agent[str]:
        """A worker as an agent. It remembers nothing from one request to the next.

        Raises:
            InvalidWorker: It names a tool that the factory does not have.
            InvalidPrompt: The registry has no local text for its instructions.
        """
        missing = [name for name in config.tools if name not in self._tools]
        if missing:
            known = ", ".join(sorted(self._tools)) or "none"
            raise InvalidWorker(config.name, f"there is no tool {missing[0]!r}; there are: {known}")
        return Agent(
            config.name,
            self._prompt(config),
            model=self._models.get(config.model, config.model),
            tools=[self._tools[name] for name in config.tools],
            budget=Budget(turns=config.max_iterations),
            settings=ModelSettings(timeout=config.timeout),
            hooks=[AgentLog(), *self._hooks, ToolErrors({name: _excuse(self._tools[name]) for name in config.tools})],
            description=config.description,
        )

    def _prompt(self, config: WorkerConfig) -> Prompt:
        """The instructions of a worker."""
        if isinstance(self._prompts, Prompts):
            return self._prompts.use(config.prompt_name)
        return self._prompts.get(config.prompt_name, worker_prompt(config))

    def tool(self, config: WorkerConfig) -> AgentTool:
        """The tool with which a supervisor asks a worker: ``ask_<name>_agent(request: str) -> str``.

        Raises:
            InvalidWorker: The worker names a tool that the factory does not have.
        """
        return AgentTool(
            self.agent(config), name=config.tool, timeout=config.deadline, needs_approval=config.needs_approval
        )


class SupervisorFactory:
    """Makes the supervisor of some workers: an agent that asks them through tools, several at once.

    Args:
        workers: Makes the workers.
        model: The supervisor's model, or its name.
        models: Models by name, for a supervisor's model that is given by name.
        prompt: Its instructions; by default general ones that name the workers.
        tools: Tools of its own.
        hooks: Hooks of its own, the first one outermost: inside the log, and outside of what makes errors of tools
            presentable and of the guardrails.
        guardrails: Hold its answers against what the workers' tools have returned; None for none.
        timeout: Seconds that one question to its model may take.
        iterations: How often the models of the supervisor and of its workers may answer in one turn.
    """

    def __init__(
        self,
        workers: WorkerFactory,
        *,
        model: Model | str = "gpt-5-mini",
        models: Mapping[str, Model] = _NONE,
        prompt: Prompt | None = None,
        tools: Iterable[ToolLike] = (),
        hooks: Iterable[object] = (),
        guardrails: Guardrails | None = None,
        timeout: float = 30.0,
        iterations: int = 50,
    ) -> None:
        self._workers = workers
        self._model = models.get(model, model) if isinstance(model, str) else model
        self._prompt = prompt
        self._tools = _by_name(tools)
        self._hooks = tuple(hooks)
        self._guards = () if guardrails is None else (guardrails,)
        self._timeout = timeout
        self._iterations = iterations

    def create(self, configs: Sequence[WorkerConfig], *, name: str = SUPERVISOR) -> Agent[str]:
        """The supervisor of these workers.

        Args:
            configs: The workers.
            name: Its name, also that of its workflow.

        Raises:
            InvalidWorker: There is no worker, two have one name, or one names a tool that there is not.
        """
        names = [config.name for config in configs]
        if not names:
            raise InvalidWorker(name, "a supervisor needs at least one worker")
        for each in names:
            if names.count(each) > 1 or each == name:
                raise InvalidWorker(each, "two agents have this name")
        asking = {config: self._workers.tool(config) for config in configs}
        excuses = {each.name: _excuse(each) for each in self._tools.values()}
        for config, made in asking.items():
            excuses[made.name] = Excuse(made, worker_failed(config.name), worker_silent(config.name))
        return Agent(
            name,
            supervisor_prompt(tuple(configs)) if self._prompt is None else self._prompt,
            model=self._model,
            tools=[*asking.values(), *self._tools.values()],
            budget=Budget(turns=self._iterations),
            settings=ModelSettings(timeout=self._timeout),
            hooks=[AgentLog(configs), *self._hooks, ToolErrors(excuses), *self._guards],
        )


def _by_name(given: Iterable[ToolLike]) -> dict[str, Tool[..., object]]:
    """Tools by their names.

    Raises:
        InvalidWorker: Two have one name.
    """
    found: dict[str, Tool[..., object]] = {}
    for each in given:
        made = each if isinstance(each, Tool) else tool(each)
        if made.name in found:
            raise InvalidWorker(made.name, "two tools have this name")
        found[made.name] = made
    return found


def _excuse(made: Tool[..., object]) -> Excuse:
    return Excuse(made, tool_failed(made.name.replace("_", " ")))
