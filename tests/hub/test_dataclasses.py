"""Our `dataclass` is the standard library's, but later."""

import copy
import dataclasses
import inspect
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Hashable
from dataclasses import FrozenInstanceError, field, fields, replace
from pathlib import Path
from threading import Barrier, Thread
from typing import ClassVar, Generic, TypeVar

import pytest
from pydantic import TypeAdapter

from stagepost._dataclasses import dataclass

T = TypeVar("T")
ROOT = Path(__file__).parents[2]
LAYERS = ("hub", "checkpoint", "workflows", "agents", "service")
GENERATED = ("__init__", "__repr__", "__eq__", "__hash__", "__dataclass_fields__")


@dataclass(frozen=True, slots=True)
class Point(Generic[T]):
    """A place, with something at it."""

    kind: ClassVar[str] = "point"

    x: int
    y: int = 0
    at: T | None = field(default=None, compare=False)

    @property
    def sum(self) -> int:
        return self.x + self.y


@dataclass(frozen=True, slots=True)
class High(Point[str]):
    z: int = field(default=1, kw_only=True)


@dataclass(slots=True)
class Changing:
    x: int = 0


def shapes(dataclass: Callable[..., Callable[[type], type]]) -> dict[str, type]:
    """Classes as they may be written, each with what is special about it."""

    @dataclass(frozen=True, slots=True)
    class Plain:
        a: int
        b: list[int] = field(default_factory=list)

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Inheriting(Plain):
        """With a docstring."""

        a: int = 5
        c: str = "c"

    @dataclass(slots=True)
    class Mutable:
        a: int = 1

        def __post_init__(self) -> None:
            self.a += 1

    @dataclass(frozen=True, slots=True, repr=False, eq=False)
    class Bare:
        a: int

    @dataclass(frozen=True, slots=True, init=False)
    class OwnInit:
        a: int

        def __init__(self) -> None:
            object.__setattr__(self, "a", 7)

    @dataclass(frozen=True, slots=True)
    class OwnMethods:
        a: int

        def __repr__(self) -> str:
            return "own"

        def __hash__(self) -> int:
            return 42

    @dataclass(frozen=True, slots=True)
    class OwnEquality:  # noqa: PLW1641  # dataclasses adds the hash
        a: int

        def __eq__(self, other: object) -> bool:
            return True

    @dataclass(frozen=True)
    class NoSlots:
        a: int

    @dataclass(frozen=True, slots=True, order=True)
    class Ordered:
        a: int

    made = (Plain, Inheriting, Mutable, Bare, OwnInit, OwnMethods, OwnEquality, NoSlots, Ordered)
    return {each.__name__: each for each in made}


STANDARD = shapes(dataclasses.dataclass)
OURS = shapes(dataclass)


def is_hashable(cls: type) -> bool:
    return issubclass(cls, Hashable)


@pytest.mark.parametrize("name", STANDARD)
def test_a_class_is_what_the_standard_library_makes(name: str) -> None:
    standard, ours = STANDARD[name], OURS[name]
    assert is_hashable(ours) is is_hashable(standard)  # before anything else is asked for
    assert inspect.signature(ours) == inspect.signature(standard)
    assert [repr(each) for each in fields(ours)] == [repr(each) for each in fields(standard)]
    assert ours.__match_args__ == standard.__match_args__  # type: ignore[attr-defined]  # added by dataclasses
    assert getattr(ours, "__slots__", None) == getattr(standard, "__slots__", None)
    assert vars(ours).keys() ^ vars(standard).keys() <= {"__dict__", "__weakref__"}
    given = () if name == "OwnInit" else (3,) if name != "Inheriting" else ()
    one, other = ours(*given), ours(*given)
    if name != "Bare":  # which shows its address
        assert repr(one) == repr(standard(*given))
    assert (one == other) is (standard(*given) == standard(*given))
    if is_hashable(standard) and "list" not in repr(fields(ours)) and name != "Bare":
        assert hash(one) == hash(standard(*given))


@pytest.mark.parametrize(
    "use",
    [
        pytest.param(lambda cls: cls(1), id="an instance"),
        pytest.param(fields, id="its fields"),
        pytest.param(inspect.signature, id="its signature"),
        pytest.param(lambda cls: cls.__match_args__, id="its positions"),
        pytest.param(lambda cls: TypeAdapter(cls).validate_python({"x": 1}), id="validation"),
        pytest.param(lambda cls: cls.__hash__, id="its hash"),
        pytest.param(lambda cls: dataclasses.dataclass(frozen=True)(type("Sub", (cls,), {})), id="a subclass"),
    ],
)
def test_the_first_use_completes_a_class(use: Callable[[type], object]) -> None:
    @dataclass(frozen=True, slots=True)
    class Fresh:
        x: int
        y: int = 0

    assert {type(vars(Fresh)[name]).__name__ for name in GENERATED} == {"_Later"}
    use(Fresh)
    assert "_Later" not in {type(each).__name__ for each in vars(Fresh).values()}
    assert Fresh(1) == Fresh(1, 0)


def test_a_method_of_a_base_is_reached_through_super() -> None:
    @dataclass(slots=True)
    class Base:
        x: int

    class Sub(Base):
        def __init__(self) -> None:
            super().__init__(3)

    assert Sub().x == 3


def test_a_frozen_instance_refuses_changes() -> None:
    point = Point(1, at="here")
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 2  # type: ignore[misc]  # what is refused
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'other'"):
        point.other = 2  # type: ignore[attr-defined]  # what is refused
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del point.x


def test_a_subclass_that_is_no_dataclass_has_attributes_of_its_own() -> None:
    class Marked(Point[int]):
        pass

    marked = Marked(1)
    marked.mark = 5  # type: ignore[attr-defined]  # an attribute of its own
    assert marked.mark == 5  # type: ignore[attr-defined]  # an attribute of its own
    del marked.mark  # type: ignore[attr-defined]  # an attribute of its own
    with pytest.raises(FrozenInstanceError):
        marked.x = 2  # type: ignore[misc]  # what is refused


def test_an_instance_can_be_changed_where_it_is_not_frozen() -> None:
    changing = Changing()
    changing.x = 5
    assert changing == Changing(5)
    assert not hasattr(changing, "__dict__")


def test_an_instance_is_matched_replaced_copied_and_pickled() -> None:
    high = High(1, 2, "here", z=3)
    match high:
        case High(x, y, z=z):
            assert (x, y, z) == (1, 2, 3)
    assert replace(high, x=5) == High(5, 2, "here", z=3)
    assert dataclasses.asdict(high) == {"x": 1, "y": 2, "at": "here", "z": 3}
    assert copy.deepcopy(high) == high
    assert pickle.loads(pickle.dumps(high)) == high  # noqa: S301  # our own
    assert (high.sum, high.kind, Point.__doc__) == (3, "point", "A place, with something at it.")


def test_threads_may_need_a_class_at_the_same_time() -> None:
    for _ in range(20):

        @dataclass(frozen=True, slots=True)
        class Wanted:
            x: int

        together, made = Barrier(4), list[Wanted]()

        def want(cls: type[Wanted] = Wanted, together: Barrier = together, made: list[Wanted] = made) -> None:
            together.wait()
            made.append(cls(1))

        threads = [Thread(target=want) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert made == [Wanted(1)] * 4


def test_who_found_the_descriptor_before_another_thread_completed_the_class_gets_the_method() -> None:
    @dataclass(frozen=True, slots=True)
    class Wanted:
        x: int

    found = vars(Wanted)["__repr__"]
    wanted = Wanted(1)
    assert found.__get__(wanted, Wanted)() == repr(wanted)


def test_a_class_that_cannot_be_a_dataclass_says_so_when_it_is_used() -> None:
    @dataclass(frozen=True, slots=True)
    class Wrong:
        x: int = 0
        y: int  # type: ignore[misc]  # what is refused

    for _ in range(2):
        with pytest.raises(TypeError, match="non-default argument 'y' follows default argument"):
            Wrong(1, 2)


EACH = """
import dataclasses, importlib, pkgutil, stagepost
modules = [importlib.import_module(found.name) for found in pkgutil.walk_packages(stagepost.__path__, "stagepost.")]
found = {each for module in modules for each in vars(module).values() if isinstance(each, type)}
ours = [each for each in found if each.__module__.startswith("stagepost") and "__dataclass_fields__" in vars(each)]
print(sum(bool(dataclasses.fields(each)) for each in ours))
"""


def test_each_dataclass_of_ours_can_be_completed() -> None:
    done = subprocess.run([sys.executable, "-c", EACH], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 100


def test_all_layers_have_their_dataclasses_compiled_later() -> None:
    standard = re.compile(r"^\s*(from dataclasses import .*\bdataclass\b|import dataclasses)", re.MULTILINE)
    modules = [
        module for layer in LAYERS for module in (ROOT / layer).rglob("*.py") if "_dataclasses" not in module.parts
    ]
    assert [str(module) for module in modules if standard.search(module.read_text())] == []
