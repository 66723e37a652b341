"""Cocode's document, its tools for files and commands, in Claude Code's vocabulary."""

import os

import pytest
from tests.support.media import code_cell, notebook, pdf, picture

SETTINGS = {"dialect": "claude", "mode": "yolo", "config": {"accept_no_sandbox": True}}

# Tool → required arguments, then optional ones with their defaults (None: no default is shown).
SCHEMAS = {
    "Read": ({"file_path"}, {"offset": 1, "limit": 2000}),
    "Edit": ({"file_path", "old_string", "new_string"}, {"replace_all": False}),
    "Write": ({"file_path", "content"}, {}),
    "Glob": ({"pattern"}, {"path": "."}),
    "Grep": (
        {"pattern"},
        {
            "path": ".",
            "glob": None,
            "type": None,
            "output_mode": "files_with_matches",
            "multiline": None,
            "-i": None,
            "-n": True,
            "-A": 0,
            "-B": 0,
            "-C": None,
            "head_limit": 100,
            "offset": 0,
        },
    ),
    "Bash": (
        {"command"},
        {
            "description": None,
            "timeout": 120_000,
            "run_in_background": None,
            "dangerously_disable_sandbox": None,
        },
    ),
}


@pytest.fixture(scope="module", autouse=True)
def project(walk):
    walk.write("src/a.ts", "function log() {\n  Error: log one\n}\n")
    walk.write("src/b.py", "struct {\n  field\n}\nERROR\n")
    walk.write("long.txt", "z" * 3000 + "\n" + "q\n" * 2500)
    walk.write("empty.txt")


def seen(walk, **arguments):
    """The text of a search in `src`."""
    return walk.call("Grep", path="src", **arguments).text


class TestSchemas:
    @pytest.mark.feature("E03", "E14", "E23", "E26", "E30", "C21")
    @pytest.mark.parametrize("name", SCHEMAS)
    def test_arguments_and_defaults(self, walk, name):
        schema = walk.schema(name)
        needed, optional = SCHEMAS[name]

        assert set(schema["required"]) == needed
        shown = {arg: part.get("default") for arg, part in schema["properties"].items()}
        assert {arg: default for arg, default in shown.items() if arg not in needed} == optional

    @pytest.mark.feature("C21")
    def test_behind_mcp_and_the_command_line(self, mcp, command_line):
        (command_line.root / "a.txt").write_text("one\n")
        call = {"name": "Read", "arguments": {"file_path": "a.txt"}}
        listed, read = mcp(("tools/list", {}), ("tools/call", call), words=("--dialect", "claude"))
        done = command_line("--dialect", "claude", "call", "Read", "file_path=a.txt")

        assert set(SCHEMAS) <= {tool["name"] for tool in listed["tools"]}
        assert read["content"][0]["text"] == done.out.rstrip("\n") == "     1\tone"


class TestRead:
    @pytest.mark.feature("E03", "E04")
    def test_numbers_window_and_long_lines(self, walk):
        whole = walk.call("Read", file_path=str(walk.root / "long.txt"))
        part = walk.call("Read", file_path="long.txt", offset=3, limit=2)
        lines = whole.text.splitlines()

        assert lines[1] == "     2\tq"
        assert "  2000\tq" in lines
        assert "  2001\tq" not in lines
        assert len(lines[0]) < 2200
        assert part.text.startswith("     3\tq\n     4\tq\n")
        assert part.data["last"] == 4

    @pytest.mark.feature("E03")
    def test_an_offset_counts_from_one(self, walk):
        """Decided: line numbers start at 1, and 0 means the first line too."""
        first, zero = (
            walk.call("Read", file_path="long.txt", offset=offset, limit=1).data["first"]
            for offset in (1, 0)
        )

        assert first == zero == 1

    @pytest.mark.feature("E06")
    def test_an_empty_file_is_said_to_be_empty_and_a_directory_is_not_read(self, walk):
        assert "empty" in walk.call("Read", file_path="empty.txt").text
        assert walk.code("Read", file_path="src") == "not_text"
        assert walk.code("Read", file_path="none.txt") == "not_found"

    @pytest.mark.feature("I02")
    def test_files_outside_are_not_read(self, walk):
        """Decided (D7): absolute paths are taken inside the workspace and its further roots."""
        assert walk.code("Read", file_path="/etc/hostname") == "outside_workspace"

    @pytest.mark.feature("E05")
    def test_pictures_pdf_files_and_notebooks(self, walk):
        walk.write("p.png", picture("PNG", (64, 32)))
        walk.write("d.pdf", pdf("First page", "Second page"))
        walk.write("n.ipynb", notebook(code_cell("x = 41", id="c1", metadata={})))
        shown, pages, cells = (
            walk.call("Read", file_path=path) for path in ("p.png", "d.pdf", "n.ipynb")
        )

        assert len(shown.images) == 1
        assert "First page" in pages.text
        assert "Second page" in pages.text
        assert "x = 41" in cells.text


class TestEdit:
    @pytest.mark.feature("E13", "E14", "E15")
    def test_exact_unique_and_different(self, walk):
        walk.write("e.py", "x = 1\ny = 1\n")
        walk.call("Read", file_path="e.py")
        given = {"file_path": "e.py", "old_string": "1", "new_string": "2"}

        assert walk.code("Edit", **given) == "ambiguous"
        assert walk.code("Edit", **{**given, "new_string": "1"}) == "invalid_arguments"
        assert walk.code("Edit", **{**given, "old_string": "9"}) == "no_match"
        assert walk.call("Edit", **given, replace_all=True).ok
        assert walk.read("e.py") == "x = 2\ny = 2\n"


class TestGlob:
    @pytest.mark.feature("E26")
    def test_newest_first(self, walk):
        for age, name in enumerate(("old.md", "mid.md", "new.md")):
            path = walk.write(f"notes/{name}")
            os.utime(path, (1_700_000_000 + age, 1_700_000_000 + age))

        found = walk.call("Glob", pattern="**/*.md", path="notes").data["paths"]

        assert found == ["notes/new.md", "notes/mid.md", "notes/old.md"]


class TestGrep:
    @pytest.mark.feature("E23")
    @pytest.mark.parametrize(
        ("arguments", "text"),
        [
            ({"pattern": r"log.*one"}, "src/a.ts"),
            ({"pattern": r"function\s+\w+"}, "src/a.ts"),
            ({"pattern": "r", "glob": "*.py"}, "src/b.py"),
            ({"pattern": "r", "glob": "*.{ts,tsx}"}, "src/a.ts"),
            ({"pattern": "r", "type": "py"}, "src/b.py"),
            ({"pattern": "error", "-i": True, "output_mode": "count"}, "src/a.ts:1\nsrc/b.py:1"),
            ({"pattern": "ERROR", "output_mode": "content"}, "src/b.py:4:ERROR"),
            ({"pattern": "ERROR", "output_mode": "content", "-n": False}, "src/b.py:ERROR"),
            (
                {"pattern": "field", "output_mode": "content", "-A": 1},
                "src/b.py:2:  field\nsrc/b.py-3-}",
            ),
            (
                {"pattern": "field", "output_mode": "content", "-B": 1},
                "src/b.py-1-struct {\nsrc/b.py:2:  field",
            ),
            (
                {"pattern": "field", "output_mode": "content", "-C": 1},
                "src/b.py-1-struct {\nsrc/b.py:2:  field\nsrc/b.py-3-}",
            ),
        ],
    )
    def test_modes_filters_and_context(self, walk, arguments, text):
        assert seen(walk, **arguments) == text

    @pytest.mark.feature("E23")
    def test_across_lines_and_page_by_page(self, walk):
        pattern = r"struct \{[\s\S]*?field"

        assert "no match" in seen(walk, pattern=pattern)
        assert seen(walk, pattern=pattern, multiline=True) == "src/b.py"
        page = walk.call(
            "Grep", pattern="q", path="long.txt", output_mode="content", head_limit=2, offset=1
        )
        assert [hit["line"] for hit in page.data["hits"]] == [3, 4]

    @pytest.mark.feature("E23")
    def test_a_pattern_is_never_an_option(self, walk):
        walk.write("src/dash.txt", "--files\n")

        assert seen(walk, pattern="--files") == "src/dash.txt"
        (walk.root / "src/dash.txt").unlink()


class TestBash:
    @pytest.mark.feature("E31")
    def test_the_directory_persists_and_nothing_else(self, walk):
        walk.call("Bash", command="mkdir -p sub && cd sub && export KEPT=1")
        assert walk.call("Bash", command='pwd; echo "[$KEPT]"').data["stdout"] == (
            f"{walk.root}/sub\n[]"
        )
        walk.call("Bash", command="cd ..")

    @pytest.mark.feature("E31")
    def test_no_start_file_of_the_user_is_run(self, walk):
        """Decided (D6): the shell starts without start files."""
        result = walk.call("Bash", command="shopt login_shell; echo $BASH_ENV")

        assert result.data["stdout"].split() == ["login_shell", "off"]

    @pytest.mark.feature("E30")
    @pytest.mark.parametrize("timeout", [600_001, -1])
    def test_the_limit_is_ten_minutes_in_milliseconds(self, walk, timeout):
        assert walk.code("Bash", command="true", timeout=timeout) == "invalid_arguments"
        assert walk.call("Bash", command="true", timeout=600_000).ok

    @pytest.mark.feature("E30")
    def test_a_command_is_ended_at_its_limit(self, walk):
        assert walk.code("Bash", command="sleep 30", timeout=200) == "timeout"

    @pytest.mark.feature("E32", "B09")
    def test_output_is_cut_at_30_000_characters(self, walk):
        result = walk.call("Bash", command="seq 20000")

        assert 29_000 < len(result.text) < 30_500
        assert result.meta["oversize"]["saved"]

    @pytest.mark.feature("E33")
    def test_a_failure_is_an_error_with_its_output(self, walk):
        result = walk.call("Bash", command="echo seen; exit 7")

        assert (result.is_error, result.data["exit_code"]) == (True, 7)
        assert "seen" in result.text

    @pytest.mark.feature("E30")
    def test_the_internal_argument_is_neither_shown_nor_accepted(self, walk):
        """Decided (E30): `_simulated_sed_edit` would write a file that no user has seen."""
        edit = {"file_path": "src/a.ts", "new_content": ""}

        code = walk.code("Bash", command="true", _simulated_sed_edit=edit)

        assert code == "invalid_arguments"
        assert "_simulated_sed_edit" not in walk.schema("Bash")["properties"]

    @pytest.mark.feature("H13")
    def test_commands_that_only_look_run_beside_others(self, walk):
        """Decided (0027): builds and tests write, so they are not among them."""
        looking = ["ls", "cat src/a.ts", "git status", "pwd", "echo hi", "uname", "date"]
        writing = ["cargo build", "npm test", "npm run build"]

        def waits(commands):
            calls = [{"name": "Bash", "arguments": {"command": one}} for one in commands]
            return [bool(one) for one in walk.rt.plan(calls).waits]

        assert waits(looking) == [False] * 7
        assert waits(writing) == [False, True, True]

    @pytest.mark.feature("E66")
    def test_the_git_protocol_can_be_enforced(self, open_walk):
        config = {"guardrails": {"git_safety": True}}
        with open_walk(mode="yolo", answer=False, config=config) as walk:
            commands = ["git push --force", "git reset --hard", "git commit --no-verify -m x"]
            codes = [walk.code("Bash", command=one) for one in commands]

        assert codes == ["denied"] * 3
        assert len(walk.user.asked) == 3
