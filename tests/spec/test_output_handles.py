"""What a cut result does not show can be read in full, by its handle, in every dialect."""

import re

import pytest

import handrail
from handrail.dialects.known import DIALECTS

LINES = [f"line {number}" for number in range(5_000)]
HANDLE = re.compile(r"output:[A-Za-z0-9_.:~#-]+")
READ = {"claude": ("Read", "file_path"), "codex": ("read_file", "file_path")}
GREP = {"claude": "Grep", "codex": "grep_files"}


@pytest.fixture
def opened(workspace, tmp_path):
    """Runtimes one after the other on one record."""

    def open_again(session="s", **config):
        config = {"mode": "bypass", "accept_no_sandbox": True, **config}
        store = tmp_path / "record.db"
        return handrail.open(workspace.root, store=store, session=session, config=config)

    return open_again


def printer(workspace, lines=LINES):
    workspace.write("long.txt", "".join(f"{line}\n" for line in lines))
    return "cat long.txt"


def handle_in(text):
    (found,) = set(HANDLE.findall(text))
    return found.rstrip(".")


async def whole(rt, handle, **more):
    """All lines behind a handle, page by page."""
    lines, offset = [], 1
    while offset is not None:
        page = await rt.call("read_file", {"path": handle, "offset": offset, **more})
        assert page.ok, page.text
        text = page.text.partition("\n\n[")[0]
        lines += text.split("\n")
        offset = page.data["last"] + 1 if page.data["last"] < page.data["total"] else None
    return lines


@pytest.mark.finding("F24")
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_the_full_output_of_a_command_is_read_by_its_handle(workspace, opened, dialect):
    command = printer(workspace)
    name, path = READ.get(dialect, ("read_file", "path"))

    async with opened(dialect=dialect) as rt:
        cut = await rt.call("run_command", {"command": command})
        handle = handle_in(cut.text)
        lines = await whole(rt, handle, number_lines=False)
        some = await rt.call(name, {path: handle, "offset": 3000, "limit": 2})
        found = await rt.call(
            GREP.get(dialect, "grep"),
            {"pattern": "line 4321", "path": handle, "output_mode": "content"},
        )
        past = await rt.call(name, {path: handle, "offset": 9_000})

    assert "line 2500" not in cut.text
    assert lines == ["stdout:", *LINES, "exit_code: 0"]
    assert "line 2998" in some.text
    assert "line 3000" not in some.text
    assert "4323:line 4321" in found.text
    assert past.problem.code == "invalid_arguments"


@pytest.mark.finding("F24")
async def test_both_streams_and_what_went_into_a_file_are_there_in_full(workspace, opened):
    many = [f"row {number} {'x' * 80}" for number in range(9_000)]
    command = printer(workspace, many) + "; seq 1 900 >&2; exit 3"

    async with opened() as rt:
        cut = await rt.call("run_command", {"command": command})
        lines = await whole(rt, handle_in(cut.text))

    assert lines == ["stdout:", *many, "stderr:", *map(str, range(1, 901)), "exit_code: 3"]


@pytest.mark.finding("F24")
async def test_a_result_of_any_tool_that_was_cut_or_was_not_has_a_handle(workspace, opened):
    @handrail.tool(reads_only=True)
    def long(lines: int) -> str:
        """Says much."""
        return "\n".join(LINES[:lines])

    async with opened(max_chars=1000) as rt:
        rt.register(long)
        cut = await rt.call("long", {"lines": 5000}, id="big")
        await rt.call("long", {"lines": 3}, id="small")
        big = await whole(rt, "output:big", limit=80)
        small = await whole(rt, "output:small")

    assert handle_in(cut.text) == "output:big"
    assert big == LINES
    assert small == LINES[:3]


@pytest.mark.finding("F24")
@pytest.mark.parametrize(
    ("strategy", "first", "last"),
    [("start", True, False), ("end", False, True), ("both", True, True)],
)
async def test_which_part_is_shown_is_a_setting(opened, strategy, first, last):
    @handrail.tool(reads_only=True)
    def long() -> str:
        """Says much."""
        return "\n".join(LINES)

    async with opened(max_chars=1000, truncation_strategy=strategy) as rt:
        rt.register(long)
        text = (await rt.call("long")).text

    assert text.startswith("line 0\n") is first
    assert text.endswith("line 4999") is last


@pytest.mark.finding("F24")
@pytest.mark.parametrize(
    ("settings", "lines", "cut"),
    [
        ({"dialect": "claude"}, 2_000, False),
        ({"dialect": "claude"}, 5_000, True),
        ({"dialect": "claude", "max_output_lines": 100}, 2_000, True),
        ({"dialect": "canonical"}, 150, False),
        ({"dialect": "canonical"}, 2_000, True),
    ],
)
async def test_how_much_of_a_command_is_shown(workspace, opened, settings, lines, cut):
    command = printer(workspace, LINES[:lines])

    async with opened(**settings) as rt:
        result = await rt.call("run_command", {"command": command})

    assert ("output:" in result.text) is cut
    assert (f"line {lines // 2 + 20}" in result.text) is not cut
    assert settings["dialect"] != "claude" or len(result.text) < 30_500


@pytest.mark.finding("F24")
async def test_a_file_of_such_a_name_is_reached_by_its_path(workspace, opened):
    async with opened() as rt:
        made = await rt.call("write_file", {"path": "./output:x", "content": "a file\n"})
        read = await rt.call("read_file", {"path": "./output:x"})
        absolute = await rt.call("read_file", {"path": f"{workspace.root}/output:x"})
        handle = await rt.call("read_file", {"path": "output:x"})
        written = await rt.call("write_file", {"path": "output:y", "content": ""})
        odd = [await rt.call("read_file", {"path": f"output:{one}"}) for one in ("", "../x", "a/b")]

    assert made.ok
    assert read.text == absolute.text == "a file"
    assert handle.problem.code == "not_found"
    assert written.problem.code == "invalid_arguments"
    assert "./output:y" in written.problem.hint
    assert {one.problem.code for one in odd} == {"not_found"}
    assert list(workspace.tree()) == ["output:x"]


@pytest.mark.finding("F24")
async def test_a_long_output_is_there_in_full_without_a_record_on_disk(workspace, open_runtime):
    many = [f"row {number} {'x' * 80}" for number in range(9_000)]

    async with open_runtime(config={"mode": "bypass", "accept_no_sandbox": True}, mode=None) as rt:
        cut = await rt.call("run_command", {"command": printer(workspace, many)})
        lines = await whole(rt, handle_in(cut.text))

    assert lines == ["stdout:", *many, "exit_code: 0"]


@pytest.mark.finding("F24")
async def test_what_is_no_longer_kept_is_said(workspace, opened):
    command = printer(workspace)

    async with opened() as rt:
        cut = await rt.call("run_command", {"command": command})
        for kept in list(rt.session.artifacts._directory.iterdir()):
            kept.unlink()
        gone = await rt.call("read_file", {"path": handle_in(cut.text)})

    assert gone.problem.code == "not_found"
    assert "no longer kept" in gone.problem.message


@pytest.mark.finding("F17")
@pytest.mark.threat("A14")
async def test_a_handle_belongs_to_its_session_and_its_agents(workspace, opened):
    workspace.write("a.txt", "hello\n")

    async with opened() as rt:
        rt.limit_agent("child", ["read_file"], parent="main")
        await rt.call("read_file", {"path": "a.txt"}, id="mine")
        await rt.call("grep", {"pattern": "hello"}, id="search")
        await rt.call("read_file", {"path": "a.txt"}, id="childs", agent="child")
        await rt.call("read_file", {"path": "a.txt"}, id="others", agent="other")
        own = await rt.call("read_file", {"path": "output:mine"})
        below = await rt.call("read_file", {"path": "output:childs"})
        above = await rt.call("read_file", {"path": "output:mine"}, agent="child")
        beyond = await rt.call("read_file", {"path": "output:search"}, agent="child")
        other = await rt.call("read_file", {"path": "output:others"})
        reverse = await rt.call("grep", {"pattern": "h", "path": "output:mine"}, agent="other")
    async with opened(session="t") as rt:
        foreign = await rt.call("read_file", {"path": "output:mine"})

    assert own.text == below.text == above.text == "hello"
    for refused in (beyond, other, reverse, foreign):
        assert refused.problem.code == "denied"
        assert "hello" not in refused.text


@pytest.mark.finding("F17")
@pytest.mark.threat("A14")
@pytest.mark.parametrize("tool", ["read_file", "grep"])
async def test_a_handle_shows_nothing_that_a_rule_withholds_by_now(workspace, opened, tool):
    workspace.write("notes.txt", "the token is 7\n")
    look = {"pattern": "token", "output_mode": "content"} if tool == "grep" else {}

    async with opened() as rt:
        await rt.call("read_file", {"path": "notes.txt"}, id="first")
        await rt.call("read_file", {"path": "output:first"}, id="second")
        await rt.call("run_command", {"command": "cat notes.txt"}, id="command")
        before = await rt.call(tool, {"path": "output:second", **look})
    async with opened(permissions={"deny": ["read_file(notes.txt)"]}) as rt:
        after = [
            await rt.call(tool, {"path": f"output:{name}", **look})
            for name in ("first", "second", "command")
        ]
        again = await rt.call("read_file", {"path": "output:first"}, id="second")

    assert "token is 7" in before.text
    for refused in (*after, again):
        assert refused.problem.code == "denied"
        assert "token is 7" not in refused.text
