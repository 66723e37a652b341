"""Typed functions as tools."""

import dataclasses
import datetime
import inspect
import threading
from collections.abc import AsyncIterator, Iterator
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import anyio
import pytest
from pydantic import BaseModel, Field, ValidationError
from tests.support.waiting import wait_until_async

from handrail.core.arguments.path_arguments import read_path_arguments
from handrail.core.arguments.schema import json_schema
from handrail.core.call import ToolCall
from handrail.core.context import CancelSignal, ReadStates, Session, ToolContext
from handrail.core.footprint import NOTHING, OPEN_ENDED
from handrail.core.paths import PathUse, ReadPath, TreePath, WritePath
from handrail.core.places import Kind, Place
from handrail.core.problems import ProblemRaised
from handrail.core.results import Output
from handrail.core.tool import Group, Tool
from handrail.core.verdicts import Risk
from handrail.engine.function_tool import FunctionTool, tool
from handrail.engine.prepare.coerce import coerce


def context(**places: str) -> ToolContext:
    """A context in which each named argument was resolved to this absolute path."""
    nowhere: Any = None
    return ToolContext(
        call=ToolCall("1", "t", {}),
        session=Session("s", ("/w",), "default", ReadStates(), nowhere),
        report=lambda _text: None,
        signal=CancelSignal(),
        places={
            name: Place(0, path.removeprefix("/w/"), path, path, Kind.FILE)
            for name, path in places.items()
        },
    )


async def run(made: Tool[Any], arguments: dict[str, Any], **places: str) -> Output:
    return await made.run(made.params.model_validate(arguments), context(**places))


@tool
def word_count(path: ReadPath, least: int = 1, unit: Literal["w", "c"] = "w") -> str:
    """Count the words of a file.

    Words are what blanks separate.

    Args:
        path: The file to look at,
            wherever it is.
        least (int): Shortest word that counts.

    Returns:
        The number.
    """
    return f"{path} {least} {unit}"


# --- what it becomes ----------------------------------------------------------------------


@pytest.mark.feature("A04")
def test_a_function_becomes_a_tool_that_says_what_its_docstring_says():
    assert isinstance(word_count, Tool)
    assert (word_count.name, word_count.group, word_count.idempotent) == (
        "word_count",
        Group.META,
        False,
    )
    assert word_count.summary == "Count the words of a file.\n\nWords are what blanks separate."
    assert json_schema(word_count.params) == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file to look at, wherever it is."},
            "least": {
                "type": "integer",
                "default": 1,
                "description": "Shortest word that counts.",
            },
            "unit": {"type": "string", "enum": ["w", "c"], "default": "w"},
        },
        "required": ["path"],
        "additionalProperties": False,
    }


def test_it_is_still_the_function():
    assert word_count("a", unit="c") == "a 1 c"
    assert inspect.signature(word_count).parameters.keys() == {"path", "least", "unit"}
    assert word_count.__doc__.startswith("Count the words")


def test_options_are_taken_over():
    @tool(
        name="shout",
        risk=Risk.DANGEROUS,
        idempotent=True,
        group="exec",
        reads_only=True,
        timeout_s=5,
    )
    def whisper(text: str) -> str:
        return text.upper()

    made = whisper
    args = made.params.model_validate({"text": "a"})
    assert (made.name, made.group, made.idempotent, made.timeout_s) == (
        "shout",
        Group.EXEC,
        True,
        5,
    )
    assert made.risk(args) is Risk.DANGEROUS
    assert made.summary == "shout"


def test_a_description_in_the_annotation_is_stronger_than_the_docstring():
    @tool
    def look(x: Annotated[int, Field(description="From the type.", ge=1)], y: int = 0) -> str:
        """Look.

        Args:
            x: From the docstring.
            y: From the docstring: with a colon.
        """
        return f"{x}{y}"

    properties = json_schema(look.params)["properties"]
    assert properties["x"] == {"type": "integer", "description": "From the type.", "minimum": 1}
    assert properties["y"]["description"] == "From the docstring: with a colon."


async def test_arguments_may_have_names_that_a_model_cannot_have():
    @tool
    def odd(copy: str, model_dump: int, _under: bool = False) -> str:
        return f"{copy} {model_dump} {_under}"

    assert list(json_schema(odd.params)["properties"]) == ["copy", "model_dump", "_under"]
    assert await run(odd, {"copy": "a", "model_dump": 2, "_under": True}) == Output("a 2 True")


# --- what it touches ----------------------------------------------------------------------


def test_paths_are_declared_by_their_types():
    @tool
    def copy_all(source: TreePath, one: ReadPath, target: WritePath = "out") -> str:
        return source + one + target

    args = copy_all.params.model_validate({"source": "a", "one": "b"})
    assert dict(read_path_arguments(copy_all.params).direct) == {
        "source": PathUse.TREE,
        "one": PathUse.READ,
        "target": PathUse.WRITE,
    }
    assert copy_all.footprint(args) is None
    assert copy_all.risk(args) is None


@pytest.mark.parametrize(
    ("options", "only_reads", "footprint"),
    [
        ({}, True, None),
        ({"risk": Risk.SAFE}, True, None),
        ({"risk": Risk.MODERATE}, False, OPEN_ENDED),
        ({"risk": Risk.CRITICAL}, False, OPEN_ENDED),
        ({"risk": Risk.DANGEROUS, "reads_only": True}, True, None),
    ],
)
def test_a_risk_says_that_it_does_more_than_read_its_paths(options, only_reads, footprint):
    @tool(**options)
    def send(attachment: ReadPath) -> str:
        return attachment

    args = send.params.model_validate({"attachment": "a"})
    assert (send.only_reads, send.footprint(args)) == (only_reads, footprint)


def test_a_risk_changes_nothing_about_paths_that_are_written():
    @tool(risk=Risk.DANGEROUS)
    def wipe(target: WritePath) -> str:
        return target

    assert wipe.footprint(wipe.params.model_validate({"target": "a"})) is None
    assert not wipe.only_reads


def test_a_function_without_paths_may_touch_anything_unless_it_only_reads():
    @tool
    def unknown(text: str) -> str:
        return text

    @tool(reads_only=True)
    def pure(text: str) -> str:
        return text

    args = pure.params.model_validate({"text": "a"})
    assert unknown.footprint(args) is OPEN_ENDED
    assert pure.footprint(args) is NOTHING


def test_writing_and_only_reading_contradict_each_other():
    def write(path: WritePath) -> str:
        return path

    with pytest.raises(TypeError, match="write: reads_only=True contradicts a WritePath"):
        tool(reads_only=True)(write)


async def test_a_path_arrives_resolved():
    assert await run(word_count, {"path": "./a"}, path="/w/real/a") == Output("/w/real/a 1 w")


async def test_a_path_with_an_odd_name_arrives_resolved():
    @tool
    def look(copy: ReadPath) -> str:
        return copy

    [(attribute, _)] = read_path_arguments(look.params).direct
    assert await run(look, {"copy": "a"}, **{attribute: "/w/a"}) == Output("/w/a")


async def test_an_optional_path_that_was_not_given_is_none():
    @tool
    def look(path: Annotated[str | None, PathUse.READ] = None) -> str:
        return repr(path)

    assert await run(look, {}) == Output("None")


@pytest.mark.parametrize(
    "annotation", [set[ReadPath], dict[ReadPath, str], Annotated[list[str], PathUse.READ]]
)
def test_a_path_that_would_not_be_contained_is_refused(annotation):
    def look(path):
        return path

    look.__annotations__ = {"path": annotation}
    with pytest.raises(TypeError, match="look: path: a path type"):
        tool(look)


# --- running ------------------------------------------------------------------------------


async def test_a_sync_function_runs_in_a_thread_and_the_loop_goes_on():
    entered, released = threading.Event(), threading.Event()

    @tool
    def wait() -> str:
        entered.set()
        released.wait(5)
        return threading.current_thread().name

    async def release() -> None:
        await wait_until_async(entered.is_set)
        released.set()

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(release)
            output = await run(wait, {})

    assert output.text != threading.current_thread().name


async def test_a_cancelled_call_does_not_wait_for_its_thread():
    released = threading.Event()

    @tool
    def hang() -> str:
        released.wait(5)
        return "late"

    with anyio.fail_after(5):
        with anyio.move_on_after(0.01) as scope:
            await run(hang, {})
        assert scope.cancelled_caught
    released.set()


async def test_an_async_function_runs_in_the_loop():
    @tool
    async def where() -> str:
        await anyio.lowlevel.checkpoint()
        return threading.current_thread().name

    assert (await run(where, {})).text == threading.current_thread().name


async def test_a_function_that_returns_something_to_await_is_awaited():
    async def inner() -> str:
        return "awaited"

    @tool
    def outer() -> Any:
        return inner()

    assert await run(outer, {}) == Output("awaited")


async def test_the_context_is_filled_in_and_not_shown():
    @tool
    async def who(ctx: ToolContext, greeting: str = "hi") -> str:
        return f"{greeting} {ctx.call_id}"

    assert list(json_schema(who.params)["properties"]) == ["greeting"]
    assert await run(who, {}) == Output("hi 1")


async def test_a_problem_goes_through():
    @tool
    def refuse() -> str:
        raise ProblemRaised("not_found", "nothing here")

    with pytest.raises(ProblemRaised, match="nothing here"):
        await run(refuse, {})


class Point(BaseModel):
    x: int


@dataclasses.dataclass
class Pair:
    one: int
    two: float


@pytest.mark.parametrize(
    ("value", "output"),
    [
        ("text", Output("text")),
        (Output("text", data=5), Output("text", data=5)),
        (None, Output("Done.")),
        (5, Output("5", data=5)),
        ({"ä": [1, None]}, Output('{"ä":[1,null]}', data={"ä": [1, None]})),
        (Point(x=1), Output('{"x":1}', data={"x": 1})),
        (
            [Pair(1, float("nan"))],
            Output('[{"one":1,"two":"NaN"}]', data=[{"one": 1, "two": "NaN"}]),
        ),
    ],
    ids=repr,
)
async def test_what_is_returned_becomes_text_and_data(value, output):
    @tool
    def give() -> Any:
        return value

    assert await run(give, {}) == output


@pytest.mark.parametrize(
    "value", [object(), b"\xff", {1: object()}], ids=["object", "bytes", "mapping"]
)
async def test_what_cannot_be_shown_is_a_problem_that_names_the_tool(value):
    @tool
    def give() -> Any:
        return value

    with pytest.raises(ProblemRaised) as caught:
        await run(give, {})

    assert caught.value.problem.code == "internal"
    assert caught.value.problem.message.startswith("give returned a ")


# --- types --------------------------------------------------------------------------------


class Colour(Enum):
    RED = "red"


@tool
def paint(colour: Colour, when: datetime.date, layers: int = 1) -> str:
    return f"{colour!r} {when!r} {layers!r}"


async def test_types_that_json_has_no_word_for_come_from_their_json_form():
    output = await run(paint, {"colour": "red", "when": "2026-01-02", "layers": 2})

    assert output.text == "<Colour.RED: 'red'> datetime.date(2026, 1, 2) 2"


def test_plain_types_stay_strict_beside_them():
    arguments = {"colour": "red", "when": "2026-01-02", "layers": "2"}
    with pytest.raises(ValidationError):
        paint.params.model_validate(arguments)

    repaired = coerce(paint.params, arguments)
    assert paint.params.model_validate(repaired.arguments).layers == 2
    assert repaired.notes == ("layers: '2' taken as 2",)


async def test_a_model_as_argument_arrives_as_a_model():
    @tool
    def move(to: Point, also: list[Point] | None = None) -> str:
        return f"{to!r} {also!r}"

    output = await run(move, {"to": {"x": 1}, "also": [{"x": 2}]})
    assert output.text == "Point(x=1) [Point(x=2)]"


# --- refusals -----------------------------------------------------------------------------


def starred(*names: str) -> str:
    return "".join(names)


def keywords(**options: str) -> str:
    return "".join(options)


def positional(name: str, /) -> str:
    return name


def untyped(name) -> str:
    return name


def unresolved(name: "NotDefinedAnywhere") -> str:  # noqa: F821 - that is the point
    return name


def unreadable(name: threading.Thread) -> str:
    return name.name


def generator(count: int) -> Iterator[int]:
    yield count


async def async_generator(count: int) -> AsyncIterator[int]:
    yield count


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (starred, r"starred: \*names: str cannot be offered to a model"),
        (keywords, r"keywords: \*\*options: str cannot be offered to a model"),
        (positional, "positional: 'name' is positional only"),
        (untyped, "untyped: 'name' needs a type annotation"),
        (unresolved, "unresolved: an annotation cannot be resolved"),
        (unreadable, "unreadable: a parameter has a type that JSON cannot hold"),
        (generator, "generator: a generator cannot be a tool"),
        (async_generator, "async_generator: a generator cannot be a tool"),
        (lambda: "x", "'<lambda>' cannot be the name of a tool: give name="),
    ],
)
def test_a_signature_that_cannot_be_offered_is_refused_where_it_is_decorated(function, sentence):
    with pytest.raises(TypeError, match=sentence):
        tool(function)


@pytest.mark.parametrize("name", ["", "two words", "1st", "x" * 65, "naïve"])
def test_a_name_that_providers_refuse_is_refused_here(name):
    with pytest.raises(TypeError, match="cannot be the name of a tool"):
        tool(name=name)(lambda: "x")


def test_an_unknown_group_is_an_error():
    with pytest.raises(ValueError, match="cooking"):
        tool(group="cooking")(lambda: "x")


def test_a_bound_method_can_be_a_tool():
    class Shop:
        def price(self, item: str) -> int:
            return len(item)

    made = tool(Shop().price)

    assert isinstance(made, FunctionTool)
    assert list(json_schema(made.params)["properties"]) == ["item"]
    assert made("book") == 4


@pytest.mark.parametrize("kind", [Path, "Path | None", "list[Path]"])
def test_an_operating_system_path_is_refused_because_nothing_would_contain_it(kind):
    def cat(path: kind) -> str:
        return ""

    cat.__annotations__["path"] = eval(kind) if isinstance(kind, str) else kind

    with pytest.raises(TypeError, match="ReadPath"):
        tool(cat)
