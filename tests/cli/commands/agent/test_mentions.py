"""Files that a task mentions."""

from types import SimpleNamespace

import pytest

from handrail.cli.commands.agent.mentions import add_mentioned_files
from handrail.core.problems import Problem
from handrail.core.results import Status, ToolResult

FILES = ("a.txt", "src/b.py", "two words.md", "denied.txt", "odd.", *(f"f{n}" for n in range(25)))


class Reading:
    def __init__(self):
        self.session = SimpleNamespace(id="s1")
        self.agent_services = SimpleNamespace(
            existing=lambda names: [name for name in names if name in FILES]
        )
        self.calls = []

    async def call(self, tool, arguments, *, id, agent):
        self.calls.append((tool, arguments["path"], agent))
        if arguments["path"] == "denied.txt":
            return ToolResult(id, Status.REFUSED, "no", problem=Problem("denied", "a rule"))
        return ToolResult(id, Status.OK, f"text of {arguments['path']}")


async def mention(task):
    rt, notes = Reading(), []
    return await add_mentioned_files(rt, "main", task, notes.append), notes, rt.calls


@pytest.mark.parametrize(
    ("task", "path"),
    [
        ("@a.txt", "a.txt"),
        ("see @src/b.py, please", "src/b.py"),
        ("(is it in @a.txt?)", "a.txt"),
        ('look at @"two words.md" now', "two words.md"),
        ("@a.txt and @a.txt", "a.txt"),
        ("@odd.", "odd."),
    ],
)
async def test_a_mentioned_file_is_added(task, path):
    text, notes, calls = await mention(task)

    assert text == f"{task}\n\n<file path={path!r}>\ntext of {path}\n</file>"
    assert notes == [f"read {path}"]
    assert calls == [("read_file", path, "main")]


@pytest.mark.parametrize("task", ["none", "@dataclass", "me@a.txt", "@", "@user!", "@/"])
async def test_other_words_are_left_alone(task):
    assert await mention(task) == (task, [], [])


@pytest.mark.parametrize(
    ("task", "path"),
    [("@src/c.py.", "src/c.py"), ("@c.txt", "c.txt"), ('@"no such"', "no such")],
)
async def test_what_looks_like_a_path_is_noted_as_missing(task, path):
    text, notes, calls = await mention(task)

    assert (text, calls) == (task, [])
    assert len(notes) == 1
    assert notes[0].startswith(f"@{path}: there is no such file")


async def test_a_file_that_is_denied_is_noted_with_the_reason():
    text, notes, _ = await mention("@denied.txt @a.txt")

    assert notes == ["denied.txt was not read: a rule", "read a.txt"]
    assert "denied.txt'" not in text


@pytest.mark.parametrize("count", [20, 22])
async def test_twenty_files_are_read(count):
    _, notes, calls = await mention(" ".join(f"@f{n}" for n in range(count)))

    assert len(calls) == 20
    assert len(notes) == min(count, 21)
    assert ("only the first 20" in notes[-1]) is (count > 20)
