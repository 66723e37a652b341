"""Everything a caller reads names tools and arguments as the caller's vocabulary does."""

import pytest

import handrail

LONG = "".join(f"line {n}\n" for n in range(3_000))


async def say(root, dialect, name, arguments):
    """What a call in a dialect is answered."""
    async with handrail.open(root, dialect=dialect, store=":memory:") as rt:
        result = await rt.call(name, arguments)
    return result.text


@pytest.fixture
def root(tmp_path):
    """A workspace with a text, a long text, a binary file and a directory."""
    (tmp_path / "a.txt").write_text("one\ntwo\none\n")
    (tmp_path / "long.txt").write_text(LONG)
    (tmp_path / "binary.bin").write_bytes(b"\0\1\2" * 99)
    (tmp_path / "folder").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("dialect", "name", "arguments", "said", "unsaid"),
    [
        ("architect", "edit_file", {"path": "a.txt", "old_str": "x9", "new_str": "y"}, "old_str ", "old_string"),
        ("architect", "edit_file", {"path": "a.txt", "old_str": "one"}, "'new_str' is required", "new_string"),
        ("coauthor", "editFile", {"path": "a.txt", "oldString": "x9", "newString": "y"}, "oldString ", "old_string"),
        ("coauthor", "editFile", {"path": "a.txt", "oldString": "one", "newString": "y"}, "replaceAll", "replace_all"),
        ("coauthor", "readFile", {"path": "folder"}, "glob", "find_files"),
        ("gemini", "read_file", {"file_path": "folder"}, "glob", "find_files"),
        ("claude", "Bash", {"command": "python x.py"}, "Bash needs approval", "run_command needs"),
        ("linggen", "Grep", {"query": "("}, "escape special characters", "literal"),
        ("canonical", "grep", {"pattern": "("}, "set literal", "Grep"),
        ("canonical", "edit_file", {"path": "a.txt", "old_string": "x9", "new_string": "y"}, "old_string ", "old_str "),
    ],
)  # fmt: skip
async def test_problems_name_tools_and_arguments_as_the_caller_does(
    root, dialect, name, arguments, said, unsaid
):
    text = await say(root, dialect, name, arguments)

    assert said in text
    assert unsaid not in text


@pytest.mark.finding("F51")
@pytest.mark.parametrize(
    ("dialect", "name", "arguments", "unsaid"),
    [
        ("claude", "Grep", {"pattern": "("}, "literal"),
        ("claude", "Read", {"file_path": "binary.bin"}, "max_bytes"),
        ("gemini", "glob", {"pattern": "**/*"}, "offset"),
        ("attocode", "read_file", {"path": "long.txt"}, "offset="),
    ],
)
async def test_no_hint_names_an_argument_that_is_not_shown(root, dialect, name, arguments, unsaid):
    async with handrail.open(root, dialect=dialect, store=":memory:") as rt:
        shown = next(
            one["function"]["parameters"]["properties"]
            for one in rt.declare("openai")
            if one["function"]["name"] == name
        )
        result = await rt.call(name, arguments)

    assert unsaid.rstrip("=") not in shown
    assert unsaid not in result.text


@pytest.mark.finding("F51")
async def test_a_long_file_says_how_to_go_on_where_the_caller_can(root):
    assert "go on with offset=2001" in await say(
        root, "architect", "read_file", {"path": "long.txt"}
    )
    assert "go on with offset=2001" in await say(root, "claude", "Read", {"file_path": "long.txt"})


@pytest.mark.finding("F55")
async def test_names_and_values_of_other_products_are_taken(root):
    async with handrail.open(
        root, dialect="claude", approver=lambda request: True, store=":memory:"
    ) as rt:
        await rt.call("Read", {"file_path": "a.txt"})
        edits = [{"old_string": "two", "new_string": "2"}]
        edited = await rt.call("MultiEdit", {"file_path": "a.txt", "edits": edits})
        found = await rt.call("Glob", {"pattern": f"{root}/*.txt"})
        nothing = await rt.call("Glob", {"pattern": "*.env*"})
        start = {"command": "printf 'a1\\nb1\\na2\\n'", "run_in_background": True}
        job = (await rt.call("Bash", start)).unwrap().data["job"]
        ended = await rt.call("TaskOutput", {"task_id": job})
        again = await rt.call("TaskOutput", {"task_id": job, "timeout": 0})
        some = await rt.call("BashOutput", {"bash_id": job, "filter": "^a"})
        wrong = await rt.call("BashOutput", {"bash_id": job, "filter": "("})

    assert edited.ok
    assert sorted(found.data["paths"]) == ["a.txt", "long.txt"]
    assert "(ignored files" in nothing.text
    assert "b1" in ended.unwrap().text
    assert "b1" in again.unwrap().text
    assert some.unwrap().data["task"]["output"] == "a1\na2\n"
    assert wrong.problem.field == "filter"
