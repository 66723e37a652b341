"""A call as hooks see it."""

from types import SimpleNamespace

import pytest
from pydantic import BaseModel, Field

from handrail.core.places import Kind, Place
from handrail.engine.hooking.callbacks import hook_call


class Arguments(BaseModel):
    where: str = Field("", validation_alias="file_path")
    paths: list[str] = []


def place(path, *via):
    return Place(0, path, path, f"/w/{path}", Kind.FILE, via=via)


def seen(places, touched=(), *, command=None, entry=True):
    touches = [SimpleNamespace(key=key) for key in touched]
    return hook_call(
        SimpleNamespace(
            call=SimpleNamespace(id="c", turn=3, agent="main"),
            name="own",
            arguments={"a": 1},
            places=places,
            footprint=SimpleNamespace(command=command, touches=touches),
            parsed=SimpleNamespace(words=None),
            entry=SimpleNamespace(arguments=SimpleNamespace(model=Arguments)) if entry else None,
        )
    )


def test_what_a_call_is():
    made = seen({"paths[0]": place("a")})

    assert (made.call_id, made.tool, made.arguments) == ("c", "own", {"a": 1})
    assert (made.turn, made.agent, made.words) == (3, "main", None)


@pytest.mark.parametrize(
    ("name", "entry", "given"),
    [
        ("where", True, "file_path"),
        ("where[0].x", True, "file_path[0].x"),
        ("where", False, "where"),
        ("paths[1]", True, "paths[1]"),
        ("unknown", True, "unknown"),
        ("[0]", True, "[0]"),
    ],
)
def test_a_path_has_the_name_that_the_caller_gives(name, entry, given):
    assert seen({name: place("a")}, entry=entry).paths == {given: "/w/a"}


@pytest.mark.parametrize(
    ("command", "files"), [(None, ("/w/a", "/w/b", "/w/c")), ("ls", ("/w/b", "/w/c", "/w/a"))]
)
def test_the_files_of_a_call_are_each_named_once(command, files):
    touched = ["file:/w/b", "net:/w/x", "file:/w/c", "file:/w/a", "file:/w/b"]

    made = seen({"path": place("a")}, touched, command=command)

    assert made.files == files
    assert made.runs_command is (command is not None)


def test_a_command_does_not_touch_the_paths_that_it_only_names():
    assert seen({"cwd": place("a")}, command="ls").files == ()


def test_the_other_names_of_a_file_are_kept():
    made = seen({"one": place("a", "/w/link"), "two": place("b")})

    assert made.ways == {"/w/a": ("/w/link",)}
