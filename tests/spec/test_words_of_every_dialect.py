"""Every text that a caller reads, in every dialect: calls of every tool are provoked to fail in many
ways, and no text names a tool or quotes an argument that the dialect does not show.
"""

import ast
import importlib
import json
import pkgutil
import re
from pathlib import Path

import pytest

import handrail
from handrail.core.names.caller_words import CallerWords, current_words
from handrail.core.problems import CODES, ProblemTemplate
from handrail.dialects.known import DIALECTS, find_vocabulary
from handrail.hooks.spec import HookEvent
from handrail.tools.builtin import BUILTIN_NAMES

PACKAGE = Path(handrail.__file__).parent
TOOLS = {view.tool for view in DIALECTS["canonical"].views}
ARGUMENTS = {
    arg.canonical
    for dialect in DIALECTS.values()
    for view in dialect.views
    for arg in view.args
    if arg.canonical
}
# Names that are no word of the language, so that they can only be names.
NAMES = {name for name in TOOLS | ARGUMENTS if "_" in name}
WORDS = re.compile(r"(?<![\w./-])[a-z]+(?:_[a-z]+)+(?![\w(])")
QUOTED = re.compile(r"(?<=')[A-Za-z_-]+(?=' (?:is|should|and)\b)|(?<=\w\()[a-z_]+(?==)")
# Areas whose sentences reach a caller.
AREAS = [
    "tools",
    "engine",
    "policy",
    "host",
    "history",
    "planmode",
    "core",
    "skills",
    "web",
    "media",
    "lsp",
    "hooks",
    "subagents",
    "mcp.client",
    "agent",
    "models",
    "store",
]
# For the user or a program: settings, definitions of agents and Python's arguments have canonical names.
FOR_USERS = (
    *("policy/agents.py", "policy/messages.py", "agent/messages.py"),
    "subagents/definitions.py",
)
WRONG = [
    {},
    {"no_such_argument": 1},
    *(
        {"path": path}
        for path in ("missing.txt", "../outside", ".git/config", "folder", "a.bin", "/etc/passwd")
    ),
]


def strangers(text, shown, view, properties):
    """The names in a text that the caller was not shown, who calls this view and was shown others."""
    mine = {arg.name for arg in view.shown_args(properties)}
    found = {word for word in WORDS.findall(text) if word in NAMES}
    found |= {word for word in QUOTED.findall(text) if word in ARGUMENTS}
    return found - shown - mine - {view.name, "no_such_argument"}


def spelled(vocabulary, view, example):
    """Variants of a call of a view: its example, nothing, and the example with other paths."""
    paths = {arg.name for arg in view.args if arg.canonical == "path"} | (
        {"path"} if view.rest else set()
    )
    yield dict(example)
    for wrong in WRONG:
        path = wrong.get("path")
        if path is None:
            yield dict(wrong)
        elif paths & set(example):
            yield {**example, **dict.fromkeys(paths & set(example), path)}
    for name in example:
        yield {key: value for key, value in example.items() if key != name}
        yield {**example, name: {"of": "another kind"}}
        yield {**example, name: ""}


def modes(vocabulary):
    """Settings under which every call is made, with what they are to provoke."""
    deny = {"permissions": {"deny": sorted(map(vocabulary.shown_name, TOOLS - {"grep", "undo"}))}}
    guard = "echo no >&2; exit 2"
    return {
        "default": {},
        "dry run": {"dry_run": True, "mode": "accept-edits"},
        "plan": {"mode": "plan"},
        "dont-ask": {"mode": "dont-ask"},
        "denied": {"config": deny},
        "blocked": {"config": {"hooks": {str(HookEvent.PRE_TOOL_USE): [{"command": guard}]}}},
    }


@pytest.fixture
def workspace(tmp_path):
    """A folder with a text, a binary file and a folder in it."""
    root = tmp_path / "workspace"
    (root / "folder").mkdir(parents=True)
    (root / "src").mkdir()
    for name in ("src/app.py", "src/app.ts", "src/main.rs", "a.txt", "notes.txt"):
        (root / name).write_text("one\na\na\n")
    (root / "a.bin").write_bytes(b"\0\1" * 40)
    return root


@pytest.mark.finding("F50")
@pytest.mark.parametrize("setting", modes(find_vocabulary("canonical")))
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_no_answer_names_what_the_dialect_does_not_show(workspace, dialect, setting):
    vocabulary = find_vocabulary(dialect)
    asked, wrong, codes = [], [], set()
    options = modes(vocabulary)[setting]

    def approve(request):
        asked.append(request)
        return False

    approver = approve if setting == "default" else None
    async with handrail.open(
        workspace, dialect=dialect, store=":memory:", approver=approver, **options
    ) as rt:
        # What a client of the MCP server is shown.
        shown = {one["name"] for one in rt.declare("mcp")}
        for tool in sorted(TOOLS):
            schema = rt.registry.get(tool).get_schema()["function"]["parameters"]["properties"]
            for view in vocabulary.views(tool):
                variants = spelled(vocabulary, view, view.example)
                # Guards look at valid calls only, and hooks start programs.
                for arguments in variants if setting == "default" else (view.example,):
                    asked.clear()
                    result = await rt.call(view.name, arguments)
                    texts = [result.text, *map(_question, asked)]
                    codes.add(result.problem.code if result.problem else result.status)
                    wrong += [
                        (view.name, arguments, found, text[:300])
                        for text in texts
                        if (found := strangers(text, shown, view, schema))
                    ]
        wrong += [("summary", rt.plan_summary())] if _names(rt.plan_summary(), vocabulary) else []

    assert set(BUILTIN_NAMES) == TOOLS
    assert wrong == []
    assert len(codes) > 1


# Arguments that say where a cut result goes on, or how it is narrowed down.
PAGING = ("path", "pattern", "glob", "offset", "limit", "line_range", "max_bytes")
NOTES = re.compile(r"^\[(.*)\]$", re.MULTILINE)
CUT = {
    "read_file": [{"path": "a.txt"}, {"path": "cells.ipynb"}],
    "grep": [{"pattern": "needle", "output_mode": "content"}],
    "find_files": [{"pattern": "*.empty"}],
    "list_files": [{"path": "many"}],
    "apply_patch": [{"patch": "@@ -1 +1 @@\n-a\n+b\n"}],
}


@pytest.fixture(scope="module")
def large_workspace(tmp_path_factory):
    """A folder of which every tool shows a part only."""
    root = tmp_path_factory.mktemp("large")
    (root / "many").mkdir()
    for number in range(1_001):
        (root / "many" / f"{number}.empty").touch()
    (root / "a.txt").write_text("needle\n" * 3_000)
    cell = {"cell_type": "markdown", "metadata": {}, "source": "one " * 60}
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell] * 1_000}
    (root / "cells.ipynb").write_text(json.dumps(notebook))
    return root


@pytest.mark.finding("F50")
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_cut_result_goes_on_with_arguments_that_the_dialect_shows(large_workspace, dialect):
    vocabulary = find_vocabulary(dialect)
    wrong, notes = [], 0
    async with handrail.open(large_workspace, dialect=dialect, store=":memory:") as rt:
        for tool, calls in CUT.items():
            schema = rt.registry.get(tool).get_schema()["function"]["parameters"]["properties"]
            for view, canonical in (
                (one, given) for one in vocabulary.views(tool) for given in calls
            ):
                shown = {arg.name for arg in view.shown_args(schema)}
                spelled = vocabulary.spell(view, canonical)
                result = await rt.call(view.name, {k: v for k, v in spelled.items() if k in shown})
                told = (
                    result.problem.hint if result.problem else " ".join(NOTES.findall(result.text))
                )
                notes += bool(told)
                named = {
                    word for word in re.findall(r"(?<![/.\w])\w+", told or "") if word in PAGING
                }
                wrong += [(view.name, told)] if named - shown else []

    assert wrong == []
    assert notes >= 4


# What is told about calls of the past.
PAST = [
    ("edit_file", {"path": "a.txt", "old_string": "one", "new_string": "two"}),
    ("write_file", {"path": "notes.txt", "content": "new\n"}),
    ("show_changes", {}),
    ("undo", {"scope": "path", "target": "a.txt"}),
    ("undo", {"scope": "path", "target": "notes.txt"}),
    ("undo", {"scope": "path", "target": "notes.txt"}),
]


@pytest.mark.finding("F50")
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_calls_of_the_past_have_the_names_of_the_dialect(workspace, dialect):
    vocabulary = find_vocabulary(dialect)
    texts = []
    async with handrail.open(
        workspace,
        dialect=dialect,
        store=":memory:",
        mode="accept-edits",
        config={"freshness": "off"},
    ) as rt:
        for tool, given in PAST:
            view = vocabulary.shown(tool)
            texts.append((await rt.call(view.name, vocabulary.spell(view, given))).text)

    assert [text for text in texts if _names(text, vocabulary)] == []
    assert vocabulary.shown_name("edit_file") in texts[2]
    assert vocabulary.shown_name("edit_file") in texts[3]


def _question(request):
    """What the user is asked, without what the model wrote."""
    if not isinstance(request, handrail.ApprovalRequest):
        return "".join(one.question for one in request.questions)
    return f"{request.action}\n{request.reason}\n{request.preview}"


def _names(text, vocabulary):
    shown = {each.name for tool in TOOLS for each in vocabulary.views(tool)}
    return {word for word in WORDS.findall(text) if word in TOOLS} - shown


@pytest.mark.finding("F50")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_problem_of_every_code_is_told_in_the_words_of_the_dialect(dialect):
    vocabulary = find_vocabulary(dialect)
    found: dict[str, ProblemTemplate] = {}
    for area in AREAS:
        package = importlib.import_module(f"handrail.{area}")
        for module in pkgutil.walk_packages(package.__path__, f"handrail.{area}."):
            if module.name.endswith(".messages"):
                named = vars(importlib.import_module(module.name))
                found |= {
                    f"{module.name}.{name}": value
                    for name, value in named.items()
                    if isinstance(value, ProblemTemplate)
                }
    wrong = [
        (name, strange)
        for name, template in found.items()
        if (strange := _names(_without_values(template), vocabulary))
    ]
    marked = {name: one for name, one in found.items() if "[" in f"{one.message}{one.hint}"}
    for tool in sorted(TOOLS):
        for view in vocabulary.views(tool):
            words = CallerWords(
                vocabulary.table(view).spelled, view.rest, vocabulary.shown_name, dict
            )
            token = current_words.set(words)
            try:
                for name, template in marked.items():
                    told = template.fill(**_Values(template))
                    text = told.hint or ""
                    shown = {arg.name for arg in view.args if not arg.hidden}
                    strange = _names(f"{told.message} {text}", vocabulary)
                    if not view.rest:
                        strange |= {w for w in WORDS.findall(text) if w in ARGUMENTS} - shown
                    wrong += [(name, view.name, strange)] if strange - _SETTINGS else []
            finally:
                current_words.reset(token)

    assert wrong == []
    assert len(found) > 200
    assert {template.code for template in found.values()} >= set(CODES) - {
        *("budget_exceeded", "unknown_tool", "tampered", "already_applied"),
        *("no_match", "duplicate_id", "store_unavailable", "exists"),
    }


def _without_values(template):
    return re.sub(r"\{[^}]*\}", "", f"{template.message} {template.hint}")


# Arguments that share their name with a setting or a field of Python's face.
_SETTINGS = {"allow_delete", "timeout_s"}


class _Values(dict):
    """A value for every name in a template."""

    def __init__(self, template):
        import string

        text = f"{template.message} {template.hint or ''}"
        for _, name, spec, _ in string.Formatter().parse(text):
            if name and not name.startswith(("arg[", "tool_name[")):
                number = spec and spec[-1] in "gdf,"
                self[re.split(r"[.\[]", name)[0]] = 1 if number else "value"


@pytest.mark.finding("F50")
def test_no_sentence_in_the_code_names_a_tool_or_an_argument_itself():
    found = []
    for area in AREAS:
        for path in sorted(PACKAGE.joinpath(*area.split(".")).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            about = {id(node.body[0].value) for node in ast.walk(tree) if _has_docstring(node)}
            found += [
                f"{path.relative_to(PACKAGE)}:{node.lineno}: {node.value[:80]}"
                for node in ast.walk(tree)
                if isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and id(node) not in about
                and " " in node.value
                and {*re.findall(r"(?<![\w\[{])[a-z_]+(?![\w\]!:}])", node.value)} & NAMES
            ]

    assert [one for one in found if not one.startswith(FOR_USERS)] == []


def _has_docstring(node):
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return (
        isinstance(node, kinds)
        and bool(node.body)
        and isinstance(node.body[0], ast.Expr)
        and isinstance(node.body[0].value, ast.Constant)
    )


@pytest.mark.finding("F50")
def test_every_hint_that_names_a_tool_is_a_template():
    # Of a template it is known which tools it names, so that the hint can be left out.
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        hints = [
            word.value
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Call)
            for word in node.keywords
            if word.arg == "hint"
        ]
        called = [one for hint in hints for one in ast.walk(hint) if isinstance(one, ast.Call)]
        found += [
            f"{path.relative_to(PACKAGE)}:{one.lineno}"
            for one in called
            if isinstance(one.func, ast.Name) and one.func.id == "tool_name"
        ]

    assert found == []


@pytest.mark.finding("F50")
@pytest.mark.parametrize(
    ("dialect", "edit", "old", "other"),
    [
        ("claude", "Edit", "old_string", "Write"),
        ("coauthor", "editFile", "oldString", "write_file"),
        ("canonical", "edit_file", "old_string", "write_file"),
    ],
)
async def test_a_hint_names_a_tool_only_to_a_model_that_was_shown_it(
    workspace, dialect, edit, old, other
):
    new = old.replace("old", "new")
    given = {"file_path" if dialect == "claude" else "path": "a.txt", old: "", new: "x"}
    block = {"type": "tool_use", "name": edit, "input": given}
    texts = {}
    async with handrail.open(
        workspace, dialect=dialect, store=":memory:", mode="accept-edits"
    ) as rt:
        for allowed in ([edit], [edit, other]):
            rt.declare("anthropic", allowed=allowed)
            message = {"role": "assistant", "content": [{**block, "id": str(len(allowed))}]}
            (answer,) = await rt.answer(message)
            texts[len(allowed)] = str(answer["content"])

    assert "exists" in texts[1]
    assert other not in texts[1]
    assert other in texts[2]
