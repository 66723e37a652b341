"""Paths in arguments: where they are found, how they are replaced, and which types are refused."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NewType

import pytest
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    RootModel,
    SkipValidation,
    WrapValidator,
    create_model,
)
from typing_extensions import TypedDict

from handrail.core.arguments.nodes import MAX_PATHS, PathLeaf, PathValues, SlotsNode
from handrail.core.arguments.path_arguments import read_path_arguments
from handrail.core.paths import PathUse, ReadPath, TreePath, WritePath
from handrail.core.problems import ProblemRaised


class Place(BaseModel):
    where: ReadPath
    note: str = ""


class Dashed(BaseModel):
    where: ReadPath = Field(alias="to-where")


class Tree(BaseModel):
    where: WritePath
    inner: list["Tree"] = []


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, ReadPath]
    first: int = 0


class Places(RootModel[list[ReadPath]]):
    pass


class Cat(BaseModel):
    kind: Literal["cat"]
    cat: ReadPath


class Dog(BaseModel):
    kind: Literal["dog"]
    dog: WritePath


@dataclasses.dataclass
class Pair:
    one: ReadPath
    two: str


class Keyed(TypedDict, total=False):
    at: WritePath
    note: str


UserPath = NewType("UserPath", ReadPath)


def read(annotation, default=...):
    return read_path_arguments(create_model("M", p=(annotation, default)))


def found_in(annotation, value):
    """The nested paths of a call as (name, given, uses)."""
    model = create_model("M", p=(annotation, ...))
    args = model.model_validate({"p": value})
    return {
        one.name: (one.given, "".join(use.value[0] for use in one.uses))
        for one in read_path_arguments(model).collect(args)
    }


@pytest.mark.parametrize(
    ("annotation", "use"),
    [
        (ReadPath, PathUse.READ),
        (WritePath, PathUse.WRITE),
        (TreePath, PathUse.TREE),
        (ReadPath | None, PathUse.READ),
        (Annotated[ReadPath, Field(max_length=9)], PathUse.READ),
        (Annotated[ReadPath, AfterValidator(str.strip)], PathUse.READ),
        (Annotated[ReadPath, BeforeValidator(str)], PathUse.READ),
        (Annotated[Literal["a", "b"], PathUse.READ], PathUse.READ),
        (Annotated[str | None, PathUse.WRITE], PathUse.WRITE),
        (UserPath, PathUse.READ),
    ],
)
def test_an_argument_that_is_a_path_is_direct(annotation, use):
    found = read(annotation)

    assert found.direct == (("p", use),)
    assert found.nested is None
    assert found.uses == {use}


def test_arguments_without_paths_have_none():
    found = read_path_arguments(create_model("M", a=(str, ...), b=(list[int], []), c=(Any, None)))

    assert (found.direct, found.nested, found.uses) == ((), None, frozenset())
    assert list(found.collect(create_model("N")())) == []


@pytest.mark.parametrize(
    ("annotation", "value", "expected"),
    [
        (list[ReadPath], ["a", "b"], {"p[0]": ("a", "r"), "p[1]": ("b", "r")}),
        (list[ReadPath], [], {}),
        (tuple[ReadPath, ...], ("a",), {"p[0]": ("a", "r")}),
        (tuple[int, WritePath], (1, "b"), {"p[1]": ("b", "w")}),
        (dict[str, ReadPath], {"k": "a"}, {"p['k']": ("a", "r")}),
        (dict[str, list[ReadPath]], {"k": ["a"]}, {"p['k'][0]": ("a", "r")}),
        (Place, {"where": "a"}, {"p.where": ("a", "r")}),
        (Dashed, {"to-where": "a"}, {"p['to-where']": ("a", "r")}),
        (list[Place], [{"where": "a"}], {"p[0].where": ("a", "r")}),
        (Place | None, None, {}),
        (list[ReadPath] | None, None, {}),
        (list[ReadPath | None], ["a", None], {"p[0]": ("a", "r")}),
        (Pair, {"one": "a", "two": "b"}, {"p.one": ("a", "r")}),
        (Keyed, {"at": "a", "note": "x"}, {"p['at']": ("a", "w")}),
        (Keyed, {"note": "x"}, {}),
        (Places, ["a"], {"p[0]": ("a", "r")}),
        (Open, {"x": "a", "y-z": "b"}, {"p['x']": ("a", "r"), "p['y-z']": ("b", "r")}),
        (
            Tree,
            {"where": "a", "inner": [{"where": "b"}]},
            {"p.where": ("a", "w"), "p.inner[0].where": ("b", "w")},
        ),
        (ReadPath | int, 5, {}),
        (ReadPath | int, "a", {"p": ("a", "r")}),
        (list[ReadPath] | ReadPath, "a", {"p": ("a", "r")}),
        (list[ReadPath] | ReadPath, ["a"], {"p[0]": ("a", "r")}),
        (ReadPath | WritePath, "a", {"p": ("a", "rw")}),
        (Annotated[ReadPath, PathUse.WRITE], "a", {"p": ("a", "rw")}),
        (
            Annotated[Cat | Dog, Field(discriminator="kind")],
            {"kind": "dog", "dog": "a"},
            {"p.dog": ("a", "w")},
        ),
        (Annotated[list[ReadPath], AfterValidator(list)], ["a"], {"p[0]": ("a", "r")}),
        (Annotated[list[ReadPath], WrapValidator(lambda v, h: h(v))], ["a"], {"p[0]": ("a", "r")}),
        (list[ReadPath] | list[WritePath], ["a"], {"p[0]": ("a", "rw")}),
        (list[ReadPath] | tuple[int, WritePath], (1, "b"), {"p[1]": ("b", "w")}),
    ],
)
def test_paths_inside_of_arguments_are_found_by_name(annotation, value, expected):
    assert found_in(annotation, value) == expected


@pytest.mark.parametrize(
    ("annotation", "value", "paths", "expected"),
    [
        (list[ReadPath], ["a", "b"], {"p[1]": "/b"}, ["a", "/b"]),
        (tuple[ReadPath, ...], ("a",), {"p[0]": "/a"}, ("/a",)),
        (tuple[int, WritePath], (1, "b"), {"p[1]": "/b"}, (1, "/b")),
        (dict[str, ReadPath], {"k": "a"}, {"p['k']": "/a"}, {"k": "/a"}),
        (Keyed, {"at": "a", "note": "x"}, {"p['at']": "/a"}, {"at": "/a", "note": "x"}),
        (Keyed, {"note": "x"}, {"p['at']": "/a"}, {"note": "x"}),
        (Place, {"where": "a", "note": "n"}, {"p.where": "/a"}, Place(where="/a", note="n")),
        (Pair, {"one": "a", "two": "b"}, {"p.one": "/a"}, Pair("/a", "b")),
        (Places, ["a"], {"p[0]": "/a"}, Places(["/a"])),
        (Open, {"first": 1, "x": "a"}, {"p['x']": "/a"}, Open(first=1, x="/a")),
        (list[ReadPath] | None, None, {}, None),
        (ReadPath | int, 5, {"p": "/a"}, 5),
        (list[ReadPath] | ReadPath, "a", {"p": "/a"}, "/a"),
        (
            Tree,
            {"where": "a", "inner": [{"where": "b"}]},
            {"p.inner[0].where": "/b"},
            Tree(where="a", inner=[Tree(where="/b")]),
        ),
    ],
)
def test_paths_are_replaced_and_the_rest_stays(annotation, value, paths, expected):
    model = create_model("M", p=(annotation, ...))
    args = model.model_validate({"p": value})
    before = args.model_dump()

    resolved = read_path_arguments(model).resolved(args, paths)

    assert resolved == {"p": expected}
    assert type(resolved["p"]) is type(expected)
    assert args.model_dump() == before


def test_direct_paths_are_replaced_if_they_are_known():
    model = create_model("M", a=(ReadPath, ...), b=(WritePath, "x"), c=(list[ReadPath], []))
    args = model.model_validate({"a": "1", "c": ["2"]})
    found = read_path_arguments(model)

    assert found.resolved(args, {"a": "/1", "c[0]": "/2"}) == {"a": "/1", "c": ["/2"]}
    assert found.uses == {PathUse.READ, PathUse.WRITE}


@pytest.mark.parametrize(
    "annotation",
    [
        set[ReadPath],
        frozenset[ReadPath],
        dict[ReadPath, int],
        Annotated[list[str], PathUse.READ],
        Annotated[int, PathUse.READ],
        Annotated[str | int, PathUse.READ],
        Annotated[Literal["a", 1], PathUse.READ],
        Path,
        list[Path],
        Path | None,
        Annotated[ReadPath, PlainValidator(str)],
        SkipValidation[ReadPath],
        list[SkipValidation[ReadPath]],
        Annotated[list[ReadPath], PlainValidator(list)],
        tuple[ReadPath, SkipValidation[ReadPath]],
        dict[str, ReadPath | Annotated[WritePath, PlainValidator(str)]],
    ],
)
def test_a_path_that_would_not_be_found_is_refused_by_the_name_of_its_argument(annotation):
    with pytest.raises(TypeError, match="p"):
        read(annotation)


def test_a_path_has_one_name():
    class Both(BaseModel):
        model_config = ConfigDict(populate_by_name=True)
        where: ReadPath = Field(alias="to")

    class Several(BaseModel):
        where: ReadPath = Field(validation_alias="a")

    class Chosen(BaseModel):
        where: list[ReadPath] = Field(alias="b")

    with pytest.raises(TypeError, match="where"):
        read(Both)
    assert found_in(Several, {"a": "x"}) == {"p.a": ("x", "r")}
    assert found_in(Chosen, {"b": ["x"]}) == {"p.b[0]": ("x", "r")}


@pytest.mark.parametrize("annotation", [type[Place], Callable[[ReadPath], int]])
def test_types_whose_values_no_call_contains_may_name_paths(annotation):
    class Given(BaseModel):
        p: annotation | None = None

    assert read_path_arguments(Given).direct == ()


def test_a_root_model_has_no_arguments():
    with pytest.raises(TypeError, match="root model"):
        read_path_arguments(Places)


def test_a_named_tuple_with_a_path_is_refused():
    class Named(NamedTuple):
        where: ReadPath

    with pytest.raises(TypeError, match="p"):
        read(Named)


def test_a_default_without_the_promised_shape_is_an_error():
    model = create_model("M", p=(list[ReadPath], 5))

    with pytest.raises(TypeError, match=r"p.*int"):
        list(read_path_arguments(model).collect(model()))


def test_an_instance_of_a_subclass_is_an_error_as_it_may_have_more_paths():
    class More(Place):
        also: ReadPath = "x"

    model = create_model("M", p=(Place, ...))

    with pytest.raises(TypeError, match="More"):
        list(read_path_arguments(model).collect(model(p=More(where="a"))))


def test_an_unknown_value_of_a_union_is_an_error():
    model = create_model("M", p=(ReadPath | int, object()), q=(ReadPath | list[WritePath], 5))
    found = read_path_arguments(model)

    with pytest.raises(TypeError):
        list(found.collect(model(q="a")))
    with pytest.raises(TypeError):
        list(found.collect(model(p=1)))
    assert next(iter(found.collect(model(p=1, q=["a"])))).name == "q[0]"


def test_the_number_of_paths_is_limited():
    model = create_model("M", p=(list[ReadPath], ...))
    found = read_path_arguments(model)

    assert len(list(found.collect(model(p=["a"] * MAX_PATHS)))) == MAX_PATHS
    with pytest.raises(ProblemRaised) as raised:
        found.collect(model(p=["a"] * (MAX_PATHS + 1)))
    assert raised.value.problem.code == "too_large"


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ((1, "c"), ["p[1]"]),
        ((1, "a", "c"), ["p[1]", "p[2]"]),
        ([1, "a", "b", "c"], ["p[1]", "p[2]", "p[3]"]),
    ],
)
def test_a_position_that_repeats_takes_as_many_items_as_there_are(value, names):
    leaf, last = PathLeaf((PathUse.READ,)), PathLeaf((PathUse.WRITE,))
    node, found = SlotsNode((None, leaf, last), 1), PathValues()

    assert node.fits(value)
    node.collect(value, "p", found)

    assert [one.name for one in found] == names
    assert list(found)[-1].uses == (PathUse.WRITE,)
    assert node.rebuild(value, "p", {names[-1]: "/c"}) == type(value)([*value[:-1], "/c"])


@pytest.mark.parametrize(
    ("variadic", "value", "fits"),
    [
        (None, (1, 2), True),
        (None, (1,), False),
        (None, (1, 2, 3), False),
        (0, (1,), True),
        (0, (), False),
        (0, (1, 2, 3), True),
        (0, "ab", False),
        (None, {1: 2, 3: 4}, False),
    ],
)
def test_which_values_fit_the_positions_of_a_tuple(variadic, value, fits):
    leaf = PathLeaf((PathUse.READ,))

    assert SlotsNode((leaf, leaf), variadic).fits(value) is fits


def test_a_value_in_which_no_alternative_finds_paths_is_an_error():
    model = create_model("M", p=(list[ReadPath] | list[WritePath], [5]))
    some = create_model("M", p=(list[ReadPath] | list[Place], ["a"]))

    with pytest.raises(TypeError):
        list(read_path_arguments(model).collect(model()))
    assert [one.name for one in read_path_arguments(some).collect(some())] == ["p[0]"]
