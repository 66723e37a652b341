"""`handrail session`, and commands that are given the name of a session."""

import asyncio
import json
import shlex

import pytest

import handrail as package


@pytest.fixture
def kept(handrail, workspace):
    """A session `s1` of one task: text, a call without text, a long result."""
    lines = [
        {"text": "I look.", "calls": [{"name": "read_file", "arguments": {"path": "long.txt"}}]},
        {"calls": [{"name": "read_file", "arguments": {"path": "a.txt"}}]},
        {"text": "Done."},
    ]
    workspace.joinpath("long.txt").write_text("".join(f"line {n}\n" for n in range(1, 31)))
    workspace.joinpath("task.jsonl").write_text("\n".join(map(json.dumps, lines)))
    task = "Look at @a.txt, @missing.txt and @dataclass"
    return handrail("run", "--once", "--model", "script:task.jsonl", "--session", "s1", task)


@pytest.mark.parametrize("action", ["show", "export", "delete", "rewind"])
def test_where_there_is_no_session_none_is_named(handrail, action):
    done = handrail("session", action, "--json")

    assert done.code == 1
    assert done.json["problem"]["code"] == "not_found"


@pytest.mark.parametrize("action", ["export", "delete"])
def test_what_needs_a_session_says_so(handrail, kept, action):
    done = handrail("session", action, "--json")

    assert done.code == 2
    assert done.json["problem"]["field"] == "session"
    assert f"session {action}" in done.json["problem"]["message"]


def test_each_speaker_has_a_heading_and_results_are_shown(handrail, kept):
    shown = handrail("session", "show", "s1").out.splitlines()
    full = handrail("session", "show", "s1", "--full").out.splitlines()

    headings = [line for line in shown if not line.startswith(" ")]
    # The read of the user's mention was turn 1.
    assert headings == ["you", "model, turn 2", "model, turn 3", "model, turn 4"]
    first = shown.index("    line 1")
    assert shown[first - 1].startswith("  • read_file")
    assert shown[first + 9] == "    line 10"
    assert "20 lines more; --full" in shown[first + 10]
    assert "    line 30" in full
    assert "    two" in shown


def test_each_result_is_shown_below_its_own_call(handrail, workspace):
    reads = [{"name": "read_file", "arguments": {"path": path}} for path in ("a.txt", "b.txt")]
    workspace.joinpath("b.txt").write_text("bee\n")
    workspace.joinpath("task.jsonl").write_text(json.dumps({"calls": reads}))
    handrail("run", "--once", "--model", "script:task.jsonl", "Look")

    shown = handrail("session", "show").out.splitlines()

    first, second = (at for at, line in enumerate(shown) if line.startswith("  • read_file"))
    assert shown[first + 1 : second] == ["    one", "    two"]
    assert shown[second + 1] == "    bee"


def test_a_mentioned_file_that_does_not_exist_is_reported(kept):
    assert "@missing.txt: there is no" in kept.out
    assert "@dataclass" not in kept.out
    assert "read a.txt" in kept.out


@pytest.mark.parametrize("columns", ["80", "48"])
def test_the_list_has_start_files_and_model_at_any_width(handrail, kept, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    listed = handrail("session", "list")

    for word in ("s1", "started", "files", "script:"):
        assert word in listed.out
    assert max(map(len, listed.out.splitlines())) <= int(columns)


def test_a_session_takes_one_line_of_a_usual_terminal(handrail, workspace, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    workspace.joinpath("a-task-of-two.jsonl").write_text('{"text": "Done."}\n')
    handrail("run", "--once", "--model", "script:a-task-of-two.jsonl", "A task with a long title")

    heads, line = handrail("session", "list").out.splitlines()

    assert heads.startswith("session")
    assert "A task" in line


def test_the_start_of_a_session_is_not_that_of_its_last_task(handrail, kept, workspace):
    [before] = handrail("session", "list", "--json").lines
    workspace.joinpath("task.jsonl").write_text('{"text": "More."}\n')
    handrail("run", "--once", "--model", "script:task.jsonl", "-c", "Go on")
    [after] = handrail("session", "list", "--json").lines

    assert after["began_ns"] == before["began_ns"] <= before["at_ns"] < after["at_ns"]


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize(
    "words",
    [
        ("diff", "--session", "nosuch"),
        ("diff", "--stat", "--session", "nosuch"),
        ("tasks", "--session", "nosuch"),
        ("log", "--session", "nosuch"),
        ("log", "--turn", "nosuch:1"),
        ("undo", "--session", "nosuch"),
        ("redo", "--session", "nosuch"),
        ("session", "show", "nosuch"),
        ("run", "--once", "--resume", "nosuch", "Go on"),
    ],
)
def test_a_session_that_does_not_exist_is_a_usage_error(handrail, recorded, words):
    if recorded:
        handrail("call", "read_file", "path=a.txt", "--session", "other")

    done = handrail(*words)

    assert (done.code, done.out) == (2, "")
    assert "'nosuch'" in done.err
    assert "handrail session list" in done.err


def test_a_session_without_changes_or_tasks_is_no_error(handrail):
    handrail("call", "read_file", "path=a.txt", "--session", "other")

    assert handrail("diff", "--session", "other").code == 0
    assert handrail("tasks", "--session", "other").out == "no tasks\n"


@pytest.fixture
def mentioned(handrail, workspace):
    """A session in which a read of the user's comes before the model's turns; then it is rewound."""
    edits = [("two", "2"), ("2", "zwei")]
    lines = [
        {
            "calls": [
                {
                    "name": "edit_file",
                    "arguments": {"path": "a.txt", "old_string": old, "new_string": new},
                }
            ]
        }
        for old, new in edits
    ]
    lines.append({"text": "Done."})
    workspace.joinpath("task.jsonl").write_text("\n".join(map(json.dumps, lines)))
    words = ["run", "--once", "--model", "script:task.jsonl", "--session", "s1"]
    handrail(*words, "Change @a.txt")


def test_log_diff_undo_and_rewind_count_the_same_turns(handrail, workspace, mentioned):
    logged = handrail("log", "--session", "s1", "--json").lines
    second, first = [one for one in logged if one["requested"]["tool"] == "edit_file"]
    turns = [first["turn"], second["turn"]]
    diffs = [handrail("diff", "--turn", turn, "--json").json["diff"] for turn in turns]
    undone = handrail("undo", "--turn", f"s1:{turns[1]}")
    after_undo = workspace.joinpath("a.txt").read_text()
    handrail("redo")
    rewound = handrail("session", "rewind", "s1", turns[0])

    assert [first["call_id"], second["call_id"]] == [f"s1.{turn}.1" for turn in turns]
    assert ["+2" in diffs[0], "+zwei" in diffs[1]] == [True, True]
    assert undone.code == 0
    assert after_undo == "one\n2\n"
    assert (rewound.code, workspace.joinpath("a.txt").read_text()) == (0, "one\n2\n")


def test_a_continued_conversation_goes_on_counting(handrail, workspace, mentioned):
    last = handrail("session", "list", "--json").json["last_turn"]
    edit = {"path": "a.txt", "old_string": "zwei", "new_string": "due"}
    lines = [{"calls": [{"name": "edit_file", "arguments": edit}]}, {"text": "Done."}]
    workspace.joinpath("task.jsonl").write_text("\n".join(map(json.dumps, lines)))
    handrail("run", "--once", "--model", "script:task.jsonl", "-c", "More")

    newest = handrail("log", "-n", "1", "--json").json
    assert newest["turn"] > last
    assert newest["call_id"] == f"s1.{newest['turn']}.1"


def test_the_list_counts_responses_of_the_model(handrail, workspace, mentioned):
    [listed] = handrail("session", "list", "--json").lines
    handrail("session", "rewind", "s1", listed["last_turn"] - 2)
    [rewound] = handrail("session", "list", "--json").lines

    # The read of the mention has a number of its own.
    assert (listed["turns"], listed["last_turn"]) == (3, 4)
    assert (rewound["turns"], rewound["last_turn"]) == (1, 2)
    assert " 1 " in handrail("session", "list").out


def test_a_fork_into_a_directory_has_the_files_of_that_turn(
    handrail, workspace, mentioned, tmp_path
):
    into = tmp_path / "fork"
    forked = handrail("session", "fork", "s1", "2", "--into", into, "--json")
    again = handrail("session", "fork", "s1", "2", "--into", into)
    missing = handrail("session", "fork", "s1", "9", "--into", tmp_path / "none")
    session, place = forked.json["session"], forked.json["directory"]
    there = handrail("session", "show", session, "-w", place)

    assert (forked.code, place) == (0, str(into))
    assert into.joinpath("a.txt").read_text() == "one\n2\n"
    assert workspace.joinpath("a.txt").read_text() == "one\nzwei\n"
    assert (again.code, missing.code) == (1, 1)
    assert not tmp_path.joinpath("none").exists()
    assert "model, turn 2" in there.out
    assert "turn 3" not in there.out
    assert "copy of the workspace" in there.out


def test_the_command_that_a_fork_prints_continues_it(handrail, workspace, mentioned, tmp_path):
    printed = handrail("session", "fork", "s1", "2", "--into", tmp_path / "my fork").out
    words = shlex.split(printed.splitlines()[-1].partition(": handrail ")[2])
    tmp_path.joinpath("more.jsonl").write_text('{"text": "Here."}')
    more = handrail(*words, "--once", "--model", f"script:{tmp_path / 'more.jsonl'}", "Go on")

    assert more.code == 0
    assert "Here." in more.out


def test_a_rewind_from_a_second_terminal_reaches_the_conversation_at_the_first(
    terminal, handrail, workspace, tmp_path
):
    edit = {"path": "a.txt", "old_string": "two", "new_string": "2"}
    file = tmp_path / "script.jsonl"
    lines = [
        {"calls": [{"name": "read_file", "arguments": {"path": "a.txt"}}]},
        {"calls": [{"name": "edit_file", "arguments": edit}]},
        {"text": "first done"},
        {"text": "second done"},
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    words = ["run", "--model", f"script:{file}", "--session", "s1", "first task"]
    screen = terminal(words, COLUMNS="100")
    screen.wait_for("│ first done")
    screen.wait_for_prompt()

    rewound = handrail("session", "rewind", "s1", "1")
    screen.type("second task\n")
    screen.wait_for("│ second done")
    screen.type("/exit\n")

    assert screen.end() == 0
    assert "reverted: a.txt" in rewound.out
    assert b"the session was changed elsewhere" in screen.screen
    shown = handrail("session", "show", "s1").out
    assert "second done" in shown
    assert "first done" not in shown
    assert "edit_file" not in shown
    assert workspace.joinpath("a.txt").read_text() == "one\ntwo\n"


@pytest.fixture
def of_python(workspace, tmp_path):
    """The ids of two conversations that a program had in one runtime: the first has changed a.txt
    in turn 1, the second has made b.txt in turn 3.
    """
    lines = [
        {"calls": [{"name": "write_file", "arguments": {"path": "a.txt", "content": "1\n"}}]},
        {"text": "first"},
        {"calls": [{"name": "write_file", "arguments": {"path": "b.txt", "content": "2\n"}}]},
        {"text": "second"},
    ]
    script = tmp_path / "script.jsonl"
    script.write_text("".join(json.dumps(line) + "\n" for line in lines))
    settings = {"mode": "accept-edits", "config": {"freshness": "off"}}

    async def work():
        async with package.open(workspace, model=f"script:{script}", **settings) as rt:
            first, second = rt.agent(), rt.agent()
            await first.run("write")
            await second.run("write")
            return first.session, second.session

    return asyncio.run(work())


def test_the_id_of_a_conversation_of_a_program_names_its_calls(handrail, workspace, of_python):
    first, second = of_python
    listed = {one["session"] for one in handrail("session", "list", "--json").lines}
    logged = handrail("log", "--session", first, "--json").lines
    last = handrail("log", "--session", second, "--turn", "last", "--json").lines
    shown = handrail("show", "--session", second, "--json").lines
    history = handrail("log", "--path", "a.txt", "--session", first, "--json").lines
    elsewhere = handrail("log", "--path", "a.txt", "--session", second, "--json").lines
    [changed] = handrail("diff", "--session", first, "--json").lines
    [task] = handrail("diff", "--task", "--session", second, "--json").lines

    assert listed == {first, second}
    assert [one["call_id"] for one in logged] == [f"{first}.1.1"]
    assert [one["call_id"] for one in last] == [f"{second}.3.1"]
    assert [one["call_id"] for one in shown] == [f"{second}.3.1"]
    assert [one["path"] for one in history] == ["a.txt"]
    assert elsewhere == []
    assert (changed["session"], changed["path"]) == (first, "a.txt")
    assert task["path"] == "b.txt"

    undone = handrail("undo", "--session", first, "--turn", "1")
    assert (undone.code, workspace.joinpath("a.txt").read_text()) == (0, "one\ntwo\n")
    redone = handrail("redo", "--session", first, "--turn", "1")
    assert (redone.code, workspace.joinpath("a.txt").read_text()) == (0, "1\n")
    assert workspace.joinpath("b.txt").read_text() == "2\n"


def test_the_list_counts_the_files_that_stand(handrail, of_python):
    def counts():
        listed = handrail("session", "list", "--json").lines
        return [{one["session"]: one["files_changed"] for one in listed}[id] for id in of_python]

    first, second = of_python
    begun = counts()
    handrail("session", "rewind", first, "0")
    rewound = counts()
    handrail("undo", "--session", second, "--turn", "3")
    undone = counts()
    handrail("redo", "--session", second, "--turn", "3")

    assert (begun, rewound, undone, counts()) == ([1, 1], [0, 1], [0, 0], [0, 1])


def test_a_session_without_messages_says_so(handrail, kept):
    handrail("session", "rewind", "s1", "0")

    assert handrail("session", "show", "s1").out == "session s1 has no messages\n"


def test_a_session_of_a_program_is_found_by_a_name_with_spaces_and_dots(handrail, workspace):
    name = "nightly run 3.1"
    write = {"name": "write_file", "arguments": {"path": "made.txt", "content": "made\n"}}
    script = workspace / "made.jsonl"
    script.write_text("\n".join(map(json.dumps, ({"calls": [write]}, {"text": "Done."}))))

    async def work():
        model = f"script:{script}"
        async with package.open(workspace, model=model, mode="accept-edits") as rt:
            await rt.agent(session=name).run("Write it")

    asyncio.run(work())
    [listed] = handrail("session", "--json").lines

    assert (listed["session"], listed["files_changed"]) == (name, 1)
    assert "write_file" in handrail("log", "--session", name).out
    assert "write_file" in handrail("log", "--path", "made.txt", "--session", name).out
    assert "+made" in handrail("diff", "--session", name).out


def test_the_receipt_after_a_rewind_undoes_the_last_task_alone(handrail, workspace):
    name = "release 2.0"
    for path in ("first.txt", "second.txt"):
        write = {"name": "write_file", "arguments": {"path": path, "content": "x\n"}}
        script = workspace / f"{path}.jsonl"
        script.write_text("\n".join(map(json.dumps, ({"calls": [write]}, {"text": "Done."}))))
    words = ("run", "--once", "--mode", "accept-edits", "--session", name, "--model")
    handrail(*words, "script:first.txt.jsonl", "Write it, see @a.txt")
    handrail("session", "rewind", name, "0")
    handrail("redo", "--session", name)
    receipt = handrail(*words, "script:second.txt.jsonl", "Write the other").out
    [undo] = [line for line in receipt.splitlines() if line.startswith("undo")]
    handrail(*shlex.split(undo)[2:])

    assert workspace.joinpath("first.txt").exists()
    assert not workspace.joinpath("second.txt").exists()


def test_a_title_is_the_first_line_of_the_first_task_that_stands(handrail, workspace):
    workspace.joinpath("task.jsonl").write_text('{"text": "Done."}\n')
    run = ("run", "--once", "--model", "script:task.jsonl", "--session", "s1")
    handrail(*run, "\nLook at @a.txt\nand at nothing else")
    titles = [handrail("session", "list", "--json").json["title"]]
    handrail("session", "fork", "s1", "0")
    titles.append(handrail("session", "list", "--json").lines[0]["title"])
    handrail("session", "rewind", "s1", "0")
    emptied = handrail("session", "list")
    handrail(*run, "Another task")
    titles.append(handrail("session", "list", "--json").lines[0]["title"])

    assert titles == ["Look at @a.txt", "", "Another task"]
    assert "Look at" not in emptied.out


def test_a_session_with_a_dot_of_an_earlier_version_is_rewound_and_deleted_with_its_calls(
    handrail, workspace, monkeypatch
):
    for name in ("v1", "v1.2"):
        write = {"name": "write_file", "arguments": {"path": f"{name}.txt", "content": "x\n"}}
        lines = ({"calls": [write]}, {"text": "Done."})
        workspace.joinpath("task.jsonl").write_text("\n".join(map(json.dumps, lines)))
        with monkeypatch.context() as earlier:
            earlier.setattr("handrail.agent.conversation.call_owner", lambda one: one)
            handrail("run", "--once", "--model", "script:task.jsonl", "--session", name, "Write")
    ids = [one["call_id"] for one in handrail("log", "--json").lines]

    handrail("session", "rewind", "v1", "0")
    after_first = sorted(path.name for path in workspace.glob("v*"))
    handrail("session", "rewind", "v1.2", "0")
    deleted = handrail("session", "delete", "v1.2")

    assert ids == ["v1.2.1.1", "v1.1.1"]
    assert after_first == ["v1.2.txt"]
    assert not workspace.joinpath("v1.2.txt").exists()
    assert deleted.code == 0
    kept = {one["call_id"]: one["requested"] for one in handrail("log", "--json").lines}
    assert ("arguments" in kept["v1.1.1"], "arguments" in kept["v1.2.1.1"]) == (True, False)


def test_deleting_a_session_leaves_calls_of_programs_whose_ids_begin_alike(handrail, kept):
    for given in ("s1.mine", "s1.2.1.mine", "s1"):
        handrail("call", "read_file", "path=a.txt", "--id", given, "--session", "other")

    handrail("session", "delete", "s1")

    logged = handrail("log", "--session", "other", "--json").lines
    assert [one["requested"]["arguments"] for one in logged] == [{"path": "a.txt"}] * 3
    assert all(
        "arguments" not in one["requested"]
        for one in handrail("log", "--session", "s1", "--json").lines
    )
