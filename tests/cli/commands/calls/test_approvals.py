"""`handrail approvals`: one terminal asks, another answers."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = Path(sys.executable).with_name("handrail")
EDIT = ["call", "edit_file", "path=a.txt", "old_string=two", "new_string=2"]
QUESTION = "Allow this once? [yes/no] "


class Asking:
    """A command without a terminal, whose questions wait for another one."""

    def __init__(self, words):
        self._process = subprocess.Popen(
            [PROGRAM, *words, "--ask", "approvals"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    @property
    def over(self):
        return self._process.poll() is not None

    def end(self):
        out, err = self._process.communicate(timeout=30)
        return self._process.returncode, out, err

    def kill(self):
        self._process.kill()
        self._process.communicate(timeout=30)


@pytest.fixture
def asking(workspace):
    started = []

    def ask(*words):
        started.append(Asking([str(word) for word in words or EDIT]))
        return started[-1]

    ask.started = started
    yield ask
    for one in started:
        one.kill()


@pytest.fixture
def asked(handrail, asking):
    """What waits for approval, once something does."""

    def look(*words):
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            found = handrail("approvals", "--json", *words).lines
            if found:
                return found[0]
            over = [one for one in asking.started if one.over]
            assert not over, f"nothing was asked: {over[0].end()}"
        raise AssertionError("nothing was asked")

    return look


@pytest.mark.parametrize(
    ("answer", "code", "content"),
    [("yes", 0, "one\n2\n"), ("no", 5, "one\ntwo\n"), ("abort", 130, "one\ntwo\n")],
)
def test_what_one_terminal_asks_another_answers(
    handrail, workspace, asking, asked, answer, code, content
):
    one = asking()
    question = asked()
    done = handrail("approvals", answer, question["id"][:6])
    ended, _, told = one.end()

    assert (done.code, ended) == (0, code)
    assert done.out.startswith(f"{answer}: {question['id']}  edit_file(")
    assert f"{question['id']} waits for approval; " in told
    assert "approvals -w " in told
    assert (workspace / "a.txt").read_text() == content
    record = handrail("log", "--json").lines[0]["completed"]
    assert record["answered_by"]["answer"] == answer
    assert record["answered_by"]["via"] == "approvals"
    assert handrail("approvals").out == "no open approval requests\n"
    assert f"; answered {answer} by " in handrail("show").out


def test_a_batch_that_is_aborted_ends_with_130(handrail, workspace, asking, asked, tmp_path):
    calls = tmp_path / "calls.jsonl"
    names = ("b", "c")
    calls.write_text(
        "".join(
            json.dumps({"name": "write_file", "arguments": {"path": name, "content": "x"}}) + "\n"
            for name in names
        )
    )
    one = asking("batch", calls)
    handrail("approvals", "abort", asked()["id"])
    code, out, _ = one.end()

    assert code == 130
    results = [json.loads(line)["problem"]["code"] for line in out.splitlines()]
    assert results == ["cancelled", "cancelled"]
    assert not any((workspace / name).exists() for name in names)


def test_the_list_and_one_question_in_full(handrail, asking, asked):
    one = asking()
    question = asked()
    listed = handrail("approvals")
    shown = handrail("approvals", "show", question["id"])
    as_json = handrail("approvals", "show", question["id"], "--json").json
    handrail("approvals", "no", question["id"])
    one.end()

    assert question["id"] in listed.out
    assert "edit_file(path='a.txt'" in listed.out
    assert "moderate" in listed.out
    assert "handrail approvals yes ID" in listed.out
    assert "│ -two\n│ +2\n" in shown.out
    assert f"answer with: handrail approvals yes {question['id']} (or no, abort)" in shown.out
    assert question["binding"].startswith(question["id"])
    assert as_json == question


def test_always_is_offered_by_a_run_of_several_calls_and_says_how_to_keep_it(
    handrail, asking, asked, tmp_path
):
    calls = tmp_path / "calls.jsonl"
    arguments = {"path": "a.txt", "old_string": "two", "new_string": "2"}
    calls.write_text(json.dumps({"name": "edit_file", "arguments": arguments}))
    one = asking("batch", calls)
    question = asked()
    shown = handrail("approvals", "show", question["id"])
    done = handrail("approvals", "always", question["id"])

    assert one.end()[0] == 0
    assert "would allow: edit_file(/a.txt)" in shown.out
    assert f"approvals yes {question['id']} (or always, no, abort)" in shown.out
    assert '"edit_file(/a.txt)"' in done.out


def test_a_question_that_is_over_cannot_be_answered(handrail, asking, asked):
    one = asking()
    question = asked()
    one.kill()

    late = handrail("approvals", "yes", question["id"])

    assert late.code == 1
    assert "not_found" in late.err
    assert handrail("approvals").out == "no open approval requests\n"


@pytest.mark.parametrize(
    "words", [("yes",), ("show",), ("maybe", "x"), ("--watch", "yes", "x"), ("--watch", "--json")]
)
def test_words_that_mean_nothing_are_usage_errors(handrail, words):
    assert handrail("approvals", *words).code == 2


def test_watching_needs_a_terminal(handrail):
    done = subprocess.run(
        [PROGRAM, "approvals", "--watch"],
        check=False, capture_output=True, text=True, start_new_session=True, timeout=30,
    )  # fmt: skip

    assert done.returncode == 3
    assert "no terminal" in done.stderr


def test_questions_of_every_workspace_are_seen_from_anywhere(
    handrail, workspace, asking, asked, tmp_path, monkeypatch
):
    one = asking()
    asked()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)

    here = handrail("approvals")
    everywhere = handrail("approvals", "--all")
    question = asked("--all")
    shown = handrail("approvals", "--all", "show", question["id"])
    handrail("approvals", "--all", "yes", question["id"])

    assert one.end()[0] == 0
    assert here.out == "no open approval requests\n"
    assert "work" in everywhere.out
    assert "handrail approvals --all yes ID" in everywhere.out
    assert f"handrail approvals --all yes {question['id']}" in shown.out
    assert question["workspace"] == str(workspace)


def test_a_watching_terminal_asks_as_questions_come(terminal, asking, workspace):
    watching = terminal(["approvals", "--watch"])
    watching.wait_for("waiting for approval requests")
    first = asking()
    watching.wait_for(QUESTION)
    watching.type("y\n")
    assert first.end()[0] == 0
    watching.screen = b""
    second = asking("call", "write_file", "path=b.txt", "content=x")
    watching.wait_for(QUESTION)
    watching.type("n\n")
    assert second.end()[0] == 5
    watching.type("\x03")

    assert watching.end() == 0
    assert b"Traceback" not in watching.screen
    assert b"interrupted" not in watching.screen
    assert str(workspace).encode() in watching.screen
    assert (workspace / "a.txt").read_text() == "one\n2\n"
    assert not (workspace / "b.txt").exists()


def test_ctrl_c_at_a_question_ends_the_watching_and_not_the_run(terminal, asking, asked, handrail):
    watching = terminal(["approvals", "--watch"])
    one = asking()
    watching.wait_for(QUESTION)
    watching.type("\x03")

    assert watching.end() == 0
    assert handrail("approvals", "yes", asked()["id"]).code == 0
    assert one.end()[0] == 0


def test_a_watching_terminal_is_told_when_somebody_else_was_faster(
    terminal, asking, asked, handrail
):
    watching = terminal(["approvals", "--watch"])
    one = asking()
    watching.wait_for(QUESTION)
    handrail("approvals", "no", asked()["id"])
    assert one.end()[0] == 5
    watching.wait_for("no longer open")
    watching.type("\x03")

    assert watching.end() == 0


def test_nobody_is_asked_where_nobody_is_wanted(terminal, workspace):
    running = terminal([*EDIT, "--ask", "nobody"])

    assert running.end() == 3
    assert b"needs_approval" in running.screen
    assert (workspace / "a.txt").read_text() == "one\ntwo\n"


def test_hostile_text_reaches_a_listing_visible_and_harmless(handrail, asking, asked):
    name = "x\x1b[2J\u202e\u200b\nfake"
    arguments = json.dumps({"path": name, "content": "y\x1b]0;t\x07"})
    one = asking("call", "write_file", arguments)
    question = asked()
    shown = [
        handrail("approvals", *words).out
        for words in ((), ("show", question["id"]), ("no", question["id"]))
    ]
    one.end()

    for text in shown:
        assert not set(text) & set("\x1b\x07\u202e\u200b")
        assert "\nfake" not in text
        assert "\\x1b[2J" in text


def test_a_command_run_by_a_model_cannot_answer(handrail):
    done = handrail(
        "--mode", "bypass", "call", "run_command", "command=handrail approvals yes abcd"
    )  # fmt: skip

    assert done.code == 5
    assert "blocked" in done.err


def test_the_help_names_whom_to_ask(handrail):
    for command in ("call", "batch"):
        assert "--ask WHERE" in handrail(command, "--help").out
    wrong = handrail("call", "list_files", "--ask", "somebody")

    assert wrong.code == 2
    assert "did you mean nobody?" in wrong.err


@pytest.mark.finding("F37")
def test_a_refusal_from_another_terminal_has_a_reason(handrail, asking, asked):
    one = asking("call", "write_file", "path=b.txt", "content=x", "--json")
    handrail("approvals", "no", asked()["id"], "use", "notes.md", "instead")

    code, out = one.end()[:2]

    assert code == 5
    assert "use notes.md instead" in json.loads(out)["problem"]["message"]
    refused = handrail("log", "--json").lines[0]["completed"]
    assert refused["answered_by"]["reason"] == "use notes.md instead"


@pytest.mark.finding("F37")
@pytest.mark.parametrize("reason", [(), ("use", "notes.md", "\x1b[2Jinstead")])
def test_who_made_a_single_call_reads_the_reason_of_another_terminal(
    handrail, workspace, asking, asked, reason
):
    one = asking("call", "write_file", "path=b.txt", "content=x")
    handrail("approvals", "no", asked()["id"], *reason)
    code, _, err = one.end()

    assert code == 5
    assert "another terminal" in err
    assert ("use notes.md" in err) is bool(reason)
    assert "\x1b" not in err
    assert not workspace.joinpath("b.txt").exists()


def test_only_a_refusal_takes_a_text(handrail):
    assert handrail("approvals", "yes", "abcd", "why", "not").code == 2


def _ask_words(*questions):
    asked = [
        {"question": text, "header": "Pick", "options": [{"label": "one"}, {"label": "two"}]}
        for text in questions
    ]
    return ["call", "ask_user", json.dumps({"questions": asked})]


@pytest.mark.threat("A33")
@pytest.mark.parametrize(
    ("words", "answers"),
    [
        (["answer", "2"], {"Which?": "two"}),
        (["answer", "none", "of", "them"], {"Which?": "none of them"}),
        (["no"], None),
    ],
)
def test_a_question_of_a_model_is_answered_with_words(handrail, asking, asked, words, answers):
    one = asking(*_ask_words("Which?"), "--json")
    question = asked()
    name = question["id"]
    listed, shown = handrail("approvals"), handrail("approvals", "show", name)
    refused = handrail("approvals", "yes", name)
    done = handrail("approvals", words[0], name, *words[1:])
    code, out, err = one.end()

    assert question["questions"][0]["question"] == "Which?"
    assert "answer ID TEXT" in listed.out
    assert "2. two" in shown.out
    assert (refused.code, f"approvals answer {name}" in refused.err) == (2, True)
    assert done.code == 0, done.err
    assert code == 0, err
    assert json.loads(out)["data"]["answers"] == (answers or {})


def test_several_questions_need_as_many_answers(handrail, asking, asked):
    one = asking(*_ask_words("Which?", "And then?"), "--json")
    name = asked()["id"]
    short = handrail("approvals", "answer", name, "1")
    done = handrail("approvals", "answer", name, "1", "go on")
    _, out, _ = one.end()

    assert short.code == 2
    assert "2 questions" in short.err
    assert done.code == 0
    assert json.loads(out)["data"]["answers"] == {"Which?": "one", "And then?": "go on"}


def test_words_do_not_approve_a_call(handrail, workspace, asking, asked):
    one = asking()
    name = asked()["id"]
    refused = handrail("approvals", "answer", name, "yes")
    handrail("approvals", "no", name)
    one.end()

    assert refused.code == 2
    assert f"approvals yes {name}" in refused.err
    assert (workspace / "a.txt").read_text() == "one\ntwo\n"


def test_a_watching_terminal_asks_questions_of_models_too(handrail, terminal, asking):
    one = asking(*_ask_words("Which?"), "--json")
    watching = terminal(["approvals", "--watch"])
    watching.wait_for("your answer to the model: ")
    watching.type("2\n")
    code, out, _ = one.end()
    watching.type("\x03")

    assert code == 0
    assert json.loads(out)["data"]["answers"] == {"Which?": "two"}
    assert watching.end() == 0


@pytest.mark.threat("A35")
@pytest.mark.parametrize("here", [True, False])
def test_a_question_in_both_places_is_answered_in_one(handrail, workspace, terminal, asked, here):
    window = terminal([*map(str, EDIT), "--ask", "both"])
    window.wait_for("Allow this once?")
    waiting = asked()["id"]
    if here:
        window.type("yes\n")
    else:
        assert handrail("approvals", "yes", waiting).code == 0
        window.wait_for("answered elsewhere")

    assert window.end() == 0
    assert (workspace / "a.txt").read_text() == "one\n2\n"
    late = handrail("approvals", "no", waiting)
    assert (late.code, "answered already" in late.err) == (1, True)
