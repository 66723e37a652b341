"""Architect's document, from the interface of a tool to its search tools, in its vocabulary.

`SUMMARY` is the table of its tools; the other tables are arguments with their defaults. Where
Handrail decided otherwise, the test names the decision and shows what happens instead.
"""

import pydantic
import pytest

import handrail

SETTINGS = {
    "dialect": "architect",
    "mode": "yolo",
    "config": {"accept_no_sandbox": True, "workspace": {"allow_delete": True}},
}

# Tool → whether its calls are asked about in `confirm-sensitive`; None: by the command.
SUMMARY = {
    "read_file": False,
    "write_file": True,
    "delete_file": True,
    "list_files": False,
    "edit_file": True,
    "apply_patch": True,
    "search_code": False,
    "grep": False,
    "find_files": False,
    "run_command": None,
}

# Tool → its arguments and their defaults; `...`: the argument is required.
ARGUMENTS = {
    "read_file": {"path": ...},
    "write_file": {"path": ..., "content": ..., "mode": "overwrite"},
    "delete_file": {"path": ...},
    "list_files": {"path": ".", "pattern": None, "recursive": False},
    "edit_file": {"path": ..., "old_str": ..., "new_str": ...},
    "apply_patch": {"path": ..., "patch": ...},
    "search_code": {
        "pattern": ...,
        "path": ".",
        "file_pattern": "*.py",
        "context_lines": 2,
        "max_results": 50,
    },
    "grep": {
        "pattern": ...,
        "path": ".",
        "file_pattern": "*",
        "recursive": True,
        "case_sensitive": True,
        "max_results": 100,
    },
    "find_files": {"pattern": ..., "path": ".", "recursive": True},
    "run_command": {"command": ..., "cwd": None, "timeout": 30, "env": None},
}


class Doubles(handrail.Params):
    number: int


class Double(handrail.Tool):
    """A tool as the document declares one: a name, a description and a model of arguments."""

    name = "double"
    summary = "Doubles a number."
    effects = handrail.Effects.PURE
    params = Doubles

    async def run(self, args, ctx):
        if args.number < 0:
            raise RuntimeError("a defect of the tool")
        return handrail.Output(str(args.number * 2))


@pytest.fixture(scope="module", autouse=True)
def prepared(walk):
    walk.rt.register(Double())
    walk.write("lib/a.py", "".join(f"# {n}\n" for n in range(5)) + "check_path(x)\n# 6\n")
    walk.write("lib/b.txt", "from lib.core import a\ncheck_path\n")
    walk.write("lib/sub/c.py", "from lib.core import b\nvalue[0]\n")
    walk.write("lib/many.md", "needle\n" * 120)
    for path in ("lib/Conf.yaml", "lib/sub/conftest.py", "lib/sub/test_one.py"):
        walk.write(path)


class TestInterfaceOfATool:
    @pytest.mark.feature("A01", "A02", "A04", "A07")
    def test_a_tool_has_a_name_a_description_a_model_and_is_not_sensitive_by_default(self, walk):
        tool = walk.rt.registry.get("double")

        assert (tool.name, tool.summary, tool.params, tool.sensitive) == (
            "double",
            "Doubles a number.",
            Doubles,
            False,
        )
        assert walk.call("double", number=21).text == "42"

    @pytest.mark.feature("A17", "B01")
    def test_executing_never_raises(self, walk):
        result = walk.call("double", number=-1)

        assert (result.ok, result.problem.code) == (False, "internal")

    @pytest.mark.feature("A19")
    def test_the_schema_has_the_form_of_function_calling(self, walk):
        schema = walk.rt.registry.get("double").get_schema()

        assert schema["type"] == "function"
        assert schema["function"]["name"] == "double"
        assert schema["function"]["description"] == "Doubles a number."
        assert schema["function"]["parameters"]["properties"]["number"]["type"] == "integer"

    @pytest.mark.feature("A18")
    def test_validating_raises_what_the_model_raises(self, walk):
        tool = walk.rt.registry.get("double")

        assert tool.validate_args({"number": 1}).number == 1
        with pytest.raises(pydantic.ValidationError):
            tool.validate_args({"number": "many"})


class TestSummary:
    @pytest.mark.feature("A01", "E63")
    @pytest.mark.parametrize(("name", "sensitive"), SUMMARY.items())
    def test_every_tool_exists_with_its_sensitivity(self, walk, name, sensitive):
        canonical = {"search_code": "grep"}.get(name, name)

        assert walk.tool(name)["description"]
        assert walk.rt.registry.get(canonical).sensitive is (sensitive is not False)

    @pytest.mark.feature("C17")
    def test_all_tools_are_shown_by_default(self, walk):
        assert set(SUMMARY) <= set(walk.names())

    @pytest.mark.feature("A04", "E01", "E08", "E12", "E13", "E20", "E21", "E24", "E28")
    @pytest.mark.parametrize("name", ARGUMENTS)
    def test_arguments_and_defaults_are_shown(self, walk, name):
        schema = walk.schema(name)
        expected = ARGUMENTS[name]

        assert set(expected) <= set(schema["properties"])
        needed = {argument for argument, default in expected.items() if default is ...}
        assert set(schema.get("required", ())) == needed
        # A flag whose schema names no default is off.
        shown = {
            argument: part.get("default", False if part.get("type") == "boolean" else None)
            for argument, part in schema["properties"].items()
        }
        given = {argument: default for argument, default in expected.items() if default is not ...}
        assert {argument: shown[argument] for argument in given} == given

    @pytest.mark.feature("A19")
    def test_the_same_tools_stand_behind_mcp(self, mcp):
        (listed,) = mcp(("tools/list", {}), words=("--dialect", "architect"))
        tools = {tool["name"]: tool for tool in listed["tools"]}

        assert set(SUMMARY) - set(tools) == {"delete_file"}
        assert set(tools["grep"]["inputSchema"]["properties"]) == set(ARGUMENTS["grep"])
        assert tools["search_code"]["annotations"]["readOnlyHint"] is True

    @pytest.mark.feature("A19")
    def test_the_same_tools_stand_behind_the_command_line(self, command_line):
        (command_line.root / "a.py").write_text("x = 1\n")

        done = command_line("--dialect", "architect", "--json", "call", "search_code", "pattern=x")

        assert done.code == 0
        assert done.json["text"] == "a.py:1:x = 1"


class TestFiles:
    @pytest.mark.feature("E01")
    def test_a_file_is_read_as_text(self, walk):
        walk.write("docs/note.md", "one\nzwölf\n")

        assert walk.call("read_file", path="docs/note.md").text == "one\nzwölf"

    @pytest.mark.feature("E01")
    @pytest.mark.parametrize(("path", "code"), [("none.md", "not_found"), ("docs", "not_text")])
    def test_a_missing_file_and_a_directory_are_failures(self, walk, path, code):
        assert walk.code("read_file", path=path) == code

    @pytest.mark.feature("E08")
    def test_writing_creates_the_folders_above_and_overwrites_or_appends(self, walk):
        assert walk.call("write_file", path="deep/er/a.txt", content="one\n").ok
        assert walk.call("write_file", path="deep/er/a.txt", content="two\n", mode="append").ok
        assert walk.read("deep/er/a.txt") == "one\ntwo\n"
        assert walk.call("write_file", path="deep/er/a.txt", content="new\n", mode="overwrite").ok
        assert walk.read("deep/er/a.txt") == "new\n"
        assert walk.code("write_file", path="x", content="", mode="replace") == "invalid_arguments"

    @pytest.mark.feature("E11", "C17")
    def test_deleting_is_off_by_default_and_says_which_setting(self, open_walk):
        with open_walk(mode="yolo") as walk:
            walk.write("old.txt", "x")
            result = walk.call("delete_file", path="old.txt")
            assert walk.rt.registry.has_tool("delete_file")
            assert "delete_file" not in walk.names()
            assert walk.read("old.txt") == "x"

        assert result.problem.code == "denied"
        assert "allow_delete=False" in result.text

    @pytest.mark.feature("E11", "Y06")
    def test_deleting_is_enabled_by_the_section_of_the_workspace(self, walk):
        walk.write("old.txt", "x")

        assert walk.code("delete_file", path="../old.txt") == "outside_workspace"
        assert walk.call("delete_file", path="old.txt").ok
        assert not (walk.root / "old.txt").exists()

    @pytest.mark.feature("E12")
    @pytest.mark.parametrize(
        ("arguments", "paths"),
        [
            ({"path": "tree"}, ["tree/a.py", "tree/src/"]),
            ({"path": "tree", "pattern": "*.py"}, ["tree/a.py"]),
            ({"path": "tree", "pattern": "**/*.md"}, ["tree/src/sub/c.md"]),
            ({"path": "tree", "pattern": "src/**/*.ts"}, ["tree/src/b.ts"]),
            (
                {"path": "tree", "recursive": True},
                ["tree/a.py", "tree/src/b.ts", "tree/src/sub/c.md"],
            ),
        ],
    )
    def test_listing_takes_a_glob_and_goes_into_folders_on_request(self, walk, arguments, paths):
        for path in ("tree/a.py", "tree/src/b.ts", "tree/src/sub/c.md"):
            walk.write(path)

        assert walk.call("list_files", **arguments).data == paths


class TestEditing:
    OLD = "def calculate(a, b):\n    return a + b"
    NEW = 'def calculate(a: int, b: int) -> int:\n    """Adds two integers."""\n    return a + b'

    @pytest.mark.feature("E13")
    def test_the_example_replaces_a_function_and_returns_the_diff(self, walk):
        walk.write("src/utils.py", f"{self.OLD}\n")

        result = walk.call("edit_file", path="src/utils.py", old_str=self.OLD, new_str=self.NEW)

        assert walk.read("src/utils.py") == f"{self.NEW}\n"
        assert "--- a/src/utils.py\n+++ b/src/utils.py\n@@ " in result.text
        assert "\n-def calculate(a, b):\n+def calculate(a: int, b: int) -> int:\n" in result.text

    @pytest.mark.feature("E13")
    @pytest.mark.parametrize(
        ("old", "code", "fact"),
        [("absent", "no_match", "not found"), ("one", "ambiguous", "is not unique")],
    )
    def test_the_text_must_occur_exactly_once(self, walk, old, code, fact):
        walk.write("twice.txt", "one\none\n")

        result = walk.call("edit_file", path="twice.txt", old_str=old, new_str="x")

        assert result.problem.code == code
        assert result.text.startswith("old_str ")
        assert fact in result.problem.message
        assert "old_string" not in result.text
        assert "replace_all" not in result.text
        assert walk.read("twice.txt") == "one\none\n"

    PATCH = (
        "--- a/src/foo.py\n+++ b/src/foo.py\n@@ -10,3 +10,6 @@\n def foo():\n-    return 1\n"
        "+    return 2\n+\n+def bar():\n+    return 3\n # end\n"
    )

    @pytest.mark.feature("E18")
    def test_the_example_patch_is_applied(self, walk):
        walk.write("src/foo.py", "#\n" * 9 + "def foo():\n    return 1\n# end\n")

        assert walk.call("apply_patch", path="src/foo.py", patch=self.PATCH).ok

        assert walk.read("src/foo.py").endswith(
            "def foo():\n    return 2\n\ndef bar():\n    return 3\n# end\n"
        )

    @pytest.mark.feature("E18")
    def test_several_hunks_are_applied_together_or_not_at_all(self, walk):
        walk.write("src/two.py", "a\nb\nc\nd\ne\nf\ng\nh\n")
        first, second = "@@ -1,2 +1,2 @@\n-a\n+A\n b\n", "@@ -7,2 +7,2 @@\n g\n-h\n+H\n"
        wrong = "@@ -7,2 +7,2 @@\n g\n-z\n+Z\n"

        assert walk.code("apply_patch", path="src/two.py", patch=first + wrong) == "no_match"
        assert walk.read("src/two.py").startswith("a\n")
        assert walk.code("apply_patch", patch=first + second) == "invalid_arguments"
        assert walk.call("apply_patch", path="src/two.py", patch=first + second).ok
        assert walk.read("src/two.py") == "A\nb\nc\nd\ne\nf\ng\nH\n"

    @pytest.mark.feature("E18")
    def test_a_wrong_line_number_needs_no_other_program(self, walk):
        """Decided: the `patch` program is not a second try, because it applies with fuzz. The
        parser finds the lines wherever they stand, and only there."""
        walk.write("src/moved.py", "\n" * 30 + "def foo():\n    return 1\n# end\n")
        patch = self.PATCH.replace("foo.py", "moved.py")

        assert walk.call("apply_patch", path="src/moved.py", patch=patch).ok
        assert "return 2" in walk.read("src/moved.py")
        assert walk.code("apply_patch", path="src/two.py", patch=patch) == "invalid_arguments"

    @pytest.mark.feature("E19")
    def test_the_order_of_preference_is_part_of_the_descriptions(self, walk):
        assert "edit_file" in walk.tool("write_file")["description"]
        assert "apply_patch" in walk.tool("edit_file")["description"]


class TestSearching:
    @pytest.mark.feature("E20")
    def test_search_code_takes_a_pattern_and_shows_context_of_python_files(self, walk):
        result = walk.call("search_code", pattern=r"check_\w+\(", path="lib")

        assert result.text == (
            "lib/a.py-4-# 3\nlib/a.py-5-# 4\nlib/a.py:6:check_path(x)\nlib/a.py-7-# 6"
        )

    @pytest.mark.feature("E20")
    def test_search_code_takes_other_files_context_and_limits(self, walk):
        wide = walk.call("search_code", pattern="check_path", file_pattern="*.py", context_lines=3)
        text = walk.call("search_code", pattern="needle", path="lib", file_pattern="*.md")
        few = walk.call(
            "search_code",
            pattern="needle",
            path="lib",
            file_pattern="*.md",
            context_lines=0,
            max_results=3,
        )

        assert "lib/a.py-3-# 2" in wide.text
        assert sum(hit["matched"] for hit in text.data["hits"]) == 50
        assert [hit["line"] for hit in few.data["hits"]] == [1, 2, 3]

    @pytest.mark.feature("E21")
    def test_grep_takes_plain_text(self, walk):
        """Decided (D5): one engine; `grep` is plain text here and a pattern in other dialects."""
        found = walk.call("grep", pattern="value[0]", path="lib")
        imports = walk.call("grep", pattern="from lib.core import", path="lib", file_pattern="*.py")

        assert found.text == "lib/sub/c.py:2:value[0]"
        assert imports.text == "lib/sub/c.py:1:from lib.core import b"

    @pytest.mark.feature("E21")
    def test_grep_takes_case_depth_and_limit(self, walk):
        assert walk.call("grep", pattern="FROM LIB", path="lib").data["total"] == 0
        anyhow = walk.call("grep", pattern="FROM LIB", path="lib", case_sensitive=False)
        flat = walk.call("grep", pattern="from lib", path="lib", recursive=False)
        many = walk.call("grep", pattern="needle", path="lib")

        assert anyhow.data["total"] == 2
        assert [hit["path"] for hit in flat.data["hits"]] == ["lib/b.txt"]
        assert len(many.data["hits"]) == 100

    @pytest.mark.feature("E24")
    @pytest.mark.parametrize(
        ("arguments", "paths"),
        [
            ({"pattern": "*.yaml"}, ["lib/Conf.yaml"]),
            ({"pattern": "conftest.py"}, ["lib/sub/conftest.py"]),
            ({"pattern": "test_*.py"}, ["lib/sub/test_one.py"]),
            ({"pattern": "*.py", "recursive": False}, ["lib/a.py"]),
            ({"pattern": "*.env*"}, []),
        ],
    )
    def test_files_are_found_by_name(self, walk, arguments, paths):
        assert walk.call("find_files", path="lib", **arguments).data["paths"] == paths
