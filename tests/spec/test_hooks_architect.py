"""Hooks in Architect's format: its names, and its rule for guards that fail."""

import json

import pytest

import handrail

WRITE = ("write_file", {"path": "a.txt", "content": "new\n"})


def guard(command, **fields):
    """Settings with one guard outside of the sandbox, whose failures are its own."""
    hook = {"name": "guard", "command": command, "unconfined": True, **fields}
    return {"hooks": {"pre_tool_use": [hook]}}


@pytest.mark.finding("F58")
@pytest.mark.feature("K06")
@pytest.mark.parametrize(
    ("dialect", "fields", "ok"),
    [
        ("architect", {}, True),
        ("architect", {"on_failure": "deny"}, False),
        ("architect", {"format": "own"}, False),
        ("canonical", {}, False),
        ("canonical", {"format": "architect"}, True),
    ],
)
async def test_another_exit_code_warns_and_allows_in_architects_format(
    tmp_path, caplog, dialect, fields, ok
):
    async with handrail.open(
        tmp_path,
        dialect=dialect,
        mode="accept-edits",
        store=":memory:",
        config=guard("echo strange >&2; exit 3", **fields),
    ) as rt:
        result = await rt.call(*WRITE)

    assert result.ok is ok
    assert "exit code 3" in caplog.text


@pytest.mark.finding("F58")
@pytest.mark.parametrize("command", ["echo no >&2; exit 2", 'echo \'{"decision": "block"}\''])
async def test_a_no_is_a_no_in_every_format(tmp_path, command):
    async with handrail.open(
        tmp_path, dialect="architect", mode="accept-edits", store=":memory:", config=guard(command)
    ) as rt:
        result = await rt.call(*WRITE)

    assert result.problem.code == "blocked"


@pytest.mark.finding("F50", "F58")
async def test_a_hook_gets_and_gives_the_names_of_its_format(tmp_path):
    (tmp_path / "a.txt").write_text("one\n")
    seen = tmp_path / "seen.json"
    changed = {"path": "a.txt", "old_str": "one", "new_str": "3"}
    command = f"cat > {seen}; echo '{json.dumps({'updatedInput': changed})}'"
    async with handrail.open(
        tmp_path, dialect="architect", mode="accept-edits", store=":memory:", config=guard(command)
    ) as rt:
        edit = {"path": "a.txt", "old_str": "one", "new_str": "2"}
        result = await rt.call("edit_file", edit)
        told = json.loads(seen.read_text())
        await rt.call("search_code", {"pattern": "x"})
        searched = json.loads(seen.read_text())

    assert result.ok, result.text
    assert (tmp_path / "a.txt").read_text() == "3\n"
    assert told["tool_input"] in (edit, changed)
    assert told["handrail"]["tool_input"].keys() == {"path", "old_string", "new_string"}
    assert searched["tool_name"] == "search_code"


async def test_an_unknown_format_is_refused_with_its_place(tmp_path):
    with pytest.raises(handrail.ProblemRaised, match="format"):
        async with handrail.open(
            tmp_path, store=":memory:", config=guard("true", format="klingon")
        ):
            pass
