"""Dataclasses whose `__init__` is compiled late behave as those of the standard library."""

import ast
import dataclasses
import threading
from pathlib import Path
from typing import ClassVar

import pytest

from handrail.core.deferred_dataclass import dataclass

SOURCE = Path(__file__).resolve().parents[2] / "src" / "handrail"


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 2
    tags: list[str] = dataclasses.field(default_factory=list, compare=False)
    secret: str = dataclasses.field(default="s", repr=False)


@dataclass(frozen=True, slots=True)
class Base:
    kind: ClassVar[str] = "base"
    name: str

    @property
    def shouted(self) -> str:
        return self.name.upper()


@dataclass(frozen=True, slots=True)
class Named(Base):
    kind: ClassVar[str] = "named"
    size: int = 0


@dataclass(slots=True)
class Counter:
    count: int = 0

    def __post_init__(self) -> None:
        self.count += 1


@dataclass(frozen=True, eq=False)
class Open:
    value: int = 1


def test_arguments_are_given_by_position_by_name_or_by_default():
    assert (Point(1).x, Point(1).y, Point(1, y=5).y) == (1, 2, 5)
    assert Point(1).tags is not Point(1).tags
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        Point()
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        Point(1, z=1)


def test_frozen_instances_have_no_other_attributes_and_cannot_be_changed():
    point = Point(1)

    for change in (lambda: setattr(point, "x", 2), lambda: delattr(point, "x")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            change()
    assert not hasattr(point, "__dict__")


def test_equality_and_hash_follow_the_compared_fields():
    assert Point(1, tags=["a"]) == Point(1)
    assert hash(Point(1, tags=["a"])) == hash(Point(1))
    assert Point(1) != Point(2)
    assert Point(1) != (1, 2, "s")
    assert Open() != Open()
    with pytest.raises(TypeError, match="unhashable"):
        hash(Counter())


def test_a_subclass_has_the_fields_of_its_base():
    named = Named("a", 3)

    assert (named.shouted, named.size, named.kind) == ("A", 3, "named")
    assert repr(named) == "Named(name='a', size=3)"
    assert repr(Point(1)) == "Point(x=1, y=2, tags=[])"


def test_the_functions_of_the_standard_library_work_before_and_after_an_instance():
    assert [one.name for one in dataclasses.fields(Named)] == ["name", "size"]
    assert dataclasses.is_dataclass(Open)
    assert dataclasses.replace(Point(1), y=7) == Point(1, 7)
    assert dataclasses.asdict(Named("a")) == {"name": "a", "size": 0}


def test_post_init_runs():
    assert Counter(3).count == 4


@dataclass(frozen=True, slots=True)
class Derived:
    given: int
    optional: int = 1
    twice: int = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "twice", 2 * self.given)


def test_a_field_that_is_no_argument_is_set_afterwards():
    assert Derived(2).twice == 4
    assert Derived(2, 3) == Derived(2, optional=3)


def test_positional_patterns_match():
    match Point(1, 5):
        case Point(x, y):
            assert (x, y) == (1, 5)


def test_threads_that_make_the_first_instance_together_all_get_one():
    @dataclass(frozen=True, slots=True)
    class Fresh:
        a: int
        b: int = 2

    start, made = threading.Barrier(8), []

    def make() -> None:
        start.wait(10)
        made.append(Fresh(1))

    threads = [threading.Thread(target=make) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(10)

    assert made == [Fresh(1)] * 8


def test_the_package_uses_no_other_dataclass():
    others = [
        path.relative_to(SOURCE).as_posix()
        for path in sorted(SOURCE.rglob("*.py"))
        if path.name != "deferred_dataclass.py"
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom)
        and node.module == "dataclasses"
        and any(one.name == "dataclass" for one in node.names)
    ]

    assert others == []
