"""Names in, canonical names out: every spelling, in every dialect."""

import pytest
from tests.dialects.builtin import TOOLS

from handrail.core.problems import ProblemRaised
from handrail.dialects.base import Arg, Dialect, View, Vocabulary, same
from handrail.dialects.known import DIALECTS, find_vocabulary
from handrail.dialects.spellings import SPELLINGS

IN_EVERY_DIALECT = pytest.mark.parametrize("dialect", DIALECTS)


def canonical(dialect: str, name: str, **arguments: object) -> dict[str, object]:
    """The arguments that a call by this name has inside, with the tool's name as `tool`."""
    vocabulary = find_vocabulary(dialect)
    view = vocabulary.resolve(name)
    assert view is not None
    return {"tool": view.tool, **vocabulary.translate(view, arguments).arguments}


# --- names of tools -----------------------------------------------------------------------


@pytest.mark.feature("E27", "C21")
@IN_EVERY_DIALECT
@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("read_file", "read_file"),
        ("Read", "read_file"),
        ("readFile", "read_file"),
        ("write_file", "write_file"),
        ("Write", "write_file"),
        ("edit_file", "edit_file"),
        ("Edit", "edit_file"),
        ("editFile", "edit_file"),
        ("delete_file", "delete_file"),
        ("list_files", "list_files"),
        ("listFiles", "list_files"),
        ("list_dir", "list_files"),
        ("LS", "list_files"),
        ("find_files", "find_files"),
        ("Glob", "find_files"),
        ("glob", "find_files"),
        ("search_files", "find_files"),
        ("grep", "grep"),
        ("Grep", "grep"),
        ("grep_files", "grep"),
        ("search_code", "grep"),
        ("file_info", "file_info"),
        ("get_file_info", "file_info"),
    ],
)
def test_every_name_of_every_vocabulary_is_understood_everywhere(dialect, name, tool):
    view = find_vocabulary(dialect).resolve(name)

    assert view is not None
    assert view.tool == tool


@IN_EVERY_DIALECT
@pytest.mark.parametrize(("name", "tool"), [("READ", "read_file"), ("Read_File", "read_file")])
def test_another_case_is_understood_where_it_can_mean_only_one_tool(dialect, name, tool):
    view = find_vocabulary(dialect).resolve(name)

    assert view is not None
    assert view.tool == tool


def test_a_name_that_differs_from_two_tools_only_by_case_is_not_guessed():
    two = Dialect("two", 1, (View("one", "Look"), View("other", "look")))
    vocabulary = Vocabulary(two, [])

    assert vocabulary.resolve("LOOK") is None
    assert vocabulary.resolve("look").tool == "other"


@IN_EVERY_DIALECT
@pytest.mark.parametrize("name", ["", "reed_file", "basher", "Read ", "réad"])
def test_other_names_are_unknown(dialect, name):
    assert find_vocabulary(dialect).resolve(name) is None


@pytest.mark.feature("E20", "E21")
def test_a_name_means_what_it_means_in_the_dialect_that_is_spoken():
    assert canonical("architect", "grep", pattern="a.b")["literal"] is True
    assert "literal" not in canonical("canonical", "grep", pattern="a.b")
    assert "literal" not in canonical("claude", "grep", pattern="a.b")
    assert "literal" not in canonical("architect", "Grep", pattern="a.b")
    assert "literal" not in canonical("architect", "search_code", pattern="a.b")


def test_what_a_name_implies_comes_with_it_in_every_dialect():
    for dialect in DIALECTS.keys() - {"linggen"}:
        assert canonical(dialect, "Read", file_path="a")["number_lines"] is True
        assert canonical(dialect, "Glob", pattern="*")["sort"] == "mtime"
        assert canonical(dialect, "glob", pattern="*")["sort"] == "mtime"
        assert "sort" not in canonical(dialect, "find_files", pattern="*")


def test_a_name_that_two_dialects_have_is_that_of_the_one_that_is_spoken():
    assert "number_lines" not in canonical("linggen", "Read", path="a")
    assert canonical("linggen", "Bash", cmd="ls", timeout_ms=5_000)["timeout_s"] == 5
    assert canonical("attocode", "bash", command="ls", timeout=5_000)["timeout_s"] == 5
    assert canonical("claude", "bash", command="ls", timeout=5_000)["timeout_s"] == 5


def test_a_tool_of_the_users_own_is_shown_as_it_is():
    vocabulary = find_vocabulary("claude")
    view = vocabulary.shown("word_count")
    given = {"file_path": "a", "anything": [1]}

    assert (view.tool, view.name) == ("word_count", "word_count")
    assert vocabulary.shown("word_count") is view
    assert vocabulary.translate(view, given) == (given, {}, {})
    assert [arg.name for arg in view.shown_args(["b", "a"])] == ["b", "a"]


def test_a_tool_that_a_dialect_has_no_word_for_is_shown_canonically():
    view = find_vocabulary("claude").shown("list_files")

    assert view is find_vocabulary("canonical").shown("list_files")


def test_a_dialect_may_show_one_tool_in_two_ways():
    vocabulary = find_vocabulary("architect")

    assert [view.name for view in vocabulary.views("grep")] == ["search_code", "grep"]
    assert vocabulary.shown("grep").name == "search_code"


@pytest.mark.parametrize(
    ("names", "views"),
    [
        (["search_code"], ["search_code"]),
        (["grep"], ["grep"]),
        (["search_code", "grep"], ["search_code", "grep"]),
        (["grep:search_code"], ["search_code"]),
        (["grep:search_code", "grep"], ["search_code"]),
        (["grep:grep", "read_file"], ["grep"]),
        (["Grep"], ["search_code", "grep"]),
        (["Grep", "search_code"], ["search_code", "grep"]),
        (["search_code", "read_file"], ["search_code"]),
        (["search_code", "unheard_of"], ["search_code"]),
        (["search_*", "grep"], ["search_code", "grep"]),
        (["read_file"], ["search_code", "grep"]),
        ([], ["search_code", "grep"]),
    ],
)
def test_a_caller_gets_the_views_that_its_list_names(names, views):
    chosen = find_vocabulary("architect").chosen_views("grep", names)

    assert [view.name for view in chosen] == views


def test_the_only_view_of_a_tool_needs_no_name():
    chosen = find_vocabulary("architect").chosen_views("read_file", ["something"])

    assert [view.tool for view in chosen] == ["read_file"]


def test_an_unknown_dialect_is_refused_with_the_known_ones():
    with pytest.raises(ProblemRaised) as caught:
        find_vocabulary("klingon")

    assert len(DIALECTS) == 8
    assert caught.value.problem.hint == f"dialects: {', '.join(DIALECTS)}"


# --- names of arguments -------------------------------------------------------------------


@pytest.mark.feature("E61")
@IN_EVERY_DIALECT
def test_every_spelling_of_an_argument_is_understood_in_every_dialect(dialect):
    vocabulary = find_vocabulary(dialect)
    spellings = [
        (view.tool, arg.canonical, arg.name)
        for one in (*DIALECTS.values(), SPELLINGS)
        for view in one.views
        for arg in view.args
        if arg.canonical and arg.read is None
    ]
    assert len(spellings) > 150

    for tool, argument, spelling in spellings:
        for view in vocabulary.views(tool):
            needed = {arg.name: arg.canonical for arg in view.args if arg.name in view.required}
            others = {name: "x" for name, canonical in needed.items() if canonical != argument}
            translated = vocabulary.translate(view, {**others, spelling: "value"})

            expected = {**view.defaults, **{needed[name]: "x" for name in others}}
            assert translated.arguments == {**expected, argument: "value"}
            assert translated.spelled.get(argument, argument) == spelling


@pytest.mark.feature("E61")
@pytest.mark.parametrize("name", ["Read", "Write", "Edit"])
@pytest.mark.parametrize("spelling", ["file", "filepath", "file_path", "filename", "path"])
def test_the_file_has_many_names(name, spelling):
    assert canonical("claude", name, **{spelling: "a.py"})["path"] == "a.py"


@pytest.mark.feature("E61")
@pytest.mark.parametrize(
    "old", ["old", "search", "from", "old_str", "oldString", "old_text", "oldText", "old_string"]
)
@pytest.mark.parametrize("new", ["new", "replace", "to", "new_str", "newString", "new_string"])
def test_both_sides_of_an_edit_have_many_names(old, new):
    assert canonical("canonical", "edit_file", path="a", **{old: "x", new: "y"}) == {
        "tool": "edit_file",
        "path": "a",
        "old_string": "x",
        "new_string": "y",
    }


@pytest.mark.feature("E22", "E25")
def test_linggens_words_for_searching():
    assert canonical("canonical", "grep", query="x", globs=["*.py"], max_results=5) == {
        "tool": "grep",
        "pattern": "x",
        "glob": ["*.py"],
        "limit": 5,
    }
    found = canonical("canonical", "find_files", globs=["*.py", "*.md"], max_results=5)
    assert (found["pattern"], found["limit"]) == (["*.py", "*.md"], 5)


@pytest.mark.feature("E02")
def test_both_ways_to_ask_for_some_lines():
    assert canonical("claude", "Read", path="a", line_range=[3, 9], max_bytes=100) == {
        "tool": "read_file",
        "number_lines": True,
        "path": "a",
        "line_range": [3, 9],
        "max_bytes": 100,
    }
    assert canonical("canonical", "Read", file_path="/w/a", offset=3, limit=6) == {
        "tool": "read_file",
        "number_lines": True,
        "path": "/w/a",
        "offset": 3,
        "limit": 6,
    }


@pytest.mark.feature("E23")
def test_claudes_grep_has_the_options_of_the_program():
    given = {"pattern": "x", "-i": True, "-n": False, "-A": 1, "-B": 2, "-C": 3, "head_limit": 4}

    assert canonical("claude", "Grep", **given, offset=5, multiline=True, type="py") == {
        "tool": "grep",
        "pattern": "x",
        "ignore_case": True,
        "line_numbers": False,
        "after": 1,
        "before": 2,
        "context": 3,
        "limit": 4,
        "offset": 5,
        "multiline": True,
        "type": "py",
    }


def test_a_limit_of_zero_means_no_limit_for_claude():
    assert canonical("claude", "Grep", pattern="x", head_limit=0)["limit"] == 1_000_000


@pytest.mark.feature("E20")
def test_architects_search_code_has_the_defaults_of_its_seed():
    assert canonical("architect", "search_code", pattern="x") == {
        "tool": "grep",
        "output_mode": "content",
        "glob": "*.py",
        "before": 2,
        "after": 2,
        "limit": 50,
        "pattern": "x",
    }
    asked = canonical("architect", "search_code", pattern="x", context_lines=0, file_pattern="*")
    assert (asked["context"], asked["glob"]) == (0, None)


@pytest.mark.feature("E21")
def test_architects_grep_is_literal_and_knows_case_and_depth():
    given = {"file_pattern": "*", "recursive": False, "case_sensitive": False, "max_results": 7}

    assert canonical("architect", "grep", pattern="a.b(", **given) == {
        "tool": "grep",
        "output_mode": "content",
        "literal": True,
        "limit": 7,
        "pattern": "a.b(",
        "glob": None,
        "recursive": False,
        "ignore_case": True,
    }


@pytest.mark.feature("E24")
def test_architects_find_files_may_stay_in_one_directory():
    assert canonical("architect", "find_files", pattern="*.py", recursive=False) == {
        "tool": "find_files",
        "pattern": "*.py",
        "recursive": False,
    }


@pytest.mark.parametrize(
    ("given", "ignore_case"),
    [(True, False), (False, True), ("false", True), ("Yes", False), (0, True), ("maybe", "maybe")],
)
def test_an_inverted_flag_is_inverted_in_every_form_of_a_flag(given, ignore_case):
    assert canonical("canonical", "grep", pattern="x", case_sensitive=given)["ignore_case"] is (
        ignore_case
    )


@pytest.mark.parametrize(("depth", "recursive"), [(1, False), (2, True), ("deep", "deep")])
def test_a_depth_becomes_the_question_whether_to_go_deeper(depth, recursive):
    assert canonical("codex", "list_dir", dir_path=".", depth=depth)["recursive"] == recursive


def test_what_has_no_meaning_here_is_kept_apart_and_not_passed_on():
    vocabulary = find_vocabulary("codex")

    translated = vocabulary.translate(
        vocabulary.resolve("list_dir"), {"dir_path": "src", "offset": 1, "limit": 25}
    )

    assert translated.arguments == {"path": "src"}
    assert translated.ignored == {"offset": 1, "limit": 25}


def test_a_limit_of_one_tool_is_not_the_limit_of_another():
    assert canonical("claude", "Read", file_path="a", limit=5)["limit"] == 5
    assert "limit" not in canonical("claude", "LS", path="a", limit=5)
    assert canonical("claude", "Read", file_path="a", head_limit=5)["head_limit"] == 5


def test_an_unknown_argument_goes_through_for_validation_to_explain():
    vocabulary = find_vocabulary("claude")

    translated = vocabulary.translate(vocabulary.resolve("Read"), {"file": "a", "fil_path": "b"})

    assert translated.arguments["fil_path"] == "b"
    assert translated.spelled == {"path": "file", "offset": "offset", "limit": "limit"}


def test_what_the_caller_says_is_stronger_than_what_a_view_implies():
    assert canonical("claude", "Read", file_path="a", number_lines=False)["number_lines"] is False
    assert canonical("architect", "grep", pattern="x", literal=False)["literal"] is False


# --- two spellings of one argument --------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "two"), [("a", "b"), (1, True), (0, False), (1, 1.0), ("1", 1), (None, "x")]
)
def test_two_spellings_with_different_values_are_refused(one, two):
    with pytest.raises(ProblemRaised) as caught:
        canonical("claude", "Read", file_path=one, path=two)

    problem = caught.value.problem
    assert problem.code == "invalid_arguments"
    assert "Invalid arguments: 'file_path'" in problem.message
    assert problem.field == "path"


def test_two_spellings_with_one_value_are_one_argument():
    assert canonical("claude", "Read", file_path="a", path="a", file="a")["path"] == "a"


def test_a_converted_spelling_is_compared_by_what_it_means():
    arguments = canonical("architect", "grep", pattern="x", case_sensitive=False, ignore_case=True)
    assert arguments["ignore_case"] is True
    with pytest.raises(ProblemRaised):
        canonical("architect", "grep", pattern="x", case_sensitive=True, ignore_case=True)


# --- costs and back again -----------------------------------------------------------------


RENAMED_INSIDE = {
    view.tool
    for one in DIALECTS.values()
    for view in one.views
    if any(arg.inner for arg in view.args)
}


@pytest.mark.parametrize("tool", TOOLS)
def test_canonical_arguments_pass_through_untouched_and_uncopied(tool):
    vocabulary = find_vocabulary("canonical")
    view = vocabulary.shown(tool)
    given = dict(view.example)

    translated = vocabulary.translate(view, given)

    assert translated.arguments == given
    # Names inside the items of a list are looked at, which copies the list.
    assert (translated.arguments is given) == (tool not in RENAMED_INSIDE)
    assert translated.ignored == {}


def test_spelling_leaves_out_what_the_view_says_by_itself():
    vocabulary = find_vocabulary("architect")
    literal, regex = vocabulary.resolve("grep"), vocabulary.resolve("search_code")
    inside = {"pattern": "x", "literal": True, "output_mode": "content", "ignore_case": True}

    assert vocabulary.spell(literal, inside) == {"pattern": "x", "case_sensitive": False}
    assert vocabulary.spell(regex, {"pattern": "x", "type": "py"}) == {"pattern": "x", "type": "py"}


def test_a_view_shows_what_it_lists_and_hides_what_it_says():
    closed = View("t", "T", (Arg("x", "y"), Arg("z", "z", hidden=True)))
    open_ = View("t", "T", (Arg("x", "y"), Arg("z", "z", hidden=True)), rest=True)

    assert [arg.name for arg in closed.shown_args(["w", "y", "z"])] == ["x"]
    assert [arg.name for arg in open_.shown_args(["w", "y", "z"])] == ["w", "x"]
    assert same("a", "b") == (Arg("a", "a"), Arg("b", "b"))
