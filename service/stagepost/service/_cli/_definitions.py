"""What ``--app`` names: the workflows that runs are gone on with."""

import importlib
import inspect
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from difflib import get_close_matches
from pathlib import Path

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import CheckpointStore, EncryptedStore, SqliteStore
from stagepost.workflows import Runner, Servable

from .._verbs._files import Made
from ._access import check_free, chosen, existing, owning
from ._errors import UsageError

FORMS = "a workflow or an agent, a list of them, a Runner that is not entered, or a function that makes one of these"


@dataclass(frozen=True, slots=True)
class Definitions:
    """What was loaded by ``--app``.

    Attributes:
        name: As it was given.
        found: What it names.
    """

    name: str
    found: object

    @asynccontextmanager
    async def runner(self, file: Path | None, action: str) -> AsyncIterator[Runner]:
        """A runner that owns the file for as long as a block lasts; nothing is recovered or deleted by it.

        Args:
            file: The file as it was given.
            action: What needs the runner.

        Raises:
            Refused: Another process owns the file.
            UsageError: A runner was named whose store is not the file.
        """
        made = self.made(file)
        if isinstance(made, Runner):
            check_free(existing(path_of(made, file)), action)
            async with made.store, made:
                yield made
            return
        async with owning(file, action) as store, Runner(store, workflows=made, keep_for=None, keep_keys=None) as own:
            yield own

    def made(self, file: Path | None) -> Runner | Sequence[Servable]:
        """What is named, or what the function that is named makes.

        Raises:
            UsageError: It is nothing of the kind.
        """
        found = self.found
        if not isinstance(found, Runner) and not _is_servable(found) and callable(found):
            found = self._called(found, file)
        if isinstance(found, Runner):
            return found
        if _is_servable(found):
            return (found,)  # type: ignore[return-value]  # it has been looked at
        if isinstance(found, Iterable) and not isinstance(found, str | bytes):
            workflows = tuple(found)
            if workflows and all(map(_is_servable, workflows)):
                return workflows
        raise UsageError(f"--app {self.name} gives {found!r:.80}: it is to give {FORMS}")

    def _called(self, make: Callable[..., object], file: Path | None) -> object:
        try:
            takes_store = bool(inspect.signature(make).parameters)
        except (TypeError, ValueError):
            takes_store = False
        try:
            return make(SqliteStore(chosen(file), lock_timeout=0)) if takes_store else make()
        except Exception as error:
            raise UsageError(f"--app {self.name} raised {type(error).__name__}: {error}") from error


def path_of(runner: Runner, file: Path | None) -> Path:
    """The file of a runner's store, which is to be the one that was given.

    Raises:
        UsageError: It is another one, or none.
    """
    store = in_file(runner.store)
    if store is None:
        raise UsageError(f"the runner of --app works on {type(runner.store).__name__}, and not on a file")
    if file is not None and file.resolve() != store.path.resolve():
        raise UsageError(
            f"the runner of --app works on {store.path}, and the command on {file}: give one of them, or a function "
            "that takes a store and makes the runner"
        )
    return store.path


def in_file(store: CheckpointStore) -> SqliteStore | None:
    """The store of a file that a store is, or that it encrypts; None if it is none."""
    found = store.inner if isinstance(store, EncryptedStore) else store
    return found if isinstance(found, SqliteStore) else None


def made_by(app: str | None, file: Path | None) -> Made:
    """The workflows, or a runner of them that is not entered, as ``--app`` gives them; empty if it was not given."""
    return () if app is None else load(app, "open the file").made(file)


def load(name: str | None, action: str) -> Definitions:
    """What ``--app`` names.

    Args:
        name: As it was given: ``module:name``.
        action: What needs it, for the error if nothing was given.

    Raises:
        UsageError: It cannot be loaded.
    """
    if name is None:
        raise UsageError(f"to {action}, the workflows are needed: give --app MODULE:NAME")
    return Definitions(name, named(name, "--app"))


def named(name: str, option: str) -> object:
    """What a name in a module stands for.

    Args:
        name: ``module:name``, or ``module:name.attribute``.
        option: What it was given as, for errors.

    Raises:
        UsageError: There is no such thing, or importing the module fails.
    """
    module_name, colon, path = name.partition(":")
    if not (colon and module_name and path):
        raise UsageError(f"{option} {name!r} is not of the form MODULE:NAME, such as myapp.flows:workflows")
    found: object = _module(module_name, option)
    for part in path.split("."):
        if not hasattr(found, part):
            near = get_close_matches(part, dir(found), 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise UsageError(f"{option} {name!r}: {module_name} has no {part!r}{hint}")
        found = getattr(found, part)
    return found


def _module(name: str, option: str) -> object:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise UsageError(f"{option}: there is no module {error.name!r} in {here} or where Python looks") from error
        raise UsageError(f"{option}: importing {name} failed: {error}") from error
    except Exception as error:
        raise UsageError(f"{option}: importing {name} failed with {type(error).__name__}: {error}") from error


def _is_servable(found: object) -> bool:
    return hasattr(found, "as_workflow") and not isinstance(found, type)
