"""A change that breaks a file is said, and nothing is undone because of it."""

import pytest


@pytest.mark.feature("F17", "R-18")
@pytest.mark.parametrize(
    ("name", "good", "old", "new"),
    [
        ("a.py", "def f(x):\n    return x\n", "return x", "return (x"),
        ("a.json", '{"a": [1, 2]}\n', "2]", "2"),
        ("a.toml", 'a = "b"\n', '"b"', '"b'),
        ("a.yaml", "a:\n  - b\n", "- b", "- [b"),
    ],
)
async def test_a_change_that_breaks_the_syntax_is_told_and_stays(
    workspace, open_runtime, name, good, old, new
):
    workspace.write(name, good)

    async with open_runtime() as rt:
        await rt.call("read_file", {"path": name})
        broken = await rt.call("edit_file", {"path": name, "old_string": old, "new_string": new})
        again = await rt.call(
            "write_file", {"path": name, "content": broken.data and good.replace(old, new) + "\n"}
        )
        mended = await rt.call("write_file", {"path": name, "content": good})

    assert broken.ok
    assert "syntax error" in broken.text
    assert broken.meta["syntax"][0]["path"] == name
    assert "syntax" not in again.meta
    assert "syntax" not in mended.meta


async def test_text_that_no_parser_knows_passes(workspace, open_runtime):
    async with open_runtime() as rt:
        result = await rt.call("write_file", {"path": "a.txt", "content": "((("})

    assert "syntax" not in result.meta
